// Diagnostics of the model as sentences with numbers.
import { make, section } from "./elements.js";
import { fixed, decimalsFor, percent } from "./format.js";
import { duration } from "./moments.js";

export function beliefs(study) {
  const list = make("ul", { id: "beliefs" });
  const part = section("Model diagnostics", list);
  const show = ({ diagnostics, calibration }) => {
    list.replaceChildren(...lines(study, diagnostics, calibration).map(([head, text]) =>
      make("li", {}, make("strong", {}, `${head}: `), text)));
  };
  return { part, show };
}

function lines(study, found, calibration) {
  const { moments } = study;
  return [
    found.memory !== null && ["Memory",
      `${found.held} of ${found.told} rewards are in the model. Older ones have less weight; together they count as about `
      + `${fixed(found.memory, found.memory < 10 ? 1 : 0)} new ones.`],
    found.rejected > 0 && ["Outliers", `${found.rejected} of them are rejected as outliers.`],
    found.motion !== null && ["Drift model", motion(found.motion, moments) + sure(found.motion_probability)],
    found.half_life !== null && ["Drift", `half of the variance is new after ${moments.span(found.half_life)}.`],
    found.change_points?.length && ["Sudden changes",
      `detected at ${found.change_points.map((one) => moments.named(moments.number(one))).join(", ")}. Earlier rewards count less.`],
    found.noise !== null && ["Noise", `the standard deviation of a single ${study.goal} is about ±${fixed(found.noise, decimalsFor(found.noise))}.`],
    found.amplitude !== null && study.likelihood === "gaussian" && ["Amplitude",
      `the expected ${study.goal} differs between settings by about ±${fixed(found.amplitude, decimalsFor(found.amplitude))} (standard deviation).`],
    ...Object.entries(found.lengthscales ?? {}).map(([name, share]) => [name, reach(study, name, share)]),
    calibration.count > 0 && ["Calibration",
      `${percent(calibration.coverage["0.95"])} of ${calibration.count} rewards were inside the 95 % interval of their forecast`
      + `${trust(calibration)}.`],
    found.newest_age > 0 && ["Age", `the newest reward is ${moments.span(found.newest_age)} older than the latest time.`],
    ...Object.entries(found.readings ?? {}).map(([name, value]) => [name, JSON.stringify(value)]),
  ].filter(Boolean);
}

function motion(name, moments) {
  if (name.startsWith("period ")) {
    const period = Number(name.slice("period ".length));
    const text = moments.dates ? duration(period) : moments.span(period);
    return `a cycle with period ${text}, and Markov drift`;
  }
  return {
    markov: "Markov drift, without a trend",
    momentum: "momentum: changes continue in their direction for some time",
    "two speeds": "two speeds: a slow and a fast component",
  }[name] ?? name;
}

function sure(probability) {
  return probability === null || probability === 1 ? "." : ` (probability ${percent(Number(probability.toPrecision(2)))}).`;
}

function reach(study, name, share) {
  const parameter = study.parameter(name);
  const choices = study.choices(name);
  if (choices) {
    const gap = parameter?.ordered ? 1 / (choices.length - 1) : 1;
    const alike = correlation(gap / share);
    return `${parameter?.ordered ? "neighbouring values" : "two values"} have a correlation of ${fixed(alike, 2)}; at 1, all would have equal rewards.`;
  }
  const range = parameter?.type === "float" && !parameter.log ? share * (parameter.high - parameter.low) : null;
  const far = range === null ? `${percent(Number(share.toPrecision(2)))} of its range` : fixed(range, decimalsFor(range));
  return `lengthscale ${far}; much smaller changes have little effect.`;
}

// Matern 5/2.
function correlation(distance) {
  const scaled = Math.sqrt(5) * distance;
  return (1 + scaled + scaled ** 2 / 3) * Math.exp(-scaled);
}

function trust({ coverage, count }) {
  const share = coverage["0.95"];
  const error = 2 * Math.sqrt((0.95 * 0.05) / count);
  if (share < 0.95 - error) return ": the intervals are too narrow";
  return share > 0.95 + error ? ": the intervals are too wide" : ": as expected";
}
