// Shows the study in the address, or the only study, or the list of studies, or a results folder.
import { get } from "./api.js";
import { make } from "./elements.js";
import { showFleet } from "./fleet.js";
import { showResults } from "./results.js";
import { showStudies } from "./studies.js";
import { showStudy } from "./study.js";

const main = document.getElementById("main");
const line = document.getElementById("status");
let leaving = new AbortController();

function status(text, fine) {
  if (line.textContent !== text) line.textContent = text;
  line.className = fine ? "fine" : "lost";
}

async function show() {
  leaving.abort();
  leaving = new AbortController();
  const { signal } = leaving;
  try {
    status("", true);
    const name = decodeURIComponent(location.hash.slice(1));
    if (name.startsWith("fleet:")) {
      document.title = `${name.slice(6)} – driftpeak`;
      await showFleet(name.slice(6), main, status, signal);
    } else if (name) {
      document.title = `${name} – driftpeak`;
      await showStudy(name, main, status, signal);
    } else {
      document.title = "driftpeak";
      const { studies } = await get("studies", {}, signal);
      const { fleets } = await get("fleets", {}, signal);
      const results = studies.length + fleets.length ? null : await get("results", {}, signal);
      if (results?.summary) await showResults(results, main, signal);
      else if (studies.length === 1 && !fleets.length) location.replace(`#${studies[0].name}`);
      else await showStudies(studies, fleets, main, status, signal);
    }
  } catch (error) {
    if (signal.aborted) return;
    main.replaceChildren(make("h1", {}, "This page cannot be shown"), make("p", { role: "alert" }, error.message),
      make("p", {}, make("a", { href: "#" }, "All studies")));
  }
}

addEventListener("hashchange", async () => {
  await show();
});
await show();
