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
  const form = make("form", { class: "line", onsubmit: (event) => { event.preventDefault(); show(); } },
    make("label", { for: "which" }, "Member"), field, make("button", {}, "Show"));
  main.replaceChildren(make("h1", { tabindex: "-1" }, name), counts, section("One member", form, single), lists);
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
    counts.textContent = `${count(members)} members, ${count(observations)} observations, policy ${policy}, share ${share}.`
      + (compared < members ? ` The lists compare the ${count(compared)} members with the most observations.` : "");
    lists.replaceChildren(
      section("Fastest members", "Drift is the share of the variance that is new after each step.",
        fastest.length ? rows("Fastest members", fastest) : make("p", {}, "The policy estimates no drift.")),
      section("Largest errors of forecasts", "Error is the mean squared error of forecasts, divided by their variance: about 1 for a good model.",
        worst.length ? rows("Largest errors of forecasts", worst) : make("p", {}, "No forecasts yet.")),
    );
  }

  function rows(caption, members) {
    const columns = ["member", "rewards", "drift", "error"];
    return table(caption, columns, members.map(({ member, observations, drift, error }) => [chooser(String(member)), count(observations), fixed(drift, 4), fixed(error, 2)]));
  }

  // A button that shows the estimates of a member.
  function chooser(member) {
    const onclick = async () => {
      field.value = member;
      await show();
      field.scrollIntoView({ block: "center" });
    };
    return make("button", { class: "plain", type: "button", onclick }, member);
  }

  async function show() {
    try {
      const { names, mean, deviation, observations, drift, error } = await get(`${path}/members/${encodeURIComponent(field.value)}`, {}, signal);
      const parts = [`${count(observations)} rewards`];
      if (drift !== null) parts.push(`drift ${fixed(drift, 4)}`);
      if (error !== null) parts.push(`error ${fixed(error, 2)}`);
      const estimates = (names ?? []).map((arm, place) => [arm, fixed(mean[place], 3), fixed(deviation[place], 3)]);
      single.replaceChildren(make("p", {}, `${parts.join(", ")}.`), table("Estimates of the member", ["arm", "mean", "standard deviation"], estimates));
    } catch (problem) {
      if (!signal.aborted) single.replaceChildren(make("p", { role: "alert" }, problem.message));
    }
  }
}

function count(number) {
  return number.toLocaleString("en");
}
