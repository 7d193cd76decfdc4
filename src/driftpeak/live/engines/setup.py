"""The one protocol of what an `Optimizer` takes as its policy."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeGuard, runtime_checkable

from driftpeak._core.errors import DriftpeakError, UnsupportedError, shown
from driftpeak.live.engines.engine import Engine
from driftpeak.live.space.constraints import Rules
from driftpeak.live.space.encoding import Coding, FiniteCoding
from driftpeak.live.space.parameters import ParameterValues

if TYPE_CHECKING:
    from driftpeak.policies import Policy


@runtime_checkable
class LivePolicy(Protocol):
    """A `DriftingGP`, or a policy of `driftpeak.policies`.

    Attributes:
        needs_points: whether it chooses among finitely many points, those of `Arms` or a `Grid`.
    """

    needs_points: ClassVar[bool]

    def make_engine(self, setup: Any) -> Any:
        """Return the `Engine` of a study, which is described by an `EngineSetup`."""


def is_policy(value: object) -> TypeGuard[LivePolicy]:
    """Return whether an `Optimizer` takes this object as its policy."""
    return not isinstance(value, type) and callable(getattr(value, "make_engine", None))


def direction(maximize: object, minimize: object) -> bool:
    """Return whether large rewards are good, from two arguments of which one is given.

    Raises:
        DriftpeakError: none or both are given, or one that is not True or False.
    """
    given = {"maximize": maximize, "minimize": minimize}
    given = {name: value for name, value in given.items() if value is not None}
    if len(given) != 1:
        got = " and ".join(given) or "neither"
        raise DriftpeakError(f"say either maximize=True or minimize=True; got {got}")
    ((name, value),) = given.items()
    if not isinstance(value, bool):
        raise DriftpeakError(f"{name} must be True or False; got {shown(value)}")
    return value if name == "maximize" else not value


@dataclass(frozen=True)
class EngineSetup:
    """The arguments of a study that its engine depends on.

    Attributes:
        coding: of the space.
        seed: of everything random.
        horizon: the most decisions of a policy that reserves room for them.
        sign: 1 to maximise rewards, -1 to minimise them.
        rules: the constraints.
        start: the first suggestion, if it is given.
        safe: settings that are known to keep all limits.
        moves: whether moving the system is limited, or costs something.
    """

    coding: Coding
    seed: int
    horizon: int
    sign: float
    rules: Rules
    start: ParameterValues | None
    safe: list[ParameterValues]
    moves: bool

    def play(self, policy: "Policy") -> Engine:
        """Return the engine that plays a policy of `driftpeak.policies`.

        Raises:
            UnsupportedError: the study has limits or costs of moving, constraints, or a space that
                is not made of points.
        """
        from driftpeak.live.engines.policy_engine import PolicyEngine  # takes long to import

        name = type(policy).__name__
        if self.moves:
            raise UnsupportedError(
                f"{name} supports neither limits nor costs of moving: take a DriftingGP"
            )
        if self.rules.matter:
            raise UnsupportedError(
                f"{name} supports no constraints: take a DriftingGP, or leave out of the arms what "
                "must not be chosen"
            )
        if not isinstance(self.coding, FiniteCoding):
            raise UnsupportedError(
                f"{name} chooses among finitely many points: give Arms or a Grid for it, or a "
                "DriftingGP for a Box"
            )
        return PolicyEngine(policy, self.coding, seed=self.seed, horizon=self.horizon)
