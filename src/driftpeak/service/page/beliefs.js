// What the optimiser believes, in plain words with numbers.
import { make, section } from "./elements.js";
import { fixed, decimalsFor, percent } from "./format.js";
import { duration } from "./moments.js";

export function beliefs(study) {
  const list = make("ul", { id: "beliefs" });
  const part = section("What the optimiser believes", list);
  const show = ({ diagnostics, calibration }) => {
    list.replaceChildren(...said(study, diagnostics, calibration).map(([head, text]) =>
      make("li", {}, make("strong", {}, `${head}: `), text)));
  };
  return { part, show };
}

function said(study, found, calibration) {
  const { moments } = study;
  return [
    found.memory !== null && ["Memory",
      `${found.held} of ${found.told} rewards are remembered; as older ones count less, they are worth about `
      + `${fixed(found.memory, found.memory < 10 ? 1 : 0)} fresh ones.`],
    found.doubted > 0 && ["Doubt", `${found.doubted} of them are taken for accidents, and not believed.`],
    found.motion !== null && ["Movement", motion(found.motion, moments) + sure(found.motion_probability)],
    found.half_life !== null && ["Drift", `after ${moments.span(found.half_life)} half of what was known is out of date.`],
    found.noise !== null && ["Noise", `by chance alone a single ${study.goal} is off by about ±${fixed(found.noise, decimalsFor(found.noise))}.`],
    found.amplitude !== null && study.likelihood === "gaussian" && ["Stakes",
      `from one setting to another the expected ${study.goal} differs by about ±${fixed(found.amplitude, decimalsFor(found.amplitude))}.`],
    ...Object.entries(found.lengthscales ?? {}).map(([name, share]) => [name, reach(study, name, share)]),
    calibration.count > 0 && ["Foretelling",
      `of ${calibration.count} rewards ${percent(calibration.coverage["0.95"])} fell into the band that was to hold 95 %`
      + `${trust(calibration)}.`],
    found.newest_age > 0 && ["Age", `the newest reward is ${moments.span(found.newest_age)} older than the latest time seen.`],
    ...Object.entries(found.readings ?? {}).map(([name, value]) => [name, JSON.stringify(value)]),
  ].filter(Boolean);
}

function motion(name, moments) {
  if (name.startsWith("period ")) {
    const period = Number(name.slice("period ".length));
    const text = moments.dates ? duration(period) : moments.span(period);
    return `a rhythm: it comes round every ${text}, and wanders besides`;
  }
  return {
    markov: "it wanders, in no direction for long",
    momentum: "it keeps going for a while in the direction that it has",
    "two speeds": "a slow part and a fast part move at the same time",
  }[name] ?? name;
}

function sure(probability) {
  return probability === null || probability === 1 ? "." : ` (probability ${percent(Number(probability.toPrecision(2)))}).`;
}

function reach(study, name, share) {
  const parameter = study.parameter(name);
  const range = parameter?.type === "float" && !parameter.log ? share * (parameter.high - parameter.low) : null;
  const far = range === null ? `${percent(Number(share.toPrecision(2)))} of its range` : fixed(range, decimalsFor(range));
  return `a change by ${far} is felt; much smaller ones hardly.`;
}

function trust({ coverage, count }) {
  const share = coverage["0.95"];
  const error = 2 * Math.sqrt((0.95 * 0.05) / count);
  if (share < 0.95 - error) return ": it is surer than it should be";
  return share > 0.95 + error ? ": it is less sure than it could be" : ": as it should be";
}
