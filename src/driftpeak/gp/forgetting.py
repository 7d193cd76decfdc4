r"""Forgetting rules: the weight of an observation as a function of its age.

Every policy of the GP-UCB family is ordinary GP regression in which an observation of age a

- has its noise variance inflated to \(\lambda h(a)\): `Keep`, `Restart`, `Window`, `Discount`,
  `Weights`, `Injection`; or
- has its correlation with the present reduced: `Drift`.

A rule defines weights and correlations and does not depend on how posteriors are computed. It is a
pytree whose numbers are leaves, so a posterior can be vmapped over a grid of rules. Times are real
numbers in any unit; they need not be regular, and must not decrease.

Ages. D22 and M25 count the age from the *newest observation*, which has age 0
(`reference="newest"`, the default). With irregular times, where a long gap should count too, use
`reference="now"`: the age is then counted from the time of the decision. Restart and Drift always
count from the time of the decision.
"""

from collections.abc import Callable
from typing import Any, ClassVar, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from driftpeak._core.argument_types import checked
from driftpeak._core.arguments import RecordsArguments
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
    """Base class of forgetting rules. The defaults keep every observation at full weight."""

    reweighting: ClassVar[Reweighting] = "never"
    """How `weight` changes with age: "never", "scaling" (all by one factor), or "general"."""

    markov: ClassVar[bool] = True
    """Whether `correlation` is a power of the elapsed time. The present state then contains all
    information about the future, and past observations need not be kept."""

    @property
    def window(self) -> Scalar | None:
        """Number of newest observations that count, whatever their age; None if age decides."""
        return None

    def memory(self, times: Times) -> int:
        """Return the largest number of observations with weight at once, if made at `times`."""
        return len(times)

    def same_epoch(self, last: Scalar, now: Scalar) -> Bool[Array, "..."]:
        """Return whether an observation made at time `last` still counts at `now`."""
        return jnp.broadcast_to(True, jnp.broadcast_shapes(jnp.shape(last), jnp.shape(now)))

    def correlation(self, elapsed: Scalar) -> Float[Array, "..."]:
        """Return the prior correlation of the function's values at times `elapsed` >= 0 apart."""
        return jnp.ones_like(elapsed)

    def weight(self, stamp: Scalar, present: Scalar) -> Float[Array, "..."]:
        """Return the weight 1/h in [0, 1], at `present`, of an observation stamped `stamp`."""
        return jnp.ones_like(stamp)

    def remaining(self, time: Scalar, elapsed: Scalar, steps: Scalar) -> Float[Array, "..."]:
        """Return the weight of an observation of `time`, after `elapsed` time and `steps` steps."""
        later = time + elapsed
        return self.weight(time, later) * self.same_epoch(time, later)

    def stamp(self, time: Scalar, index: Scalar) -> Float[Array, ""]:
        """Return the argument of `weight` for the `index`-th observation (from 0), at `time`."""
        return jnp.asarray(time, dtype=float)

    def present(self, newest: Scalar, time: Scalar) -> Float[Array, ""]:
        """Return the stamp that ages count from at decision time `time`.

        `newest` is the stamp of the last observation.
        """
        return jnp.asarray(newest, dtype=float)


class Keep(Forgetting):
    """A rule that forgets nothing: h = 1 (GP-UCB, IGP-UCB)."""


