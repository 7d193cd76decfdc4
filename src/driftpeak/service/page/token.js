// The token of the service, if it asks for one: kept until the tab is closed, and never in an address.
import { make } from "./elements.js";

const KEPT = "driftpeak-token";
let asking = null;

export function bearer() {
  const token = sessionStorage.getItem(KEPT);
  return token === null ? {} : { Authorization: `Bearer ${token}` };
}

// Several requests may be refused at the same moment: they wait for one answer.
export function askForToken() {
  asking ??= ask().finally(() => { asking = null; });
  return asking;
}

function ask() {
  const refused = sessionStorage.getItem(KEPT) !== null;
  const field = make("input", { id: "token", type: "password", autocomplete: "off", required: true });
  const form = make(
    "form",
    { method: "dialog" },
    make("h2", {}, "A token is needed"),
    make("p", { role: refused ? "alert" : null },
      refused ? "The token was refused: it is another one." : "Whoever started the service has it."),
    make("label", { for: "token" }, "Token"),
    field,
    make("p", {}, make("button", { class: "main" }, "Go on")),
  );
  const dialog = make("dialog", { "aria-label": "A token is needed" }, form);
  document.body.append(dialog);
  dialog.addEventListener("cancel", (event) => event.preventDefault()); // nothing works without it
  dialog.showModal();
  return new Promise((done) => {
    dialog.addEventListener("close", () => {
      sessionStorage.setItem(KEPT, field.value.trim());
      dialog.remove();
      done();
    });
  });
}
