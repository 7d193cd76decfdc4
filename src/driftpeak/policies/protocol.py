"""The protocol of policies: a configuration that a player carries out.

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
    """A rule that decides where to sample next, with its configuration."""

    foresight: ClassVar[Foresight] = "none"
    """As for the player: what a baseline sees of the true function."""
    needs_points: ClassVar[bool] = True
    """Whether the policy chooses among finitely many points."""

    @property
    @abstractmethod
    def points(self) -> int:
        """Number of points that the policy chooses from."""

    @property
    def deterministic(self) -> bool:
        """Whether equal observations always lead to equal queries, whatever the key."""
        return False

    @property
    def learns_from_any(self) -> bool:
        """Whether the policy also learns from queries that it did not choose."""
        return True

    @property
    def chooses_among(self) -> bool:
        """Whether the player accepts a set of feasible points (`Player.ask_among`)."""
        return False

    @property
    def assumed(self) -> Mapping[str, float]:
        """Assumptions by name: `drift`, per unit of time."""
        return {}

    @property
    def rejects_outliers(self) -> bool:
        """Whether rewards far from what it predicts have a bounded effect on its posterior."""
        return False

    def make_engine(self, setup: Any) -> Any:
        """Return the engine of a `driftpeak.Optimizer` whose arguments `setup` holds."""
        return setup.play(self)

    @abstractmethod
    def prepare(self, times: TimesLike | Horizon) -> Player[Any]:
        """Return the player, with all sizes fixed.

        Arguments:
            times: the times of the run (or T, for 1, ..., T); or `Horizon(T)` for T decisions at
                unknown times, with rewards in any order.

        Raises:
            DriftpeakError: the configuration does not fit the run.
        """

    def out_of_bounds(self, actions: np.ndarray, rewards: np.ndarray) -> np.ndarray:
        """Return which rewards contradict the bound given to the policy, as a NumPy array."""
        return np.zeros(np.shape(rewards), bool)

    @property
    def bounds_in_words(self) -> str:
        """The bound that `out_of_bounds` tests, for a warning."""
        return ""


class ActingPolicy(Policy, Player[State]):
    """A policy that is its own player, because it does not depend on the run.

    Subclass it with `points`, `init`, `ask` and `tell`.
    """

    def prepare(self, times: TimesLike | Horizon) -> Player[State]:
        return self
