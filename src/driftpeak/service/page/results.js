// A results folder of `driftpeak replay` or `driftpeak reproduce`: verdicts, tables, figures. Read only.
import { request } from "./api.js";
import { make, section, table } from "./elements.js";
import { fixed, reward } from "./format.js";

export async function showResults({ summary, files }, main, signal) {
  const parts = summary.experiments ? reproduced(summary) : played(summary);
  const pictures = section("Figures");
  const reports = files.filter((name) => name.endsWith(".html"));
  main.replaceChildren(
    make("h1", { tabindex: "-1" }, `Results of driftpeak ${summary.command}`),
    make("p", { class: "quiet" }, `Written by driftpeak ${summary.driftpeak_version}.`),
    ...parts,
    reports.length ? section("Report", ...reports.map((name) => make("p", {}, make("button", { onclick: () => save(name) }, `Save ${name}`)))) : "",
    pictures);
  const addresses = [];
  signal.addEventListener("abort", () => addresses.forEach((one) => URL.revokeObjectURL(one)));
  for (const name of files.filter((one) => /\.(png|svg)$/.test(one))) {
    const address = await blob(name); // an <img> cannot send a token
    addresses.push(address);
    pictures.append(make("figure", {}, make("img", { src: address, alt: name }), make("figcaption", {}, name)));
  }
  pictures.hidden = pictures.children.length === 1;
}

async function blob(name) {
  return URL.createObjectURL(await (await request(`results/${name}`, { accept: "*/*" })).blob());
}

async function save(name) {
  const address = await blob(name);
  make("a", { href: address, download: name }).click();
  URL.revokeObjectURL(address);
}

function played({ verdict, follow, policies, settings }) {
  const unit = settings?.unit ? ` [${settings.unit}]` : "";
  const ranked = Object.entries(policies).sort(([, one], [, other]) => one.mean_regret - other.mean_regret);
  const rows = ranked.map(([name, one]) => [
    name, figure(one.mean_regret), figure(one.stderr), figure(one.cumulative_regret),
    one.on_best === undefined || one.on_best === null ? "–" : `${(100 * one.on_best).toFixed(1)} %`]);
  return [
    section("Verdict", make("p", { id: "verdict" }, verdict?.text ?? "No policies were compared.")),
    follow ? section("Recommended arm", make("p", { id: "follow" },
      make("b", {}, follow.arm), `: expected ${reward(follow.mean, follow.deviation)} ± ${reward(follow.deviation, follow.deviation)}${unit}, at ${follow.when}.`)) : "",
    section("Policies", table("Policies", ["policy", `mean regret${unit}`, "± s.e.", `cumulative regret${unit}`, "on best arm"], rows)),
  ];
}

function reproduced({ papers_claims: counts, experiments }) {
  const verdicts = Object.entries(counts).filter(([, count]) => count).map(([verdict, count]) => `${count} ${verdict}`);
  return [
    section("Verdict", make("p", { id: "verdict" }, `Claims of the papers: ${verdicts.join(", ") || "none tested"}.`)),
    ...Object.entries(experiments).map(([id, one]) => section(`${id}: ${one.title}`,
      make("p", { class: "quiet" }, `${one.source}; seed ${one.seed}.`),
      table("Claims", ["claim", "source", "verdict"], one.claims.map((claim) => [claim.claim, claim.whose, claim.verdict])),
      ...one.tables.flatMap(({ title, columns, rows }) => [make("h3", {}, title), table(title, columns, rows.map((row) => row.map(String)))]))),
  ];
}

function figure(value) {
  if (value === null || value === undefined) return "–";
  return fixed(Number(value.toPrecision(4)), 6).replace(/\.?0+$/, "");
}
