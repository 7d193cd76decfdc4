// The context, which the user may set for all estimates on the page.
import { make, section } from "./elements.js";

export function contextForm(study, changed) {
  const part = section("Context", make("p", { class: "quiet" }, "The context of the newest reward. Set the present values here."));
  const fields = make("div", { class: "fields" });
  part.append(fields);
  part.classList.add("wide");
  let made = false;

  const show = () => {
    part.hidden = study.said === null;
    if (part.hidden || made) return;
    made = true;
    for (const [place, [name, parameter]] of Object.entries(study.contexts).entries()) {
      const id = `context-${place}`;
      const field = input(parameter, study.said[name], id);
      field.addEventListener("change", () => {
        if (!field.reportValidity()) return;
        study.said = { ...study.said, [name]: read(field, parameter) };
        changed();
      });
      fields.append(make("p", {}, make("label", { for: id }, name), field));
    }
  };
  return { part, show };
}

function input(parameter, value, id) {
  const choices = parameter.type === "boolean" ? [false, true] : parameter.choices;
  if (!choices) {
    const { low, high } = parameter;
    const step = parameter.type === "integer" ? 1 : "any";
    return make("input", { id, type: "number", min: low, max: high, step, value: Number(value.toPrecision(6)), required: true });
  }
  const names = parameter.type === "boolean" ? ["no", "yes"] : choices.map((one) => String(one ?? "none"));
  return make("select", { id }, ...names.map((name, place) => make("option", { value: place, selected: choices[place] === value }, name)));
}

function read(field, parameter) {
  if (parameter.type === "boolean") return field.value === "1";
  return parameter.choices ? parameter.choices[Number(field.value)] : Number(field.value);
}
