// Charts of lines, dots and bands over time, drawn by uPlot with the colours of the style sheet.
import { make } from "./elements.js";

const HEIGHT = 240;
const shown = new Set();

// Redraw all charts when the colour scheme changes.
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
  for (const chart of shown) chart.redraw();
});

export class Chart {
  constructor(words) {
    this.place = make("div", { class: "chart", role: "img", "aria-label": words });
    this.sizes = new ResizeObserver(() => this.#fit());
    this.sizes.observe(this.place);
    shown.add(this);
  }

  // x: sorted numbers; lines: {label, values, look: "line" | "dots" | "rings" | "limit" | "low" | "high", text}.
  // A "high" and the following "low" are the ends of a band, with one entry in the legend. `choices` are the names of the values 0, 1, ...
  // `ends` are the limits of the vertical axis, by default from the values; `log`: the axis is logarithmic.
  // `marks` are places on the horizontal axis with a dashed line.
  show(content) {
    this.content = content;
    this.redraw();
  }

  redraw() {
    if (!this.content || !this.place.isConnected) return;
    const { x, lines } = this.content;
    this.plot?.destroy();
    this.plot = new uPlot(options(this.content, this.place.clientWidth), [x, ...lines.map((one) => one.values)], this.place);
  }

  end() {
    this.sizes.disconnect();
    shown.delete(this);
    this.plot?.destroy();
  }

  #fit() {
    if (!this.plot) this.redraw();
    else if (this.plot.width !== this.place.clientWidth) {
      this.plot.setSize({ width: this.place.clientWidth, height: HEIGHT });
    }
  }
}

function options({ x, lines, moments, choices, ends, log, marks = [] }, width) {
  const style = getComputedStyle(document.documentElement);
  const colour = (name) => style.getPropertyValue(`--${name}`).trim();
  const axis = {
    stroke: colour("quiet"),
    font: "12px system-ui, sans-serif",
    grid: { stroke: colour("grid"), width: 1 },
    ticks: { stroke: colour("grid"), width: 1 },
  };
  const named = choices && {
    splits: () => choices.map((_, place) => place),
    values: (_, places) => places.map((place) => shortened(choices[place])),
  };
  const highs = lines.flatMap((line, place) => (line.look === "high" ? [place + 1] : []));
  return {
    width,
    height: HEIGHT,
    padding: [10, 12, 0, 0],
    tzDate: (number) => uPlot.tzDate(new Date(number * 1000), moments.zone ?? Intl.DateTimeFormat().resolvedOptions().timeZone),
    cursor: { y: false, dataIdx: nearest, drag: { x: true, y: false }, points: { size: 7 } },
    scales: {
      x: { time: moments.dates, range: x.length > 1 ? undefined : (_, low, high) => [low - 1, high + 1] },
      y: { distr: log ? 3 : 1, range: choices ? [-0.5, choices.length - 0.5] : ends },
    },
    axes: [
      { ...axis, size: moments.dates ? 50 : 34, space: 64, values: moments.dates ? dates(moments) : undefined },
      { ...axis, size: room, ...named },
    ],
    bands: highs.map((place) => ({ series: [place, place + 1], fill: colour("band") })),
    series: [
      { label: moments.dates ? "when" : "time", value: (_, at) => (at === null ? "–" : moments.text(at)) },
      ...lines.map((line, place) => series(line, lines[place + 1], colour, choices)),
    ],
    hooks: { draw: [(plot) => dashes(plot, marks, colour("text"))], ready: [(plot) => lines.forEach((line, place) => {
      const entry = plot.root.querySelectorAll(".u-legend .u-series")[place + 1];
      if (entry) entry.hidden = line.look === "low";
    })] },
    legend: { markers: { width: 2, fill: (plot, place) => swatch(lines[place - 1], colour), stroke: (plot, place) => swatch(lines[place - 1], colour) } },
  };
}

function series({ label, look, text }, next, colour, choices) {
  const words = (value) => (value === null || value === undefined ? "–" : text(value));
  const between = (value, index) => `${words(next.values[index])} to ${words(value)}`;
  const common = { label, value: (_, value, __, index) => (look === "high" && next ? between(value, index) : words(value)) };
  if (look === "line") {
    const paths = choices && uPlot.paths.stepped({ align: 1 }); // no values between choices
    return { ...common, stroke: colour("line"), width: 2, spanGaps: true, paths, points: { show: false } };
  }
  if (look === "dots") {
    const dot = colour("dot");
    return { ...common, stroke: dot, paths: () => null, points: { show: true, size: 5, fill: dot, stroke: dot, width: 0 } };
  }
  if (look === "rings") {
    const bad = colour("bad");
    return { ...common, stroke: bad, paths: () => null, points: { show: true, size: 11, fill: "transparent", stroke: bad, width: 2 } };
  }
  if (look === "limit") {
    const paths = uPlot.paths.stepped({ align: 1 }); // a bound may depend on the context
    return { ...common, stroke: colour("text"), width: 1.5, dash: [6, 4], paths, points: { show: false } };
  }
  return { ...common, stroke: colour("edge"), width: 1, spanGaps: true, points: { show: false } };
}

function dashes({ ctx, bbox, valToPos }, marks, colour) {
  ctx.save();
  ctx.strokeStyle = colour;
  ctx.lineWidth = devicePixelRatio;
  ctx.setLineDash([6, 4].map((length) => length * devicePixelRatio));
  for (const place of marks.map((one) => valToPos(one, "x", true))) {
    if (place < bbox.left || place > bbox.left + bbox.width) continue;
    ctx.beginPath();
    ctx.moveTo(place, bbox.top);
    ctx.lineTo(place, bbox.top + bbox.height);
    ctx.stroke();
  }
  ctx.restore();
}

function swatch(line, colour) {
  return line && colour({ line: "line", dots: "dot", rings: "bad", limit: "text" }[line.look] ?? "edge");
}

// Each line shows its value nearest to the cursor, because lines have values at different times.
function nearest(plot, place, index) {
  const values = plot.data[place];
  if (place === 0 || (values[index] ?? null) !== null) return index;
  for (let away = 1; away < values.length; away++) {
    if ((values[index - away] ?? null) !== null) return index - away;
    if ((values[index + away] ?? null) !== null) return index + away;
  }
  return index;
}

// The time of day, with the date below it where the date changes.
function dates(moments) {
  return (_, places, __, ___, step) => {
    let before = null;
    return places.map((place) => {
      const day = step >= 2419200 ? `${moments.day(place)}\n${moments.year(place)}` : moments.day(place);
      if (step >= 86400) return day;
      const text = day === before ? moments.clock(place) : `${moments.clock(place)}\n${day}`;
      before = day;
      return text;
    });
  };
}

function room(_, texts) {
  return 16 + 7 * Math.max(2, ...(texts ?? []).map((text) => String(text).length));
}

function shortened(text) {
  return text.length > 12 ? `${text.slice(0, 11)}…` : text;
}
