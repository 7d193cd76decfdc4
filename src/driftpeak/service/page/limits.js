// Limits of measured quantities: charts of the measurements, and observed and allowed violation rates.
import { Chart } from "./charts.js";
import { make, section, table } from "./elements.js";
import { fixed, percent } from "./format.js";
import { inOrder } from "./tracks.js";

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

// A chart of each measured quantity with its limit; violations have rings.
export function limitCharts(study) {
  const place = make("div", { class: "charts" });
  const part = section("Limited quantities over time", make("p", { class: "quiet" }, "Dots: measurements. Rings: violations. Dashed line: limit."), place);
  part.classList.add("wide");
  const charts = new Map();
  const show = ({ rewards }) => {
    const ordered = inOrder(study, rewards);
    for (const name of Object.keys(study.limits)) {
      const measured = ordered.filter(({ constraints }) => name in constraints);
      if (!measured.length) continue;
      if (!charts.has(name)) {
        const share = make("p", { class: "quiet" });
        const chart = new Chart(`${name} over time with its limit`);
        charts.set(name, { chart, share });
        place.append(make("div", {}, make("h3", {}, name), share, chart.place));
      }
      const { chart, share } = charts.get(name);
      const { lines, violated } = quantity(study.limits[name], name, measured);
      share.textContent = `Violated: ${violated} of ${measured.length} (${percent(violated / measured.length)}). Allowed: ${percent(1 - study.limits[name].probability)}.`;
      chart.show({ x: measured.map((one) => study.moments.number(one.time)), moments: study.moments, lines });
    }
    part.hidden = !charts.size;
  };
  return { part, show, end: () => { for (const { chart } of charts.values()) chart.end(); } };
}

function quantity(limit, name, measured) {
  const values = measured.map(({ constraints }) => constraints[name]);
  const [low, high] = [limit.at_least, limit.at_most].map((bound) => measured.map((one) => boundIn(bound, one.context)));
  const violates = values.map((value, place) => (low[place] !== null && value < low[place]) || (high[place] !== null && value > high[place]));
  const spread = Math.max(...values) - Math.min(...values) || 1;
  const text = (value) => fixed(value, Math.max(0, 3 - Math.ceil(Math.log10(spread))));
  const bounds = [["at least", low], ["at most", high]].filter(([, each]) => each.some((one) => one !== null));
  return {
    violated: violates.filter(Boolean).length,
    lines: [
      { label: "measured", look: "dots", values, text },
      { label: "violation", look: "rings", values: values.map((value, place) => (violates[place] ? value : null)), text },
      ...bounds.map(([label, each]) => ({ label, look: "limit", values: each, text })),
    ],
  };
}

function boundIn(bound, context) {
  if (bound === undefined || bound === null) return null;
  if (typeof bound !== "object") return bound;
  const value = context[bound.context];
  return bound.values[typeof value === "string" ? value : JSON.stringify(value)] ?? null;
}
