"""The protocol of an `Optimizer`'s policy, and the arguments of its engine."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeGuard, runtime_checkable

from driftpeak._core.errors import DriftpeakError, UnsupportedError
from driftpeak.live._engines.engine import Engine
from driftpeak.live._space.encoding import Coding, FiniteCoding
from driftpeak.live._space.parameters import ParameterValues
from driftpeak.live._space.rules import Rules
from driftpeak.live._space.schedule import Schedule

if TYPE_CHECKING:
    from driftpeak.policies import Policy


@runtime_checkable
class LivePolicy(Protocol):
    """A policy of an `Optimizer`: a `DriftingGP` or a policy of `driftpeak.policies`.

    Attributes:
        needs_points: whether it needs finitely many points, as in `Arms` or a `Grid`.
    """

    needs_points: ClassVar[bool]

    def make_engine(self, setup: Any) -> Any:
        """Return the `Engine` of the study that an `EngineSetup` describes."""


def is_policy(value: object) -> TypeGuard[LivePolicy]:
    """Return whether an object can be the policy of an `Optimizer`."""
    return not isinstance(value, type) and callable(getattr(value, "make_engine", None))


def direction(maximize: bool | None, minimize: bool | None) -> bool:
    """Return whether rewards are maximised, from two arguments of which one is given.

    Raises:
        DriftpeakError: none or both are given.
    """
    given = {"maximize": maximize, "minimize": minimize}
    given = {name: value for name, value in given.items() if value is not None}
    if len(given) != 1:
        got = " and ".join(given) or "neither"
        raise DriftpeakError(f"exactly one of maximize and minimize must be given; got {got}")
    ((name, value),) = given.items()
    return bool(value) == (name == "maximize")


@dataclass(frozen=True)
class EngineSetup:
    """The arguments of a study that its engine depends on.

    Attributes:
        coding: coding of the space.
        seed: seed of all random numbers.
        horizon: maximum of decisions, for policies that allocate memory for them.
        sign: 1 to maximise rewards, -1 to minimise them.
        rules: the constraints.
        start: the first suggestion, if it is given.
        safe: settings that are known to meet all limits.
        moves: whether there are movement limits or costs.
        schedule: the schedule that the study starts from; None without one.
    """

    coding: Coding
    seed: int
    horizon: int
    sign: float
    rules: Rules
    start: ParameterValues | None
    safe: list[ParameterValues]
    moves: bool
    schedule: Schedule | None = None

    @property
    def cautious(self) -> bool:
        """Whether all suggestions must meet the limits, as with a safe start or a schedule."""
        return bool(self.safe) or self.schedule is not None

    def play(self, policy: "Policy") -> Engine:
        """Return the engine that runs a policy of `driftpeak.policies`.

        Raises:
            UnsupportedError: the study has movement limits or costs, a schedule, constraints, or
                a space without finitely many points.
        """
        from driftpeak.live._engines.policy_engine import PolicyEngine  # slow to import

        name = type(policy).__name__
        if self.moves:
            raise UnsupportedError(
                f"{name} supports no movement limits or costs. Use a DriftingGP, or leave them out"
            )
        if self.schedule is not None:
            raise UnsupportedError(
                f"{name} supports no schedule. Use a DriftingGP, or leave schedule out"
            )
        if self.rules.matter:
            raise UnsupportedError(
                f"{name} supports no constraints. Use a DriftingGP, or remove the arms that must "
                "not be chosen"
            )
        if not isinstance(self.coding, FiniteCoding):
            raise UnsupportedError(
                f"{name} needs finitely many points. Use Arms or a Grid, or a DriftingGP for a Box"
            )
        return PolicyEngine(policy, self.coding, seed=self.seed, horizon=self.horizon)
