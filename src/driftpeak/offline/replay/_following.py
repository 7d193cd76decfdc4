"""Whether following a policy would have paid on a recorded table."""

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import xarray as xr

from driftpeak._core.argument_types import checked
from driftpeak._core.files import json_ready
from driftpeak.offline.replay._recommendation import chosen_policy
from driftpeak.simulation._comparison import LEVEL, Verdict
from driftpeak.simulation._regrets import regrets_of
from driftpeak.simulation._samples import half_interval


@dataclass(frozen=True)
class Following:
    """The gain of the recommended policy over the best fixed arm.

    Attributes:
        policy: the recommended policy.
        arm: the arm with the best mean over the same rows, which is known only in hindsight.
        gain: regret of always this arm minus regret of the policy, per step, in units of the
            reward.
        interval: 95 % interval of the gain (Student's t over blocks of steps); NaN if there is only
            one block.
        unit: the unit of the reward; "" if not known.
    """

    policy: str
    arm: str
    gain: float
    interval: tuple[float, float]
    unit: str

    @property
    def paid(self) -> bool:
        """Whether the policy was significantly better than the best fixed arm."""
        return self.interval[0] > 0

    def in_words(self) -> str:
        """Return the result in one sentence."""
        low, high = self.interval
        unit = f" {self.unit}" if self.unit else ""
        always = f"always {self.arm}, the best arm in hindsight"
        if math.isnan(low):
            return f"Too few rows to tell whether following {self.policy} pays."
        amount = f"{abs(self.gain):.3g}{unit} per step"
        if self.paid:
            return (
                f"Following {self.policy} would have paid: {amount} better than {always} "
                f"(95 %: {low:.3g} to {high:.3g})."
            )
        if high < 0:
            return (
                f"Following {self.policy} would not have paid: {amount} worse than {always} "
                f"(95 %: {-high:.3g} to {-low:.3g})."
            )
        return (
            f"Nothing to follow here: {self.policy} was not significantly better than {always} "
            f"(gain {self.gain:.3g}{unit} per step, 95 %: {low:.3g} to {high:.3g})."
        )

    def as_data(self) -> dict[str, Any]:
        """Return the result as data for JSON."""
        return json_ready(asdict(self)) | {"paid": self.paid, "text": self.in_words()}


@checked
def following(runs: xr.Dataset, judged: Verdict) -> Following:
    """Compare the recommended policy with the best fixed arm, in paired differences.

    Arguments:
        runs: the result of `driftpeak.offline.replay.replay`.
        judged: the verdict on them.
    """
    policy, _ = chosen_policy(judged)
    sign = -1.0 if runs.attrs.get("minimize", 0) else 1.0
    values = sign * runs["rewards"].values
    arm = int(values.mean(axis=0).argmax())
    fixed = values.max(axis=1) - values[:, arm]
    own = regrets_of(runs, policy, independent_trials=False).mean(axis=0)
    gain = float((fixed - own).mean())
    half = half_interval((fixed - own)[None], independent_trials=False, level=LEVEL)
    interval = gain - half, gain + half
    unit = str(runs.attrs.get("unit", ""))
    return Following(policy, str(np.asarray(runs["arm"].values)[arm]), gain, interval, unit)
