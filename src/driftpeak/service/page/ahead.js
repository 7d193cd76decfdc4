// A forecast of the best setting at a later time, which a slider selects, next to the present one.
import { get } from "./api.js";
import { make, numeral, section, table } from "./elements.js";
import { reward } from "./format.js";

const STEPS = 48;
const PAUSE = 150; // milliseconds without a move before the request

export function lookAhead(study) {
  const slider = make("input", { type: "range", id: "ahead", min: 0, max: STEPS, step: 1, value: STEPS / 4 });
  const output = make("output", { for: "ahead" });
  const place = make("div", { id: "ahead-result", "aria-live": "polite" });
  const part = section("Forecast",
    make("label", { for: "ahead" }, "Time ahead:"), " ", output, slider, place);
  let now = null, timer = null, asked = null;

  function moment() {
    const latest = study.moments.number(now.time);
    const share = (study.span * slider.value) / STEPS;
    const length = study.whole ? Math.round(share) : share;
    return { number: latest + length, length };
  }

  function moved() {
    const { number, length } = moment();
    const text = slider.value === "0" ? "now" : `in ${study.moments.span(length)}: ${study.moments.named(number)}`;
    output.textContent = text;
    slider.setAttribute("aria-valuetext", text);
    place.setAttribute("aria-busy", "true");
    clearTimeout(timer);
    timer = setTimeout(ask, PAUSE);
  }

  async function ask() {
    asked?.abort();
    asked = new AbortController();
    try {
      const then = await get(`studies/${study.name}/best`, { time: study.moments.write(moment().number), context: study.context }, asked.signal);
      place.replaceChildren(compared(study, now, then));
    } catch (error) {
      if (error.name === "AbortError") return; // a newer request is running
      place.replaceChildren(make("p", {}, error.message));
    }
    place.removeAttribute("aria-busy");
  }

  slider.addEventListener("input", moved);
  const show = ({ best }) => {
    part.hidden = !best;
    now = best;
    if (best) moved();
    else end();
  };
  const end = () => {
    clearTimeout(timer);
    asked?.abort();
  };
  return { part, show, end };
}

function compared(study, now, then) {
  const names = [...new Set([...Object.keys(now.parameters), ...Object.keys(then.parameters)])];
  const cell = (peak, name) => numeral(peak.parameters[name], study.text(name, peak.parameters[name]));
  const rows = names.map((name) => [name, cell(now, name), cell(then, name)]);
  rows.push([`expected ${study.goal}`, ...[now, then].map((peak) => numeral(peak.mean, reward(peak.mean, peak.deviation)))]);
  if (then.low !== null) rows.push(["95 % interval", ...[now, then].map((peak) => between(peak))]);
  return table("Now and forecast", ["", "now", "forecast"], rows);
}

function between({ low, high, deviation }) {
  return low === null ? "–" : make("span", {}, numeral(low, reward(low, deviation)), " to ", numeral(high, reward(high, deviation)));
}
