r"""Forgetting rules: how much is an old observation worth?

Every policy of the GP-UCB family is ordinary GP regression in which an observation of age a

- has its noise variance inflated to \(\lambda h(a)\): `Keep`, `Restart`, `Window`, `Discount`,
  `Weights`, `Injection`; or
- has its correlation with the present reduced: `Drift`.

A rule answers four questions and knows nothing of how beliefs are computed. It is a pytree whose
numbers are leaves, so a belief can be vmapped over a grid of them. Times are real numbers
in any unit; they need not be regular, and must not decrease.

Ages. D22 and M25 count the age from the *newest observation*, which has age 0
(`reference="newest"`, the default). With irregular times, where a long silence should count too,
take `reference="now"`: the age is then counted from the moment of the decision. Restart and Drift
always count to now.
"""

from collections.abc import Callable
from typing import Any, ClassVar, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from driftpeak._core.argument_types import checked
from driftpeak._core.arguments import Recorded
from driftpeak._core.errors import (
    DriftpeakError,
    at_least,
    at_least_integer,
    finite,
    finite_array,
    positive,
    unit_interval,
)
from driftpeak._core.times import Times
from driftpeak._core.types import Scalar

Reference = Literal["newest", "now"]
Reweighting = Literal["never", "scaling", "general"]


class Forgetting(eqx.Module):
    """What a belief asks of a forgetting rule. The defaults are those of a rule that keeps all."""

    reweighting: ClassVar[Reweighting] = "never"
    """How `weight` changes with age: "never", "scaling" (all by one factor), or "general"."""

    markov: ClassVar[bool] = True
    """Whether `correlation` is a power of the elapsed time: the present then says all of the past
    that matters to the future, and a belief need not keep its observations."""

    @property
    def window(self) -> Scalar | None:
        """How many of the newest observations count, whatever their age; None: age decides."""
        return None

    def memory(self, times: Times) -> int:
        """The most observations worth anything at once, if they are made at `times`."""
        return len(times)

    def same_epoch(self, last: Scalar, now: Scalar) -> Bool[Array, "..."]:
        """Whether anything learned at time `last` is still believed at `now`."""
        return jnp.broadcast_to(True, jnp.broadcast_shapes(jnp.shape(last), jnp.shape(now)))

    def correlation(self, elapsed: Scalar) -> Float[Array, "..."]:
        """Prior correlation of the function's values at two times `elapsed` >= 0 apart."""
        return jnp.ones_like(elapsed)

    def weight(self, stamp: Scalar, present: Scalar) -> Float[Array, "..."]:
        """The worth 1/h in [0, 1] of an observation stamped `stamp`, seen from `present`."""
        return jnp.ones_like(stamp)

    def remaining(self, time: Scalar, elapsed: Scalar, steps: Scalar) -> Float[Array, "..."]:
        """The worth of an observation made at `time`, `elapsed` and so many `steps` later."""
        later = time + elapsed
        return self.weight(time, later) * self.same_epoch(time, later)

    def stamp(self, time: Scalar, index: Scalar) -> Float[Array, ""]:
        """What `weight` must know of the `index`-th observation (from 0), made at `time`."""
        return jnp.asarray(time, dtype=float)

    def present(self, newest: Scalar, time: Scalar) -> Float[Array, ""]:
        """The stamp to count from at decision time `time`; `newest` is the last observation's."""
        return jnp.asarray(newest, dtype=float)


class Keep(Forgetting):
    """Forget nothing: h = 1 (GP-UCB, IGP-UCB)."""


class Restart(Forgetting):
    """Forget everything every `period` units of time: h = 1 in the current block, else infinity.

    Blocks begin at `start`, `start + period`, ...: with steps counted from 1 the default is
    R-GP-UCB's reset at t mod N = 1 (B16 Alg. 1; ZS21 Alg. 1).

    Raises:
        DriftpeakError: period below 1, or a start that is not finite.
    """

    period: Scalar
    start: Scalar

    @checked
    def __init__(self, period: Scalar, start: Scalar = 1.0) -> None:
        self.period = _parameter(at_least, "period", period, minimum=1)
        self.start = _parameter(finite, "start", start)

    def block(self, time: Scalar) -> Float[Array, "..."]:
        """The number of the block that `time` falls into."""
        return jnp.floor((time - self.start) / self.period)

    def memory(self, times: Times) -> int:
        blocks = np.floor((np.asarray(times) - self.start) / self.period)
        return int(np.unique(blocks, return_counts=True)[1].max(initial=1))

    def same_epoch(self, last: Scalar, now: Scalar) -> Bool[Array, "..."]:
        return self.block(last) == self.block(now)

    def weight(self, stamp: Scalar, present: Scalar) -> Float[Array, "..."]:
        return jnp.asarray(self.same_epoch(stamp, present), dtype=float)

    def present(self, newest: Scalar, time: Scalar) -> Float[Array, ""]:
        return jnp.asarray(time, dtype=float)