class Restart(Forgetting):
    """A rule that forgets all observations every `period` units of time.

    h = 1 in the current block, infinity before. Blocks begin at `start`, `start + period`, ...:
    with steps counted from 1 the default is R-GP-UCB's reset at t mod N = 1 (B16 Alg. 1; ZS21
    Alg. 1).

    Raises:
        DriftpeakError: period below 1, or a start that is not finite.

    Source: B16 Algorithm 1; ZS21 Algorithm 1.
    """

    period: Scalar
    start: Scalar

    @checked
    def __init__(self, period: Scalar, start: Scalar = 1.0) -> None:
        self.period = _parameter(at_least, "period", period, minimum=1)
        self.start = _parameter(finite, "start", start)

    def block(self, time: Scalar) -> Float[Array, "..."]:
        """Return the number of the block that contains `time`."""
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
    """A rule that keeps the `length` newest observations: h = 1, else infinity.

    Raises:
        DriftpeakError: length not an integer, or below 1.

    Source: ZS21 Algorithm 2.
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
    r"""Return the correlation at two times under B16's drift, \((1-\epsilon)^{|t-s|/2}\).

    The arguments may be NumPy or JAX arrays.

    Source: B16 (22).
    """
    return (1 - drift) ** (elapsed / 2)


class Drift(Forgetting):
    r"""B16's Markov drift: \(f_{t+1} = \sqrt{1-\epsilon} f_t + \sqrt\epsilon\, g_{t+1}\).

    The prior covariance becomes \(k(x, x') (1-\epsilon)^{|t-s|/2}\); the noise variance does
    not change.

    Raises:
        DriftpeakError: drift outside [0, 1].

    Source: B16 (3)-(4), (7)-(8).
    """

    drift: Scalar

    @checked
    def __init__(self, drift: Scalar) -> None:
        self.drift = _parameter(unit_interval, "drift", drift)

    def correlation(self, elapsed: Scalar) -> Float[Array, "..."]:
        return jnp.asarray(markov_correlation(self.drift, elapsed), dtype=float)


class SpaceTime(RecordsArguments, Forgetting):
    r"""A function that is smooth in time too: covariance \(k(x, x')\,e^{-(t-s)^2/(2 \ell^2)}\).

    Source: Nyikosa et al. 2018, section 3. No observation is dropped because of its age: at low
    noise, even observations many lengthscales old change the mean.

    Arguments:
        lengthscale: l in units of time.
        memory: number of newest observations that are kept; `MOST` by default.

    Raises:
        DriftpeakError: a lengthscale that is not positive, or memory below 1.
    """

    MOST: ClassVar[int] = 500
    """Observations kept by default: the cost grows with their square, or their cube once some are
    dropped."""
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
    r"""An exponential discount: \(h(a) = \gamma^{-a}\), \(w_t = \gamma^{-t}\).

    Raises:
        DriftpeakError: discount outside (0, 1].

    Source: D22 section 5.
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
        # a weight under 1e-16 of the newest moves the posterior by about 1e-16 / noise variance
        longest = np.log(1e-16) / np.log(self.discount)
        ordered = np.asarray(times, dtype=np.float64)
        oldest = np.searchsorted(ordered, ordered - longest)
        return int((np.arange(len(ordered)) - oldest + 1).max(initial=1))

    def weight(self, stamp: Scalar, present: Scalar) -> Float[Array, "..."]:
        return jnp.asarray(self.discount ** (present - stamp), dtype=float)

    def present(self, newest: Scalar, time: Scalar) -> Float[Array, ""]:
        return jnp.asarray(newest if self.reference == "newest" else time, dtype=float)


class Weights(RecordsArguments, Forgetting):
    r"""Any non-decreasing positive weights: \(h = w_t / w_s\).

    Weights belong to observations by number, not by time. Only their logarithms are kept, because
    weights such as \(\gamma^{-t}\) overflow.

    Arguments:
        weights: one for each future observation.
        log_weights: their logarithms, where the weights themselves would overflow.

    Raises:
        DriftpeakError: both or neither given; weights that are not positive or that decrease; or
            fewer weights than observations.

    Source: D22 (2)-(3).
    """

    reweighting: ClassVar[Reweighting] = "scaling"
    log_weights: Any

    @checked
    def __init__(self, weights: Any = None, *, log_weights: Any = None) -> None:
        if (weights is None) == (log_weights is None):
            raise DriftpeakError("exactly one of weights and log_weights must be given")
        if log_weights is None:
            given = finite_array("weights", weights, 1)
            if not (given > 0).all():
                raise DriftpeakError(f"weights must be positive; the smallest is {given.min():g}")
            log_weights = np.log(given)
        logarithms = finite_array("log_weights", log_weights, 1)
        if len(logarithms) == 0 or (np.diff(logarithms) < 0).any():
            raise DriftpeakError("weights must not decrease: the newest observation counts most")
        self.log_weights = logarithms

    def memory(self, times: Times) -> int:
        if len(times) > len(self.log_weights):
            raise DriftpeakError(
                f"weights must be at least {len(times)}, one for each observation; got "
                f"{len(self.log_weights)}"
            )
        return len(times)

    def stamp(self, time: Scalar, index: Scalar) -> Float[Array, ""]:
        return jnp.asarray(self.log_weights)[index]

    def weight(self, stamp: Scalar, present: Scalar) -> Float[Array, "..."]:
        return jnp.exp(stamp - present)

    def remaining(self, time: Scalar, elapsed: Scalar, steps: Scalar) -> Float[Array, "..."]:
        """Return the weight by the mean growth of the weights: the index is not known here."""
        growth = (self.log_weights[-1] - self.log_weights[0]) / max(len(self.log_weights) - 1, 1)
        return jnp.exp(-steps * growth)


class Injection(Forgetting):
    r"""Uncertainty injection: \(h(a) = 1 + c\,a^\alpha\).

    `slope` c = 1 is M25; `exponent` alpha = 1 with another slope is Brunzema et al. 2022. Because
    M25 uses \(0^0 = 1\), h is 2 at every age if alpha = 0.

    Raises:
        DriftpeakError: exponent or slope negative.

    Source: M25 (8).
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
    """Check a number unless JAX is tracing it: a tracer has no value to check."""
    if isinstance(value, jax.core.Tracer):
        return value
    return np.float64(
        check(name, float(value) if isinstance(value, jax.Array) else value, **limits)
    )
