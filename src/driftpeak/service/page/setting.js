// The best setting with its predictive interval and the probability of meeting each limit.
import { make, numeral, section } from "./elements.js";
import { percent, reward } from "./format.js";
import { limitText } from "./limits.js";

export function settingNow(study) {
  const body = make("div");
  const part = section("Best setting now", body);
  part.classList.add("now");
  body.append(make("p", { class: "quiet" }, "Computing …"));
  const show = ({ best, peaks, chances }) => {
    if (!best) {
      body.replaceChildren(make("p", {}, study.told
        ? "No observations in the model. An estimate appears after the next reward."
        : "No observations yet. An estimate appears after the first reward."));
      return;
    }
    const band = peaks?.at(-1)?.band;
    body.replaceChildren(
      make("p", { class: "quiet" }, `At the latest time: ${study.moments.text(study.moments.number(best.time))}.`),
      make("dl", { class: "values", id: "now" }, ...Object.entries(best.parameters).flatMap(([name, value]) => [
        make("dt", {}, name),
        make("dd", {}, make("b", {}, numeral(value, study.text(name, value)), unit(name)), bandText(study, name, band?.[name])),
      ])),
      expectation(study, best),
      ...chancesList(study, chances),
    );
  };
  return { part, show };
}

// A name may end with its unit in brackets: "feed [kg/h]".
function unit(name) {
  const match = /\[([^[\]]+)\]$/.exec(name);
  return match ? ` ${match[1]}` : "";
}

function bandText(study, name, band) {
  if (!band || band.low === null) return null;
  const text = `${study.text(name, band.low)} to ${study.text(name, band.high)} is equally good within one standard deviation`;
  return make("span", { class: "quiet" }, text);
}

function expectation(study, peak) {
  const shown = (value) => numeral(value, reward(value, peak.deviation));
  const between = peak.low === null ? [] : [", 95 % interval ", shown(peak.low), " to ", shown(peak.high)];
  return make("p", { class: "expected" }, `Expected ${study.goal}: `, make("b", {}, shown(peak.mean)), ...between, ".");
}

function chancesList(study, chances = {}) {
  const items = Object.entries(chances).map(([name, [chance]]) => {
    const limit = study.limits[name];
    const fine = chance >= limit.probability;
    return make("li", { class: fine ? "good" : "bad" },
      make("strong", {}, fine ? "✓ meets " : "✗ may violate "), `${name} ${limitText(limit)}: probability `,
      numeral(chance, chance > 0.999 ? "over 99.9 %" : percent(chance)), ` (required: ${percent(limit.probability)})`);
  });
  return items.length ? [make("ul", { class: "chances", "aria-label": "Limits" }, ...items)] : [];
}
