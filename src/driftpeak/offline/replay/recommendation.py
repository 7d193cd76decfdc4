"""What to follow now: what a policy expects of the arms at the row after the last."""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import xarray as xr

from driftpeak._core.argument_types import checked
from driftpeak.plots import time_axis
from driftpeak.plots.time_axis import STEP
from driftpeak.simulation.comparison import Verdict, in_a_row

EQUAL = 1e-9
"""Expectations as close as this, beside their size and deviation, are rounding apart: a tie."""
MOST_NAMED = 4
"""Arms of a tie that are named."""


@dataclass(frozen=True)
class Expected:
    """What is expected of an arm.

    Attributes:
        arm: its name.
        mean: of its value, without noise, in units of the reward.
        deviation: of the value around the mean.
    """

    arm: str
    mean: float
    deviation: float


@dataclass(frozen=True)
class Advice:
    """What to follow at the next step, and whose belief says so.

    Attributes:
        policy: whose belief it is.
        why: this policy, in words.
        when: the next step in words, as a date where the table has some.
        arms: what is expected of every arm, best first: the highest, of costs the lowest mean.
        noise: the deviation of the noise on one reading, as the policy believes; in units of the
            reward, as are means and deviations.
        unit: of the reward, "" if it is not known.
        minimize: whether small values are good.
    """

    policy: str
    why: str
    when: str
    arms: tuple[Expected, ...]
    noise: float
    unit: str
    minimize: bool

    @property
    def equal(self) -> tuple[Expected, ...]:
        """The arms to follow: one, or several of equal expectation."""
        best = self.arms[0]
        scale = max(abs(best.mean), best.deviation)
        near = [one for one in self.arms if abs(one.mean - best.mean) <= EQUAL * scale]
        return tuple(near)

    @property
    def second(self) -> Expected | None:
        """The first arm behind these, if there is one."""
        left = self.arms[len(self.equal) :]
        return left[0] if left else None

    def in_words(self) -> str:
        """`now follow: kitchen (expected 23.4 +- 0.6 degrees C; second: hall, 22.9 +- 0.7)`."""
        best, tied = self.arms[0], self.equal
        unit = f" {self.unit}" if self.unit else ""
        expected = f"{self._number(best)}{unit}"
        if len(tied) == 1:
            text = f"now follow: {best.arm} (expected {expected}"
        elif len(tied) == len(self.arms):
            return f"now follow: any arm (all {len(tied)} are expected to be equal, {expected})"
        else:
            names = [one.arm for one in tied[:MOST_NAMED]]
            if len(tied) > MOST_NAMED:
                names.append(f"{len(tied) - MOST_NAMED} more")
            text = f"now follow: {in_a_row(names)} (expected to be equal, {expected}"
        if self.second is not None:
            text += f"; second: {self.second.arm}, {self._number(self.second)}{unit}"
        return text + ")"

    def as_data(self) -> dict[str, Any]:
        """For JSON: numbers and words."""
        names = [one.arm for one in self.equal]
        return {
            "text": self.in_words(),
            "arm": names[0],
            "equal_arms": names[1:],
            "mean": self.arms[0].mean,
            "deviation": self.arms[0].deviation,
            "noise_deviation": self.noise,
            "unit": self.unit,
            "second": asdict(self.second) if self.second else None,
            "policy": self.policy,
            "why": self.why,
            "when": self.when,
        }

    def _number(self, one: Expected) -> str:
        """Mean and deviation, the mean to the digit that the deviation's second stands at."""
        if not one.deviation > 0:
            return f"{one.mean:.4g} +- {one.deviation:.2g}"
        place = int(np.floor(np.log10(one.deviation)))
        # up to two digits more where it takes them to tell the two best apart
        gap = abs(self.second.mean - self.arms[0].mean) if self.second else 0.0
        finest = int(np.floor(np.log10(gap) + EQUAL)) if gap > 0 else place
        digits = min(max(1 - place, min(-finest, 3 - place), 0), 8)
        return f"{one.mean:.{digits}f} +- {one.deviation:.{digits}f}"


