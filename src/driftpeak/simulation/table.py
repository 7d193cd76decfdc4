"""Who did how well, as a table for a paper: mean regrets with intervals, ranked."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import xarray as xr

from driftpeak._core.argument_types import checked
from driftpeak.simulation.comparison import LEVEL, Verdict, verdict
from driftpeak.simulation.regrets import check_runs, regret_unit, regrets_of
from driftpeak.simulation.samples import by_sample, half_interval

if TYPE_CHECKING:
    import pandas as pd

KINDS = ("best", "alike", "worse", "yardstick")
ESCAPES = {one: rf"\{one}" for one in "&%$#_{}"} | {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
}


@dataclass(frozen=True, eq=False)
class RegretTable:
    """One row per policy, least regret first.

    Attributes:
        frame: indexed by policy, with the columns `rank` (among those that see no more than their
            own rewards; missing for the others), `mean_regret` per step, `low` and `high`, its 95 %
            interval (NaN with one sample only), and `beside_best`: "best", "alike" (cannot be told
            apart from the best), "worse" (by more than chance) or "yardstick" (shown the true
            function). `driftpeak.simulation.comparison` says how they are compared.
        caption: what the numbers are, in a sentence.
    """

    frame: "pd.DataFrame"
    caption: str

    def to_markdown(self) -> str:
        """The table in Markdown, as GitHub and Sphinx read it, without the caption."""
        head, *rows = self._cells()
        lines = [head, ["---", "---:", "---:", "---:", "---"], *rows]
        escaped = ([cell.replace("|", r"\|") for cell in line] for line in lines)
        return "\n".join(f"| {' | '.join(line)} |" for line in escaped)

    def to_latex(self) -> str:
        """The table in LaTeX, with the caption; it needs the package booktabs."""
        head, *rows = (" & ".join(map(_latex, line)) + r" \\" for line in self._cells())
        lines = [
            r"\begin{table}",
            rf"\caption{{{_latex(self.caption)}}}",
            r"\begin{tabular}{lrrrl}",
            r"\toprule",
            head,
            r"\midrule",
            *rows,
            r"\bottomrule",
            r"\end{tabular}",
            r"\end{table}",
        ]
        return "\n".join(lines) + "\n"

    def __str__(self) -> str:
        return f"{self.to_markdown()}\n\n{self.caption}"

    def _repr_markdown_(self) -> str:
        """For notebooks."""
        return str(self)

    def _cells(self) -> list[list[str]]:
        import pandas as pd

        rows = [["policy", "rank", "mean regret", "95 % interval", "beside the best"]]
        for name, row in self.frame.iterrows():
            rank = "" if pd.isna(row["rank"]) else str(row["rank"])
            interval = "" if pd.isna(row["low"]) else f"{row['low']:.4g} to {row['high']:.4g}"
            mean = f"{row['mean_regret']:.4g}"
            rows.append([str(name), rank, mean, interval, str(row["beside_best"])])
        return rows


@checked
def table(runs: xr.Dataset, *, independent_trials: bool | None = None) -> RegretTable:
    """Mean regret of every policy with its 95 % interval and rank, least regret first.

    Intervals are Student's t over samples, as in the report of `driftpeak compare` and `replay`:
    trials, or where all share one recorded history the means of blocks of steps
    (`driftpeak.simulation.samples`). They hold for each policy alone; `beside_best` compares
    policies in pairs, step by step, which tells more.

    Arguments:
        runs: what `simulate` or `replay` gave, however it was kept.
        independent_trials: whether trials are samples; by default unless the record holds the
            rewards of one recorded history, as that of `replay` does.

    Raises:
        DriftpeakError: something that is no such record.
    """
    import pandas as pd

    check_runs(runs)
    independent = "rewards" not in runs if independent_trials is None else independent_trials
    names = [str(name) for name in runs["policy"].values]
    real = [str(name) for name in runs["policy"].values[runs["foresight"] == "none"]]
    judged = verdict(runs, real, independent_trials=independent) if real else None
    regrets = {name: regrets_of(runs, name, independent_trials=independent) for name in names}
    means = np.array([regrets[name].mean() for name in names])
    reach = np.array(
        [
            half_interval(one, independent_trials=independent, level=LEVEL)
            for one in regrets.values()
        ]
    )
    ranks = pd.Series(means).where([name in real for name in names]).rank(method="min")
    frame = pd.DataFrame(
        {
            "rank": ranks.astype("Int64").array,
            "mean_regret": means,
            "low": means - reach,
            "high": means + reach,
            "beside_best": pd.Categorical([_beside_best(one, judged) for one in names], KINDS),
        },
        index=pd.Index(names, name="policy"),
    )
    samples = len(by_sample(regrets[names[0]], independent_trials=independent))
    caption = _caption(runs, samples, independent)
    return RegretTable(frame.sort_values("mean_regret", kind="stable"), caption)


def _beside_best(name: str, judged: Verdict | None) -> str:
    if judged is None or (name != judged.best and name not in judged.others):
        return "yardstick"
    if name == judged.best:
        return "best"
    return "worse" if judged.others[name].worse else "alike"


def _caption(runs: xr.Dataset, samples: int, independent: bool) -> str:
    unit, steps = regret_unit(runs), runs.sizes["step"]
    what = f"Mean regret per step{' in ' * bool(unit)}{unit} over {steps:,} steps"
    if samples < 2:
        return f"{what}, of one trial, which has no interval."
    if independent:
        return f"{what}; 95 % intervals (Student's t) over {samples:,} trials."
    return f"{what} of one history; 95 % intervals (Student's t) over {samples} blocks of steps."


def _latex(text: str) -> str:
    """With the characters that mean something to LaTeX escaped."""
    return "".join(ESCAPES.get(one, one) for one in text)
