// Numbers with their significant digits.

export function fixed(value, decimals) {
  if (value === null || value === undefined) return "–";
  if (typeof value !== "number") return String(value);
  const size = Math.abs(value);
  if (size >= 1e7 || (size > 0 && size < 1e-4 && decimals > 4)) return value.toExponential(2);
  return value.toFixed(Math.min(decimals, 8)).replace("-", "−");
}

// The decimals that show two digits of a standard deviation: 91.80 for a standard deviation of 0.37.
export function decimalsFor(spread) {
  if (!(spread > 0)) return 2;
  return Math.min(Math.max(1 - Math.floor(Math.log10(spread)), 0), 8);
}

export function reward(value, deviation) {
  return fixed(value, decimalsFor(deviation));
}

export function percent(share) {
  if (share === null || share === undefined) return "–";
  return `${Number((100 * share).toPrecision(3))} %`;
}

// A parameter's value: numbers to a thousandth of the range, strings and booleans unchanged.
export function parameterText(value, parameter) {
  if (value === undefined) return "–"; // not a part of the setting
  if (value === null) return "none";
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (typeof value !== "number") return String(value);
  if (!parameter || parameter.choices) return String(Number(value.toPrecision(6)));
  if (parameter.type === "integer") return fixed(value, 0);
  if (parameter.log) return String(Number(value.toPrecision(3)));
  const range = parameter.high - parameter.low;
  return fixed(value, Math.max(Math.round(-Math.log10(range / 1000)), 0));
}