@checked
def chosen_policy(judged: Verdict) -> tuple[str, str]:
    """The policy to go on with, and why: the best, or `auto` where that is undecided.

    Arguments:
        judged: the verdict on the policies that could be gone on with.
    """
    if not judged.others:
        return judged.best, "the only policy"
    if judged.clear:
        return judged.best, "the best policy"
    if "auto" in (judged.best, *judged.alike):
        return "auto", "which policy is best is undecided, and auto is among the best"
    return judged.best, "which policy is best is undecided, and it had the least regret"


@checked
def advise(runs: xr.Dataset, judged: Verdict) -> Advice | None:
    """What to follow at the row after the last, by the belief of the policy to go on with.

    If that policy expects nothing (`random`, `timetable`), by the next best that does; of policies
    that act at random, by the belief of the first trial.

    Arguments:
        runs: as `driftpeak.offline.replay.replay` gives them.
        judged: the verdict on them.

    Returns:
        None if no policy that played expects anything.
    """
    wanted, why = chosen_policy(judged)
    known = {
        str(name): bool(runs["expected_mean"].sel(policy=name).isel(trial=0).notnull().all())
        for name in runs["policy"].values
    }
    order = (wanted, *(name for name in (judged.best, *judged.others) if name != wanted))
    policy = next((name for name in order if known[name]), None)
    if policy is None:
        return None
    if policy != wanted:
        why = f"{wanted} does not say what it expects; {policy} is the next best that does"
    mine = runs.sel(policy=policy).isel(trial=0)
    minimize = bool(runs.attrs.get("minimize", 0))
    means, deviations = mine["expected_mean"].values, mine["expected_deviation"].values
    order_of_arms = np.argsort(means if minimize else -means, kind="stable")
    arms = tuple(
        Expected(str(runs["arm"].values[arm]), float(means[arm]), float(deviations[arm]))
        for arm in order_of_arms
    )
    return Advice(
        policy,
        why,
        next_time(runs),
        arms,
        float(mine["expected_noise"]),
        str(runs.attrs.get("unit", "")),
        minimize,
    )


def next_time(runs: xr.Dataset) -> str:
    """The step after the last in words: its date or number, if those of the table advance evenly.

    Otherwise the number of the step, counted from the first row that was played. Of a table with
    contexts, the next one, if it is known.
    """
    return _next_step(runs) + _next_context(runs)


def _next_context(runs: xr.Dataset) -> str:
    if "context" not in runs.coords:
        return ""
    known = str(runs.attrs.get("next_context", ""))
    return f" ({known})" if known else " (in any context)"


def _next_step(runs: xr.Dataset) -> str:
    step = f"step {runs.sizes['step'] + 1}"
    values, name = time_axis(runs)
    if "label" not in runs.coords or name == STEP or len(values) < 2:
        return step
    if not np.issubdtype(values.dtype, np.datetime64):
        usual = _even_step(np.diff(values))
        return step if usual is None else f"{name} {values[-1] + usual:g}"
    usual = _even_step(np.diff(values).astype(float))
    return step if usual is None else _date_after(values, usual)


def _even_step(steps: Any) -> float | None:
    """The usual step, if nearly all are like it: gaps are few, months differ by a few days."""
    usual = float(np.median(steps))
    if usual <= 0 or (np.abs(steps / usual - 1) < 0.12).mean() < 0.9:
        return None
    return usual


def _date_after(moments: Any, usual: float) -> str:
    """The date `usual` seconds after the last, as short as the table's own."""
    days = moments.astype("datetime64[D]")
    of_month = days - days.astype("datetime64[M]").astype(days.dtype)
    # months are no whole number of days apart
    if (of_month == of_month[0]).all() and 28 * 86_400 <= usual <= 31 * 86_400:
        following = moments[-1].astype("datetime64[M]") + np.timedelta64(1, "M")
        return str(following)
    later = moments[-1] + np.timedelta64(round(usual), "s")
    whole_days = (days == moments).all()
    text = str(later.astype("datetime64[D]") if whole_days else later).replace("T", " ")
    return text.removesuffix(":00") if text.count(":") == 2 else text
