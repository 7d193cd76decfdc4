// Limits of measured quantities: observed and allowed violation rates.
import { section, table } from "./elements.js";
import { percent } from "./format.js";

export function limitText({ at_most: most, at_least: least }) {
  return [bound("at least", least), bound("at most", most)].filter(Boolean).join(" and ");
}

// A bound is a number, or numbers by the value of a context variable.
function bound(words, given) {
  if (given === undefined || given === null) return "";
  if (typeof given !== "object") return `${words} ${given}`;
  const each = Object.entries(given.values).filter(([, one]) => one !== null);
  return each.map(([value, one]) => `${words} ${one} (${given.context}: ${value})`).join(", ");
}

// The measured constraints of a study; linear constraints on parameters are never violated.
export function measured(constraints) {
  return Object.fromEntries(Object.entries(constraints ?? {}).filter(([, one]) => "probability" in one));
}

export function limitsKept(study) {
  const part = section("Limits");
  const heading = part.firstChild;
  const show = ({ violations }) => {
    const rows = Object.entries(violations).map(([name, one]) => [
      `${name} ${limitText(study.limits[name])}`,
      `${one.violated} of ${one.measured}`,
      one.believed ? `${percent(one.rate)} (${one.broken} of ${one.believed}; 95 %: ${percent(one.interval[0])} to ${percent(one.interval[1])})` : "–",
      percent(one.promised),
    ]);
    part.hidden = rows.length === 0;
    part.replaceChildren(heading, table("Limits", ["limit", "violations", "violations of suggestions predicted to meet it", "allowed"], rows));
  };
  return { part, show };
}
