"""Table for a paper: mean regrets of policies with intervals, ranked."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
import xarray as xr

from driftpeak._core.aligned import decimals_of, number_text
from driftpeak._core.argument_types import checked
from driftpeak._core.text_tables import latex_table, markdown_table
from driftpeak.simulation._comparison import LEVEL, Verdict, verdict
from driftpeak.simulation._regrets import check_runs, regret_unit, regrets_of
from driftpeak.simulation._samples import by_sample, half_interval

if TYPE_CHECKING:
    import pandas as pd

Form = Literal["interval", "plus-minus"]
KINDS = ("best", "alike", "worse", "yardstick")


@dataclass(frozen=True, eq=False)
class RegretTable:
    """Table of mean regrets with one row per policy, lowest regret first.

    Attributes:
        frame: table indexed by policy. `rank` is the rank among policies that observe only their
            own rewards, and missing for the others. `mean_regret` is per step, and `low` and `high`
            are its 95 % interval (NaN if there is only one sample). `beside_best` is "best",
            "alike" (not significantly worse than the best), "worse" (significantly worse) or
            "yardstick" (observes the true function). `driftpeak.simulation.verdict` describes
            the comparison.
        caption: description of the numbers in one sentence.
    """

    frame: "pd.DataFrame"
    caption: str

    def to_markdown(self, form: Form = "interval") -> str:
        """Return the table in Markdown for GitHub and Sphinx, without the caption.

        Arguments:
            form: "interval" has the ends of the 95 % interval in a column; "plus-minus" has half of
                its width after the mean, as in 0.079 ± 0.006. All rows have equally many decimals.
        """
        cells = self._cells(form)
        return markdown_table(cells, _columns(cells))

    def to_latex(self, form: Form = "interval") -> str:
        """Return the table in LaTeX, with the caption; it needs the package booktabs.

        Arguments:
            form: as for `to_markdown`.
        """
        cells = self._cells(form)
        return latex_table(cells, _columns(cells), self.caption)

    def __str__(self) -> str:
        return f"{self.to_markdown()}\n\n{self.caption}"

    def _repr_markdown_(self) -> str:
        """Return the table with its caption, for notebooks."""
        return str(self)

    def _cells(self, form: Form) -> list[list[str]]:
        import pandas as pd

        wide = form == "interval"
        numbers = ["mean regret", "95 % interval"] if wide else ["mean regret"]
        rows = [["policy", "rank", *numbers, "compared with the best"]]
        decimals = decimals_of((self.frame["high"] - self.frame["low"]) / 2)
        for name, row in self.frame.iterrows():
            rank = "" if pd.isna(row["rank"]) else str(row["rank"])
            mean, *ends = (
                number_text(row[key], decimals) for key in ("mean_regret", "low", "high")
            )
            known = not pd.isna(row["low"])
            if wide:
                numbers = [mean, " to ".join(ends) if known else ""]
            else:
                half = number_text((row["high"] - row["low"]) / 2, decimals)
                numbers = [f"{mean} ± {half}" if known else mean]
            rows.append([str(name), rank, *numbers, str(row["beside_best"])])
        return rows


def _columns(cells: list[list[str]]) -> str:
    """Return the alignment of the columns: text on the left, numbers on the right."""
    return f"l{'r' * (len(cells[0]) - 2)}l"


@checked
def table(runs: xr.Dataset, *, independent_trials: bool | None = None) -> RegretTable:
    """Return the mean regret of every policy with its 95 % interval and rank, lowest regret first.

    Intervals are Student's t over samples, as in the report of `driftpeak compare` and `replay`.
    Samples are trials, or if all trials share one recorded history, means of blocks of steps
    (`driftpeak.simulation._samples`). Each interval holds for its policy alone. `beside_best` tests
    paired differences, which is more powerful than comparing the intervals.

    Arguments:
        runs: result of `simulate` or `replay`, with everything or summaries kept.
        independent_trials: whether trials are samples. The default is False for the result of
            `replay`, which holds the rewards of one recorded history, and True otherwise.

    Raises:
        DriftpeakError: the argument is not such a result.
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
            half_interval(regret, independent_trials=independent, level=LEVEL)
            for regret in regrets.values()
        ]
    )
    ranks = pd.Series(means).where([name in real for name in names]).rank(method="min")
    frame = pd.DataFrame(
        {
            "rank": ranks.astype("Int64").array,
            "mean_regret": means,
            "low": means - reach,
            "high": means + reach,
            "beside_best": pd.Categorical([_beside_best(name, judged) for name in names], KINDS),
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
        return f"{what} of one trial, without intervals."
    if independent:
        return f"{what}; 95 % intervals (Student's t) over {samples:,} trials."
    return f"{what} of one history; 95 % intervals (Student's t) over {samples} blocks of steps."
