// Suggestions that are out: asked for, and not yet told.
import { post } from "./api.js";
import { make, numeral, section } from "./elements.js";

export function pendingSuggestions(study, changed) {
  const said = make("p", { role: "status", class: "quiet" });
  const list = make("ul", { id: "pending", class: "rows" });
  const part = section("Waiting for their reward", said, list);
  let before = "";

  async function cancel(number) {
    try {
      await post(`studies/${study.name}/cancel`, { suggestion: number });
      said.textContent = `Suggestion ${number} was cancelled.`;
    } catch (error) {
      said.textContent = error.message;
    }
    part.firstChild.focus(); // the button is gone
    changed();
  }

  const show = ({ suggestions }) => {
    const text = JSON.stringify(suggestions);
    if (text === before) return; // whoever is at a button keeps it
    before = text;
    if (!said.textContent.startsWith("Suggestion")) said.textContent = suggestions.length ? "" : "None.";
    list.replaceChildren(...suggestions.map((one) => make("li", {},
      make("div", {},
        make("strong", {}, `No. ${one.id}`), `, for ${study.moments.named(study.moments.number(one.time))}: `,
        ...Object.entries(one.parameters).flatMap(([name, value], place) => [place ? ", " : "", `${name} `, numeral(value, study.text(name, value))]),
        one.hold ? " (stays where it is)" : "",
        one.feasible === false ? make("strong", { class: "bad" }, " ✗ may break a limit") : ""),
      make("button", { "aria-label": `Cancel suggestion ${one.id}`, onclick: () => cancel(one.id) }, "Cancel"))));
  };
  return { part, show };
}
