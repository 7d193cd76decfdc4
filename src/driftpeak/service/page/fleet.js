// A fleet: its members, the fastest, those that their forecasts describe worst, and one member.
import { get } from "./api.js";
import { make, section, table } from "./elements.js";
import { fixed } from "./format.js";

const AGAIN = 10000; // milliseconds between updates

export async function showFleet(name, main, status, signal) {
  const counts = make("p", {});
  const lists = make("div", {});
  const single = make("div", { id: "member", "aria-live": "polite" });
  const field = make("input", { id: "which", required: true });
  const form = make("form", { onsubmit: show }, make("label", { for: "which" }, "Member "), field, " ", make("button", {}, "Show"));
  main.replaceChildren(make("h1", { tabindex: "-1" }, name), counts, lists, section("One member", form, single));
  const path = `fleets/${encodeURIComponent(name)}`;
  while (!signal.aborted) {
    try {
      fill(await get(path, {}, signal));
      status("live", true);
    } catch (error) {
      if (signal.aborted) return;
      if (!counts.textContent) throw error;
      status("no connection; retrying", false);
    }
    await new Promise((done) => { setTimeout(done, AGAIN); });
  }

  function fill({ members, observations, policy, share, compared, fastest, worst }) {
    counts.textContent = `${members} members, ${observations} observations, policy ${policy}, share ${share}. `
      + `The lists compare the ${compared} members with the most observations.`;
    lists.replaceChildren(
      section("Fastest members", fastest.length ? rows("Fastest members", fastest) : "The policy estimates no drift."),
      section("Largest errors of forecasts", worst.length ? rows("Largest errors of forecasts", worst) : "No forecasts yet."),
    );
  }

  function rows(caption, members) {
    const columns = ["member", "observations", "drift per step", "squared error / variance"];
    return table(caption, columns, members.map(({ member, observations, drift, error }) => [String(member), String(observations), fixed(drift, 4), fixed(error, 2)]));
  }

  async function show(event) {
    event.preventDefault();
    try {
      const { names, mean, deviation, observations } = await get(`${path}/members/${encodeURIComponent(field.value)}`, {}, signal);
      const estimates = (names ?? []).map((arm, place) => [arm, fixed(mean[place], 3), fixed(deviation[place], 3)]);
      single.replaceChildren(make("p", {}, `${observations} observations`), table("Estimates of the member", ["arm", "mean", "standard deviation"], estimates));
    } catch (error) {
      if (!signal.aborted) single.replaceChildren(make("p", { role: "alert" }, error.message));
    }
  }
}
