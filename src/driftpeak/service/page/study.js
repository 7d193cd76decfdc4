// A study: its description, the sections of its page, and their updates.
import { lookAhead } from "./ahead.js";
import { get, post } from "./api.js";
import { beliefs } from "./beliefs.js";
import { contextForm } from "./contexts.js";
import { cannotBeUndone } from "./danger.js";
import { make } from "./elements.js";
import { parameterText } from "./format.js";
import { limitCharts, limitsKept, measured } from "./limits.js";
import { Moments } from "./moments.js";
import { newestRewards } from "./newest.js";
import { pendingSuggestions } from "./pending.js";
import { settingNow } from "./setting.js";
import { follow } from "./stream.js";
import { peakTracks, rewardsOverTime } from "./tracks.js";

class Study {
  constructor(found) {
    this.name = found.name;
    this.maximize = found.maximize;
    this.goal = found.maximize ? "reward" : "cost";
    this.space = found.space;
    this.contexts = found.space.context ?? {};
    this.limits = measured(found.options.constraints);
    this.said = null; // the context of the estimates, once one is known
    this.likelihood = "gaussian";
    this.renew(found);
  }

  renew(found) {
    this.told = found.told;
    this.moments = new Moments(found.latest ?? 0);
  }

  learn({ rewards, likelihood }) {
    this.likelihood = likelihood;
    if (!rewards.length) return;
    const times = rewards.map((one) => this.moments.number(one.time));
    const [first, last] = [Math.min(...times), Math.max(...times)];
    this.whole = !this.moments.dates && times.every(Number.isInteger); // probably steps
    // the slider's range: half of the history's length, or a day or ten steps if that is zero
    this.span = (last - first) / 2 || (this.moments.dates ? 86400 : 10);
    if (Object.keys(this.contexts).length) this.said ??= rewards.at(-1).context;
  }

  get context() {
    return this.said === null ? null : JSON.stringify(this.said);
  }

  parameter(name) {
    return this.space.box?.[name] ?? this.contexts[name];
  }

  // The values of a parameter without numbers.
  choices(name) {
    const parameter = this.parameter(name);
    if (parameter?.type === "boolean") return [false, true];
    if (parameter?.choices) return parameter.choices;
    return this.space.names && name === "arm" ? this.space.names : null;
  }

  text(name, value) {
    return parameterText(value, this.parameter(name));
  }
}

export async function showStudy(name, main, status, signal) {
  const study = new Study(await get(`studies/${name}`, {}, signal));
  const count = make("p", { class: "quiet", id: "count" });
  const problem = make("p", { role: "alert", class: "bad" });
  const refresh = queued(load, signal);
  const parts = {
    now: settingNow(study),
    context: contextForm(study, refresh),
    ahead: lookAhead(study),
    tracks: peakTracks(study),
    rewards: rewardsOverTime(study),
    quantities: limitCharts(study),
    beliefs: beliefs(study),
    pending: pendingSuggestions(study, refresh),
    limits: limitsKept(study),
    newest: newestRewards(study),
    danger: cannotBeUndone(study, refresh),
  };
  main.replaceChildren(
    make("h1", { tabindex: "-1" }, study.name), count, problem,
    make("div", { class: "grid" },
      ...["now", "ahead", "context", "tracks", "rewards", "quantities", "beliefs"].map((key) => parts[key].part),
      make("div", { class: "stack" }, ...["pending", "limits", "danger"].map((key) => parts[key].part)),
      parts.newest.part));
  for (const key of ["context", "ahead", "tracks", "rewards", "quantities", "limits", "newest"]) parts[key].part.hidden = true;
  signal.addEventListener("abort", () => {
    for (const one of Object.values(parts)) one.end?.();
  });
  follow(name, refresh, status, signal); // the first message triggers the first refresh

  // Sections that need no computation are filled first.
  async function load() {
    const path = `studies/${name}`;
    main.setAttribute("aria-busy", "true");
    try {
      const [description, pending, forecasts] = await Promise.all([
        get(path, {}, signal), get(`${path}/pending`, {}, signal), get(`${path}/predictions`, {}, signal)]);
      study.renew(description);
      study.learn(forecasts);
      count.textContent = `${description.told} ${study.goal}${description.told === 1 ? "" : "s"}; ${study.maximize ? "larger" : "smaller"} is better.`;
      parts.pending.show(pending);
      parts.rewards.show(forecasts);
      parts.quantities.show(forecasts);
      parts.newest.show(forecasts);
      parts.context.show();
      count.append(" Computing …");
      const belief = await get(`${path}/diagnostics`, {}, signal);
      parts.beliefs.show(belief);
      parts.limits.show(belief);
      const best = await believed(path, description, belief);
      parts.now.show(best);
      parts.ahead.show(best);
      if (best.best) {
        const track = await get(`${path}/peaks`, { context: study.context }, signal);
        parts.tracks.show({ ...track, rewards: forecasts.rewards, changes: belief.diagnostics.change_points });
        parts.now.show({ ...best, peaks: track.peaks });
      } else {
        parts.tracks.show({ peaks: [], rewards: [] });
      }
      problem.textContent = "";
      count.lastChild.remove();
    } catch (error) {
      if (!signal.aborted) problem.textContent = error.message;
    }
    main.removeAttribute("aria-busy");
  }

  async function believed(path, description, { diagnostics }) {
    if (!description.told || diagnostics.held === 0) return { best: null };
    const best = await get(`${path}/best`, { context: study.context }, signal);
    if (!Object.keys(study.limits).length) return { best };
    const points = { points: [best.parameters], time: best.time };
    if (study.said) points.context = study.said;
    return { best, ...(await post(`${path}/chances`, points, signal)) };
  }
}

// Runs `act` one at a time; any number of calls in the meantime cause one more run.
function queued(act, signal) {
  let running = false, again = false;
  return async () => {
    again = true;
    if (running) return;
    running = true;
    while (again && !signal.aborted) {
      again = false;
      await act();
    }
    running = false;
  };
}
