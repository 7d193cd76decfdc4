"""The recommended arm: a policy's forecasts of the arms for the row after the last."""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import xarray as xr

from driftpeak._core.argument_types import checked
from driftpeak.plots import time_axis
from driftpeak.plots._time_axis import STEP
from driftpeak.simulation._comparison import Verdict, in_a_row

EQUAL = 1e-9
"""Forecasts count as equal within this fraction of their size and standard deviation."""
MOST_NAMED = 4
"""Number of tied arms that are named."""


@dataclass(frozen=True)
class Expected:
    """The forecast of an arm.

    Attributes:
        arm: its name.
        mean: posterior mean of its value without noise, in units of the reward.
        deviation: posterior standard deviation of the value.
    """

    arm: str
    mean: float
    deviation: float


@dataclass(frozen=True)
class Advice:
    """The recommended arm for the next step, and the forecasts behind it.

    Attributes:
        policy: the policy that made the forecasts.
        why: the reason for this policy.
        when: the next step as text, a date if the table has dates.
        arms: the forecasts of all arms, best first: the highest mean, or the lowest for costs.
        noise: the policy's estimate of the standard deviation of the noise, in units of the reward.
        unit: the unit of the reward; "" if not known.
        minimize: whether the values are minimised.
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
        """Return the recommended arms: one, or several with equal forecasts."""
        best = self.arms[0]
        scale = max(abs(best.mean), best.deviation)
        near = [arm for arm in self.arms if abs(arm.mean - best.mean) <= EQUAL * scale]
        return tuple(near)

    @property
    def second(self) -> Expected | None:
        """Return the best of the other arms; None if there is none."""
        left = self.arms[len(self.equal) :]
        return left[0] if left else None

    def in_words(self) -> str:
        """Return the recommendation as text.

        An example is `recommended: kitchen (expected 23.4 +- 0.6 degrees C; second: hall, 22.9 +-
        0.7 degrees C)`.
        """
        best, tied = self.arms[0], self.equal
        unit = f" {self.unit}" if self.unit else ""
        expected = f"{self._number(best)}{unit}"
        if len(tied) == 1:
            text = f"recommended: {best.arm} (expected {expected}"
        elif len(tied) == len(self.arms):
            return f"recommended: any arm (all {len(tied)} forecasts are equal, {expected})"
        else:
            names = [arm.arm for arm in tied[:MOST_NAMED]]
            if len(tied) > MOST_NAMED:
                names.append(f"{len(tied) - MOST_NAMED} more")
            text = f"recommended: {in_a_row(names)} (forecasts are equal, {expected}"
        if self.second is not None:
            text += f"; second: {self.second.arm}, {self._number(self.second)}{unit}"
        return text + ")"

    def as_data(self) -> dict[str, Any]:
        """Return the recommendation as data for JSON."""
        names = [arm.arm for arm in self.equal]
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

    def _number(self, forecast: Expected) -> str:
        """Return mean and standard deviation, to the second digit of the standard deviation."""
        if not forecast.deviation > 0:
            return f"{forecast.mean:.4g} +- {forecast.deviation:.2g}"
        place = int(np.floor(np.log10(forecast.deviation)))
        # up to two more digits if the best two arms would look equal
        gap = abs(self.second.mean - self.arms[0].mean) if self.second else 0.0
        finest = int(np.floor(np.log10(gap) + EQUAL)) if gap > 0 else place
        digits = min(max(1 - place, min(-finest, 3 - place), 0), 8)
        return f"{forecast.mean:.{digits}f} +- {forecast.deviation:.{digits}f}"


@checked
def chosen_policy(judged: Verdict) -> tuple[str, str]:
    """Return the recommended policy, and the reason.

    It is the best policy, or `auto` if `auto` is not significantly worse than it.

    Arguments:
        judged: the verdict on the policies.
    """
    if not judged.others:
        return judged.best, "the only policy"
    if judged.clear:
        return judged.best, "the best policy"
    if "auto" in (judged.best, *judged.alike):
        return "auto", "no policy is significantly best, and auto is among the best"
    return judged.best, "no policy is significantly best, and it had the least regret"


@checked
def advise(runs: xr.Dataset, judged: Verdict) -> Advice | None:
    """Recommend an arm for the row after the last, by the forecasts of the recommended policy.

    If that policy makes no predictions (`random`, `timetable`), the best policy that does is used.
    For randomised policies, the forecasts are those of the first trial.

    Arguments:
        runs: the result of `driftpeak.offline.replay.replay`.
        judged: the verdict on them.

    Returns:
        None if no policy makes predictions.
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
        why = f"{wanted} makes no predictions; {policy} is the next best policy that does"
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
    """Return the step after the last as text.

    It is a date or a number in the table's format if the times have mostly equal steps, or else the
    number of the step from the first row that the policies ran on. The next context is added if it
    is known.
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
    """Return the median step if at least 90 % of the steps are within 12 % of it, else None."""
    usual = float(np.median(steps))
    if usual <= 0 or (np.abs(steps / usual - 1) < 0.12).mean() < 0.9:
        return None
    return usual


def _date_after(moments: Any, usual: float) -> str:
    """Return the date `usual` seconds after the last, in the table's format."""
    days = moments.astype("datetime64[D]")
    of_month = days - days.astype("datetime64[M]").astype(days.dtype)
    # months have different numbers of days
    if (of_month == of_month[0]).all() and 28 * 86_400 <= usual <= 31 * 86_400:
        following = moments[-1].astype("datetime64[M]") + np.timedelta64(1, "M")
        return str(following)
    later = moments[-1] + np.timedelta64(round(usual), "s")
    whole_days = (days == moments).all()
    text = str(later.astype("datetime64[D]") if whole_days else later).replace("T", " ")
    return text.removesuffix(":00") if text.count(":") == 2 else text
