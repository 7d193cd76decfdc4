"""A prior with the empirical mean and covariance of recorded rewards."""

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from driftpeak._core.argument_types import checked
from driftpeak._core.errors import DriftpeakError, finite_array, positive
from driftpeak.gp import kernels
from driftpeak.gp.domains import Arms
from driftpeak.gp.priors import Prior

Mean = Literal["per-arm", "common", "zero"]
MEANS = ("per-arm", "common", "zero")
NOISE_SHARE = 0.05


@checked
def prior_from_history(
    history: Any,
    names: Sequence[str],
    *,
    noise_variance: float | None = None,
    mean: Mean = "per-arm",
) -> Prior:
    """Return a prior with the empirical covariance and mean of recorded rewards.

    Arguments:
        history: rewards, shape `(steps, arms)`, at least two steps.
        names: the names of the arms.
        noise_variance: by default 5 % of the arms' average variance, B16's choice for its sensors.
        mean: "per-arm" averages, one "common" average, or "zero".

    Raises:
        DriftpeakError: there are fewer than two steps, the mean is unknown, the noise variance is
            not positive, or the history is constant and no noise variance is given.
    """
    rewards = finite_array("history", history, 2)
    if len(rewards) < 2:
        raise DriftpeakError(f"history must have at least 2 training rows; got {len(rewards)}")
    covariance = np.atleast_2d(np.cov(rewards, rowvar=False))
    if noise_variance is None:
        noise_variance = NOISE_SHARE * float(covariance.diagonal().mean())
        if noise_variance == 0:
            raise DriftpeakError(
                "noise_variance is required if the training rows are constant, because its default "
                "is a fraction of their variance"
            )
    means = {
        "per-arm": rewards.mean(axis=0),
        "common": np.full(rewards.shape[1], rewards.mean()),
        "zero": np.zeros(rewards.shape[1]),
    }
    if mean not in means:
        raise DriftpeakError(f"mean must be one of {', '.join(MEANS)}; got {mean!r}")
    arms = Arms(rewards.shape[1], names)
    return Prior(
        arms, kernels.Table(covariance), positive("noise_variance", noise_variance), means[mean]
    )
