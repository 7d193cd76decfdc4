"""What a policy is: what a user configures and names, and how it becomes a player that acts.

player = policy.prepare(times)              # on the host, once per run
state = player.init(key)
state, query = player.ask(state, time)      # see `driftpeak.policies.player`
"""

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

import equinox as eqx
import numpy as np

from driftpeak._core.times import Horizon, TimesLike
from driftpeak.policies.player import Foresight, Player, State


class Policy(eqx.Module):
    """A rule that decides where to sample next, as it is configured."""

    foresight: ClassVar[Foresight] = "none"
    """As of its player: what a yardstick is shown of the true function."""
    needs_points: ClassVar[bool] = True
    """Whether it chooses among finitely many points."""

    @property
    @abstractmethod
    def points(self) -> int:
        """How many points the policy chooses from."""

    @property
    def deterministic(self) -> bool:
        """Whether equal observations always lead to equal queries, whatever the key."""
        return False

    @property
    def learns_from_any(self) -> bool:
        """Whether it also learns from queries that somebody else chose."""
        return True

    @property
    def chooses_among(self) -> bool:
        """Whether its player can be told which points may be chosen (`Player.ask_among`)."""
        return False

    @property
    def assumed(self) -> Mapping[str, float]:
        """What it takes for granted, by name: `drift`, per unit of time."""
        return {}

    @property
    def rejects_outliers(self) -> bool:
        """Whether rewards far from what it predicts have a bounded effect on its posterior."""
        return False

    def make_engine(self, setup: Any) -> Any:
        """Return what plays it behind a `driftpeak.Optimizer`, whose arguments `setup` holds."""
        return setup.play(self)

    @abstractmethod
    def prepare(self, times: TimesLike | Horizon) -> Player[Any]:
        """What acts, with all sizes fixed: for a run at `times` (or at 1, ..., T), or for
        `Horizon(T)` decisions, at times that nobody knows yet and rewards in any order.

        Raises:
            DriftpeakError: the configuration does not fit the run.
        """

    def out_of_bounds(self, actions: np.ndarray, rewards: np.ndarray) -> np.ndarray:
        """Which of the rewards contradict the bound that the policy was given. NumPy arrays."""
        return np.zeros(np.shape(rewards), bool)

    @property
    def bounds_in_words(self) -> str:
        """The bound that `out_of_bounds` tests, for a warning."""
        return ""


class ActingPolicy(Policy, Player[State]):
    """A policy that acts itself, because nothing of it depends on the run: `prepare` gives itself.

    The shortest way to a policy of one's own: `points`, `init`, `ask` and `tell`.
    """

    def prepare(self, times: TimesLike | Horizon) -> Player[State]:
        return self
