// Forget, reset and delete, which cannot be undone: the user must type the study's name.
import { post, remove } from "./api.js";
import { make, section } from "./elements.js";

export function cannotBeUndone(study, changed) {
  const result = make("p", { role: "status" });
  const part = section("Forget, reset and delete",
    action("Forget observations",
      "Discard observations after a change of the system; the learned drift, noise and other hyperparameters are kept.",
      "Forget …", (done) => ask("forget", "Forget observations", done)),
    action("Reset the study", "Discard everything, including learned hyperparameters.", "Reset …", (done) => ask("reset", "Reset the study", done)),
    action("Delete the study", "Remove the study and all its rewards from the storage.", "Delete …", (done) => ask("delete", "Delete the study", done)),
    result);
  part.classList.add("danger");

  function action(title, words, button, act) {
    const opener = make("button", {}, button);
    opener.addEventListener("click", () => act(opener));
    return make("div", { class: "action" }, make("div", {}, make("strong", {}, `${title}. `), words), opener);
  }

  function ask(what, title, opener) {
    const field = make("input", { id: "confirm", autocomplete: "off", spellcheck: "false", "aria-describedby": "confirm-said" });
    const before = what === "forget"
      ? make("input", { id: "before", type: study.moments.dates ? "datetime-local" : "number", step: "any" }) : null;
    const wrong = make("p", { id: "confirm-said", role: "alert", class: "bad" });
    const form = make("form", { novalidate: true },
      make("h2", {}, title),
      before && make("label", { for: "before" }, "Discard only observations before (empty: all)"),
      before,
      make("label", { for: "confirm" }, "This cannot be undone. Type the name of the study, ", make("strong", {}, study.name), ":"),
      field,
      wrong,
      make("p", { class: "buttons" },
        make("button", { type: "button", onclick: () => dialog.close() }, "Cancel"),
        make("button", { class: "grave" }, title)));
    const dialog = make("dialog", { "aria-label": title }, form);
    dialog.addEventListener("close", () => { dialog.remove(); opener.focus(); });
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      if (field.value.trim() !== study.name) {
        wrong.textContent = "The name does not match; nothing was changed.";
        field.focus();
        return;
      }
      try {
        if (what === "delete") {
          await remove(`studies/${study.name}`, { confirm: study.name });
          dialog.close();
          location.hash = "";
          return;
        }
        const body = { confirm: study.name };
        if (before?.value) body.before = moment(before.value);
        await post(`studies/${study.name}/${what}`, body);
        result.textContent = what === "forget" ? "Observations discarded." : "The study was reset.";
        dialog.close();
        changed();
      } catch (error) {
        wrong.textContent = error.message;
      }
    });
    document.body.append(dialog);
    dialog.showModal();
    field.focus();
  }

  function moment(text) {
    if (!study.moments.dates) return Number(text);
    return study.moments.zoned ? new Date(text).toISOString() : text;
  }

  return { part };
}
