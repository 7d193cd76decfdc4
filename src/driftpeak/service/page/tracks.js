// The peak over time with its band for each parameter, and rewards with one-step forecasts.
import { Chart } from "./charts.js";
import { make, section } from "./elements.js";
import { decimalsFor, fixed, parameterText } from "./format.js";

export function peakTracks(study) {
  const part = section("Peak over time");
  const note = make("p", { class: "quiet" });
  const place = make("div", { class: "charts" });
  part.classList.add("wide");
  part.append(note, place);
  const charts = new Map();

  const show = ({ peaks, rewards, changes }) => {
    part.hidden = !peaks.length;
    if (part.hidden) return;
    note.textContent = (peaks.some((one) => Object.values(one.band).some(({ low }) => low !== null))
      ? "Line: estimated best setting, from all rewards. Band: equally good within one standard deviation. Dots: evaluated settings."
      : "Line: estimated best setting. Dots: evaluated settings.") + (changes?.length ? " Dashed lines: sudden changes." : "");
    for (const name of Object.keys(peaks.at(-1).parameters)) {
      if (!charts.has(name)) {
        const chart = new Chart(`${name} of the best setting over time`);
        charts.set(name, chart);
        place.append(make("div", {}, make("h3", {}, name), chart.place));
      }
      const marks = (changes ?? []).map((one) => study.moments.number(one));
      charts.get(name).show({ ...track(study, name, peaks, rewards), marks });
    }
  };
  return { part, show, end: () => { for (const chart of charts.values()) chart.end(); } };
}

function track(study, name, peaks, rewards) {
  const { moments } = study;
  const choices = study.choices(name);
  const place = (value) => {
    if (!choices) return value ?? null;
    return choices.includes(value) ? choices.indexOf(value) : null; // null may itself be a choice
  };
  const times = peaks.map((one) => moments.number(one.time));
  const lines = [{ label: "best", look: "line", values: peaks.map((one) => place(one.parameters[name])) }];
  if (!choices && peaks.some((one) => one.band[name]?.low !== null)) {
    lines.push({ label: "band", look: "high", values: peaks.map((one) => one.band[name]?.high ?? null) });
    lines.push({ label: "band", look: "low", values: peaks.map((one) => one.band[name]?.low ?? null) });
  }
  const ordered = inOrder(study, rewards);
  const set = [ordered.map((one) => moments.number(one.time)), ordered.map((one) => place(one.parameters[name]))];
  const [x, ...values] = uPlot.join([[times, ...lines.map((one) => one.values)], set]);
  lines.push({ label: "evaluated", look: "dots" });
  const text = choices ? (value) => parameterText(choices[value]) : (value) => study.text(name, value);
  return {
    x,
    moments,
    log: study.parameter(name)?.log,
    choices: choices?.map((one) => parameterText(one)),
    lines: lines.map((line, index) => ({ ...line, values: values[index], text })),
  };
}

export function rewardsOverTime(study) {
  const chart = new Chart(`Each ${study.goal} over time with its one-step forecast; the table of the newest ones has the numbers`);
  const note = make("p", { class: "quiet" });
  const part = section(`${study.maximize ? "Rewards" : "Costs"} and one-step forecasts`, note, chart.place);
  part.classList.add("wide");
  const show = ({ rewards }) => {
    part.hidden = !rewards.length;
    if (part.hidden) return;
    const ordered = inOrder(study, rewards);
    const ends = usual(ordered.flatMap((one) => [one.reward, one.expected?.low, one.expected?.high]));
    const outside = ordered.filter(({ reward }) => reward < ends[0] || reward > ends[1]).length;
    note.textContent = `${study.maximize ? "Larger" : "Smaller"} is better. Line and band: one-step forecast with its 95 % interval.`
      + (outside ? ` Outside the chart: ${outside}.` : "");
    const spread = ordered.find((one) => one.expected?.deviation)?.expected.deviation;
    const text = (value) => fixed(value, decimalsFor(spread));
    const forecast = (key) => ordered.map((one) => one.expected?.[key] ?? null);
    chart.show({
      x: ordered.map((one) => study.moments.number(one.time)),
      moments: study.moments,
      ends,
      lines: [
        { label: "forecast", look: "line", values: forecast("mean"), text },
        { label: "95 % interval", look: "high", values: forecast("high"), text },
        { label: "95 % interval", look: "low", values: forecast("low"), text },
        { label: study.goal, look: "dots", values: ordered.map((one) => one.reward), text },
      ],
    });
  };
  return { part, show, end: () => chart.end() };
}

// Limits of an axis that ignore a few extreme values.
function usual(values) {
  const sorted = values.filter((one) => Number.isFinite(one)).sort((one, other) => one - other);
  const [low, high] = [0.05, 0.95].map((share) => sorted[Math.round(share * (sorted.length - 1))]);
  const margin = 1.5 * (high - low) || Math.abs(high) || 1;
  return [Math.max(sorted[0] - 0.1 * margin, low - margin), Math.min(sorted.at(-1) + 0.1 * margin, high + margin)];
}

export function inOrder(study, rewards) {
  return [...rewards].sort((one, other) => study.moments.number(one.time) - study.moments.number(other.time));
}
