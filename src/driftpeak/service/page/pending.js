// Pending suggestions, whose rewards have not been reported yet.
import { post } from "./api.js";
import { make, numeral, section } from "./elements.js";

export function pendingSuggestions(study, changed) {
  const result = make("p", { role: "status", class: "quiet" });
  const list = make("ul", { id: "pending", class: "rows" });
  const part = section("Pending suggestions", result, list);
  let before = "";

  async function cancel(number) {
    try {
      await post(`studies/${study.name}/cancel`, { suggestion: number });
      result.textContent = `Suggestion ${number} was cancelled.`;
    } catch (error) {
      result.textContent = error.message;
    }
    part.firstChild.focus(); // the button was removed
    changed();
  }

  const show = ({ suggestions }) => {
    const text = JSON.stringify(suggestions);
    if (text === before) return; // unchanged: a focused button keeps the focus
    before = text;
    if (!result.textContent.startsWith("Suggestion")) result.textContent = suggestions.length ? "" : "None.";
    list.replaceChildren(...suggestions.map((one) => make("li", {},
      make("div", {},
        make("strong", {}, `No. ${one.id}`), `, for ${study.moments.named(study.moments.number(one.time))}: `,
        ...Object.entries(one.parameters).flatMap(([name, value], place) => [place ? ", " : "", `${name} `, numeral(value, study.text(name, value))]),
        one.hold ? " (keeps the present setting)" : "",
        one.feasible === false ? make("strong", { class: "bad" }, " ✗ may violate a limit") : ""),
      make("button", { "aria-label": `Cancel suggestion ${one.id}`, onclick: () => cancel(one.id) }, "Cancel"))));
  };
  return { part, show };
}
