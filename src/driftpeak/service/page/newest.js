// A table of the newest rewards, the accessible form of the charts.
import { make, numeral, section, table } from "./elements.js";
import { reward } from "./format.js";

const SHOWN = 10;

export function newestRewards(study) {
  const place = make("div", { id: "newest" });
  const part = section(`Newest ${study.goal}s`, place);
  part.classList.add("wide");
  const show = ({ rewards }) => {
    part.hidden = !rewards.length;
    if (part.hidden) return;
    const some = rewards.slice(-SHOWN).reverse();
    const names = [...new Set(some.flatMap((one) => Object.keys(one.parameters)))];
    const spread = some.find((one) => one.expected)?.expected.deviation;
    place.replaceChildren(table(`Newest ${study.goal}s`, ["no.", "when", ...names, study.goal, "forecast, 95 %"], some.map((one) => [
      String(one.number),
      study.moments.text(study.moments.number(one.time)),
      ...names.map((name) => numeral(one.parameters[name], study.text(name, one.parameters[name]))),
      numeral(one.reward, reward(one.reward, spread)),
      one.expected ? `${reward(one.expected.low, spread)} to ${reward(one.expected.high, spread)}` : "–",
    ])));
  };
  return { part, show };
}
