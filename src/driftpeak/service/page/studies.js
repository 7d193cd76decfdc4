// The list of studies.
import { get } from "./api.js";
import { make, section } from "./elements.js";
import { Moments } from "./moments.js";

const AGAIN = 5000; // milliseconds between updates

export async function showStudies(studies, fleets, main, status, signal) {
  const list = make("ul", { class: "rows", id: "studies" });
  const words = make("p", {});
  const others = fleets.length ? section("Fleets", make("ul", { class: "rows", id: "fleets" },
    ...fleets.map((name) => make("li", {}, make("a", { href: `#fleet:${name}` }, name))))) : null;
  main.replaceChildren(...[make("h1", { tabindex: "-1" }, "Studies"), words, list, others].filter(Boolean));
  show(studies);
  while (!signal.aborted) {
    await new Promise((done) => { setTimeout(done, AGAIN); });
    if (signal.aborted) return;
    try {
      show((await get("studies", {}, signal)).studies);
      status("live", true);
    } catch (error) {
      if (!signal.aborted) status("no connection; retrying", false);
    }
  }

  function show(all) {
    words.textContent = all.length ? "" : "No studies yet. Create one by driftpeak live create or POST api/studies.";
    list.replaceChildren(...all.map((one) => make("li", {}, make("a", { href: `#${one.name}` }, one.name), make("span", {}, state(one)))));
  }
}

function state({ problem, told, pending, latest }) {
  if (problem) return `cannot be read: ${problem}`;
  const moments = new Moments(latest ?? 0);
  const when = latest === null ? "" : `, latest time ${moments.text(moments.number(latest))}`;
  return `${told} rewards, ${pending} pending${when}`;
}