class Window(Forgetting):
    """Remember the `length` newest observations: h = 1 for them, else infinity (ZS21 Alg. 2).

    Raises:
        DriftpeakError: length not an integer, or below 1.
    """

    length: Scalar

    @checked
    def __init__(self, length: int) -> None:
        self.length = np.int64(at_least_integer("window", length, 1))

    @property
    def window(self) -> Scalar:
        return self.length

    def memory(self, times: Times) -> int:
        return min(int(self.length), len(times))

    def remaining(self, time: Scalar, elapsed: Scalar, steps: Scalar) -> Float[Array, "..."]:
        return jnp.asarray(steps < self.length, dtype=float)


def markov_correlation(drift: Scalar, elapsed: Scalar) -> Any:
    r"""Of two times under B16's drift: \((1-\epsilon)^{|t-s|/2}\) (B16 section 2). NumPy or JAX."""
    return (1 - drift) ** (elapsed / 2)


class Drift(Forgetting):
    r"""B16's Markov drift: \(f_{t+1} = \sqrt{1-\epsilon} f_t + \sqrt\epsilon\, g_{t+1}\).

    The prior covariance becomes \(k(x, x') (1-\epsilon)^{|t-s|/2}\) (B16 section 2); the noise
    stays.

    Raises:
        DriftpeakError: drift outside [0, 1].
    """

    drift: Scalar

    @checked
    def __init__(self, drift: Scalar) -> None:
        self.drift = _parameter(unit_interval, "drift", drift)

    def correlation(self, elapsed: Scalar) -> Float[Array, "..."]:
        return jnp.asarray(markov_correlation(self.drift, elapsed), dtype=float)


class SpaceTime(Recorded, Forgetting):
    r"""A function that is smooth in time too: \(k(x, x')\,e^{-(t-s)^2/(2 \ell^2)}\) (Nyikosa et al.
    2018, section 3).

    No observation is dropped because of its age: at low noise even those many lengthscales back
    change the mean.

    Arguments:
        lengthscale: in units of time.
        memory: the number of newest observations that are kept; `MOST` by default.

    Raises:
        DriftpeakError: a lengthscale that is not positive, memory below 1.
    """

    MOST: ClassVar[int] = 500
    """Observations kept by default: cost grows with their square, or cube once some are dropped."""
    markov: ClassVar[bool] = False
    lengthscale: Scalar
    most: int | None = eqx.field(static=True)

    @checked
    def __init__(self, lengthscale: Scalar, memory: int | None = None) -> None:
        self.lengthscale = _parameter(positive, "lengthscale", lengthscale)
        self.most = None if memory is None else at_least_integer("memory", memory, 1)

    def memory(self, times: Times) -> int:
        return min(len(times), self.MOST if self.most is None else self.most)

    def correlation(self, elapsed: Scalar) -> Float[Array, "..."]:
        return jnp.asarray(jnp.exp(-0.5 * (elapsed / self.lengthscale) ** 2), dtype=float)


class Discount(Forgetting):
    r"""Exponential discount: \(h(a) = \gamma^{-a}\), weights \(w_t = \gamma^{-t}\) (D22 section 5).

    Raises:
        DriftpeakError: discount outside (0, 1].
    """

    reweighting: ClassVar[Reweighting] = "scaling"
    discount: Scalar
    reference: Reference = eqx.field(static=True)

    @checked
    def __init__(self, discount: Scalar, reference: Reference = "newest") -> None:
        self.discount = _parameter(unit_interval, "discount", discount, low_open=True)
        self.reference = reference

    def memory(self, times: Times) -> int:
        if self.discount == 1:
            return len(times)
        # what weighs under 1e-16 of the newest moves the posterior by some 1e-16 / noise variance
        longest = np.log(1e-16) / np.log(self.discount)
        ordered = np.asarray(times, dtype=np.float64)
        oldest = np.searchsorted(ordered, ordered - longest)
        return int((np.arange(len(ordered)) - oldest + 1).max(initial=1))

    def weight(self, stamp: Scalar, present: Scalar) -> Float[Array, "..."]:
        return jnp.asarray(self.discount ** (present - stamp), dtype=float)

    def present(self, newest: Scalar, time: Scalar) -> Float[Array, ""]:
        return jnp.asarray(newest if self.reference == "newest" else time, dtype=float)


