"""WGP-UCB with the deviation of its estimate's error; with a linear kernel it is D-LinUCB."""

from typing import Any

from driftpeak._core.errors import DriftpeakError
from driftpeak._core.times import Horizon, TimesLike
from driftpeak.inference.beliefs import Belief
from driftpeak.inference.beliefs.estimation_error import EstimationError, squared
from driftpeak.policies.belief_policy import BeliefPolicy
from driftpeak.policies.catalogue import stored


@stored("weighted-error-policy")
class WeightedErrorPolicy(BeliefPolicy):
    r"""A policy that maximises \(\tilde\mu + w\,\tilde\sigma\) (D22 Theorem 2).

    `WGPUCB` with `deviation="error"` returns it. It runs in feature space.

    Raises:
        DriftpeakError: a forgetting rule other than Discount and Weights, an acquisition other than
            "ucb", or form "function-space".
    """

    def __check_init__(self) -> None:
        squared(self.forgetting)
        if self.acquisition != "ucb":
            raise DriftpeakError(
                f'acquisition must be ucb with deviation="error"; got {self.acquisition}'
            )
        if self.form == "function-space":
            raise DriftpeakError(
                'form must be auto or feature-space with deviation="error"; got function-space'
            )

    def _belief(self, times: TimesLike | Horizon) -> Belief[Any]:
        features = self.prior.features_or(self.features)
        return EstimationError(self.prior, self.forgetting, features)