class Weights(Recorded, Forgetting):
    r"""Any non-decreasing positive weights: \(h = w_t / w_s\) (D22 section 3).

    Weights belong to observations by their number, not their time. Only their logarithms are kept:
    weights such as \(\gamma^{-t}\) overflow.

    Arguments:
        weights: one per observation to come.
        log_weights: their logarithms, where the weights themselves would overflow.

    Raises:
        DriftpeakError: not exactly one of the two given, weights that are not positive, or that
            decrease; when prepared for more observations than there are weights.
    """

    reweighting: ClassVar[Reweighting] = "scaling"
    log_weights: Any

    @checked
    def __init__(self, weights: Any = None, *, log_weights: Any = None) -> None:
        if (weights is None) == (log_weights is None):
            raise DriftpeakError("give either weights or log_weights")
        if log_weights is None:
            given = finite_array("weights", weights, 1)
            if not (given > 0).all():
                raise DriftpeakError(f"weights must be positive; got {given.min():g}")
            log_weights = np.log(given)
        logarithms = finite_array("log_weights", log_weights, 1)
        if len(logarithms) == 0 or (np.diff(logarithms) < 0).any():
            raise DriftpeakError("weights must not decrease: the newest observation counts most")
        self.log_weights = logarithms

    def memory(self, times: Times) -> int:
        if len(times) > len(self.log_weights):
            raise DriftpeakError(
                f"{len(times)} observations need as many weights; got {len(self.log_weights)}"
            )
        return len(times)

    def stamp(self, time: Scalar, index: Scalar) -> Float[Array, ""]:
        return jnp.asarray(self.log_weights)[index]

    def weight(self, stamp: Scalar, present: Scalar) -> Float[Array, "..."]:
        return jnp.exp(stamp - present)

    def remaining(self, time: Scalar, elapsed: Scalar, steps: Scalar) -> Float[Array, "..."]:
        """By the mean growth of the weights: which of them it has is not known here."""
        growth = (self.log_weights[-1] - self.log_weights[0]) / max(len(self.log_weights) - 1, 1)
        return jnp.exp(-steps * growth)


class Injection(Forgetting):
    r"""Uncertainty injection: \(h(a) = 1 + c\,a^\alpha\) (M25 (8)).

    `slope` c = 1 is M25; `exponent` alpha = 1 with another slope is Brunzema et al. 2022. M25's
    \(0^0 = 1\) makes h = 2 throughout at alpha = 0.

    Raises:
        DriftpeakError: exponent or slope negative.
    """

    reweighting: ClassVar[Reweighting] = "general"
    exponent: Scalar
    slope: Scalar
    reference: Reference = eqx.field(static=True)

    @checked
    def __init__(
        self, exponent: Scalar, slope: Scalar = 1.0, reference: Reference = "newest"
    ) -> None:
        self.exponent = _parameter(at_least, "exponent", exponent, minimum=0)
        self.slope = _parameter(at_least, "slope", slope, minimum=0)
        self.reference = reference

    def weight(self, stamp: Scalar, present: Scalar) -> Float[Array, "..."]:
        age = jnp.maximum(present - stamp, 0.0)
        return jnp.asarray(1 / (1 + self.slope * age**self.exponent), dtype=float)

    def present(self, newest: Scalar, time: Scalar) -> Float[Array, ""]:
        return jnp.asarray(newest if self.reference == "newest" else time, dtype=float)


def _parameter(check: Callable[..., float], name: str, value: Scalar, **limits: Any) -> Scalar:
    """A checked number; what JAX is tracing (a bank, a gradient) has no value to check."""
    if isinstance(value, jax.core.Tracer):
        return value
    return np.float64(
        check(name, float(value) if isinstance(value, jax.Array) else value, **limits)
    )
