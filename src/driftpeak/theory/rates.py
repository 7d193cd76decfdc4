r"""Growth rates of the regret: the papers' tables of exponents, as data.

A rate is \(R_T \sim \max_i T^{a_i} m^{b_i} \log^{l_i} T\) without constants, where m is the measure
of the change: the variation \(V_T\) in the supremum norm or \(P_T\) in the RKHS norm, B16's
drift \(\epsilon\), or M25's exponent \(\alpha\), which is part of the \(a_i\). Exponents are ratios
of linear forms in \(\nu\), d, D = d(d+1) and \(\alpha\), so one row serves Matern and, in the limit
of infinite \(\nu\), SE.

The rows of IT25's Tables 1 and 2 insert \(\gamma_T = T^{d/(2\nu+d)}\) (Vakili et al. 2021) into the
theorems of ZS21, D22 and H23 (H23's own Table 1 has \(\gamma_T\) instead). For a linear kernel the
same theorems have \(\gamma_T = d \log T\) (ZS21 remark 4, D22 remarks 1 and 4): the exponents are
those of SE, and the power of d is part of the rate.

The logarithms are those of \(\gamma_T\) (\(\log^{d+1} T\) for SE, \(\log^{2\nu/(2\nu+d)} T\) for
Matern) and of the theorem. B16 and ZS21 hide further logarithms, so a rate is the smallest that its
paper can mean. If k(x, x) <= 1, \(V_T \le P_T\): the RKHS norm bounds the supremum norm, never the
reverse.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from driftpeak._core.argument_types import checked
from driftpeak.theory.bound import Bound, Condition, conclude, power
from driftpeak.theory.setting import SYMBOLS, Measure, Setting

LinearForm = Mapping[str, float]
WITH_SIDE_QUERIES = "any with side queries"
"""The `policy` of lower bounds for policies that make side queries."""

ANSWERS_ALONE = (
    "the proof needs a posterior with the outputs at all points; the policy has the answers alone"
)
"""Caveat of M25 Theorems 3.3 and 3.10."""
PROVED_WIDTH = 'proved for the width with constant="proved", C = sqrt(8)'
"""Caveat of R-PERP's rates: the width (8) has a constant C that IT25 does not give."""


@dataclass(frozen=True)
class Exponent:
    """A ratio of two linear forms in named quantities; the key "1" is a constant."""

    numerator: LinearForm
    denominator: LinearForm = field(default_factory=lambda: {"1": 1})

    def at(self, setting: Setting) -> float:
        """Return the value in `setting`; for SE the limit of infinite nu."""
        if math.isinf(setting.nu) and "nu" in self.denominator:
            return self.numerator.get("nu", 0) / self.denominator["nu"]
        quantities = {**setting.quantities(), "1": 1.0}
        above, below = (
            sum(factor * quantities[name] for name, factor in form.items())
            for form in (self.numerator, self.denominator)
        )
        return above / below

    def __str__(self) -> str:
        above, below = _written(self.numerator), _written(self.denominator)
        return above if below == "1" else f"({above})/({below})"


Requirement = Callable[[Setting], Condition]
Logarithms = Callable[[Setting], float]


@dataclass(frozen=True)
class Rate:
    """A row of a paper's table of rates.

    Attributes:
        policy: name on the command line; for a lower bound "any" (policies without side queries)
            or `WITH_SIDE_QUERIES`.
        terms: exponents of T and of the measure; the rate is the largest term.
        measure: measure of the change.
        known: whether the policy must know the measure in advance.
        source: paper and theorem.
        kernel: "SE", "Matern" or "linear" if it is proved for that kernel alone, else "".
        requires: the conditions, as functions of the setting. Constants that a paper does not give
            are taken as 1 in them.
        lower: whether this is a lower bound for all policies, not an upper bound for one.
        logarithms: the power of log T in every term; empty if the paper hides them.
        caveat: what the proof needs besides the conditions of the theorem, see the page "Where the
            papers need care"; else "".
    """

    policy: str
    terms: tuple[tuple[Exponent, Exponent], ...]
    measure: Measure
    known: bool
    source: str
    kernel: Literal["SE", "Matern", "linear", ""] = ""
    requires: tuple[Requirement, ...] = ()
    lower: bool = False
    logarithms: tuple[Logarithms, ...] = ()
    caveat: str = ""

    def order(self, setting: Setting) -> Bound:
        """Return the rate as a number without logarithms, or the conditions that fail.

        Raises:
            DriftpeakError: the measure of change is not known.
        """
        self._change(setting)
        conditions = [requirement(setting) for requirement in self.requires]
        if self.kernel:
            kind = setting.family
            conditions.insert(0, Condition(f"kernel {self.kernel}", kind == self.kernel, kind))
        return conclude(self.source, conditions, lambda: max(self._sizes(setting)))

    def with_logarithms(self, setting: Setting) -> float:
        """Return the rate as a number with its powers of log T; conditions are not checked."""
        log, powers = math.log(setting.horizon), self._powers(setting)
        sizes = self._sizes(setting)
        return max(size * log**p if size else 0.0 for size, p in zip(sizes, powers, strict=True))

    def growth(self, setting: Setting) -> float:
        """Return the exponent of T at constant change."""
        return max(a.at(setting) for a, _ in self.terms)

    def limit(self, setting: Setting) -> float:
        """Return the change above which the rate, with logarithms, reaches T; 0 if never below T.

        Terms that decrease with the change are ignored: they bound it from below.
        """
        ends, log_log = [math.inf], math.log(math.log(setting.horizon))
        terms = zip(self.terms, self._powers(setting), self._dimensions(setting), strict=True)
        for (a, b), logarithms, dimensions in terms:
            # d^s T^a m^b log^l T = T, in logarithms
            room = (1 - a.at(setting)) * math.log(setting.horizon) - logarithms * log_log
            room -= dimensions * math.log(setting.dimension)
            if b.at(setting) > 0:
                ends.append(math.exp(min(room / b.at(setting), 700.0)))
            elif b.at(setting) == 0 and room <= 0:
                ends.append(0.0)
        return min(ends)

    def written(self, setting: Setting) -> str:
        """Return the largest term in `setting`, such as "T^0.667 V_T^0.333", without logarithms.

        Raises:
            DriftpeakError: the measure of change is not known.
        """
        return self._shown(self.leading(setting), setting)

    def in_the_end(self, setting: Setting) -> str:
        """Return the term that is largest once T is large enough."""
        growths = [a.at(setting) for a, _ in self.terms]
        return self._shown(growths.index(max(growths)), setting)

    def leading(self, setting: Setting) -> int:
        """Return the index of the term that is largest in `setting`."""
        sizes = self._sizes(setting)
        return sizes.index(max(sizes))

    def _shown(self, term: int, setting: Setting) -> str:
        a, b = (exponent.at(setting) for exponent in self.terms[term])
        dimensions = self._dimensions(setting)[term]
        powers = [("d", dimensions), ("T", a), (SYMBOLS.get(self.measure, ""), b)]
        shown = (name if p == 1 else f"{name}^{p:.3g}" for name, p in powers if p)
        return " ".join(shown) or "1"

    def _powers(self, setting: Setting) -> tuple[float, ...]:
        powers = tuple(logarithms(setting) for logarithms in self.logarithms)
        return powers or (0.0,) * len(self.terms)

    def _dimensions(self, setting: Setting) -> tuple[float, ...]:
        """Return the power of d in every term; 0 except for linear kernels."""
        if setting.family != "linear":
            return (0.0,) * len(self.terms)
        return tuple(
            logarithms.share if isinstance(logarithms, _GainPower) else 0.0
            for logarithms in self.logarithms or (None,) * len(self.terms)
        )

    def _sizes(self, setting: Setting) -> list[float]:
        change, dimensions = self._change(setting), self._dimensions(setting)
        return [
            power(setting.dimension, s)
            * power(setting.horizon, a.at(setting))
            * power(change, b.at(setting))
            for (a, b), s in zip(self.terms, dimensions, strict=True)
        ]

    def _change(self, setting: Setting) -> float:
        """Return the base of the second exponents; 1 if unknown and not needed by the policy."""
        if not self.known and setting.known(self.measure) is None:
            return 1.0
        value = setting.measured(self.measure)
        return 1.0 if self.measure == "exponent" else value


def _written(form: LinearForm) -> str:
    def part(name: str, factor: float) -> str:
        return f"{factor:g}" if name == "1" else name if factor == 1 else f"{factor:g} {name}"

    return " + ".join(part(name, factor) for name, factor in form.items())


def _of(above: LinearForm, below: LinearForm | None = None) -> Exponent:
    return Exponent(above, below or {"1": 1})


def _constant(above: float, below: float = 1) -> Exponent:
    return Exponent({"1": above}, {"1": below})


def _rougher(least: float) -> Requirement:
    return lambda s: Condition(f"nu > {least:g}", s.nu > least, f"nu = {s.nu:g}")


def _not_linear(setting: Setting) -> Condition:
    kind = setting.family
    return Condition("kernel SE or Matern", kind != "linear", kind)


def _variation_above(exponent: Exponent, logarithms: Exponent) -> Requirement:
    def check(setting: Setting) -> Condition:
        least = power(setting.horizon, exponent.at(setting))
        least *= power(math.log(setting.horizon), logarithms.at(setting))
        value = setting.measured("variation")
        return Condition(f"V_T >= {least:.4g}", value >= least, f"V_T = {value:.4g}")

    return check


def _variation_below(logarithms: Exponent) -> Requirement:
    def check(setting: Setting) -> Condition:
        most = setting.horizon * power(math.log(setting.horizon), logarithms.at(setting))
        value = setting.measured("variation")
        return Condition(f"V_T <= {most:.4g}", value <= most, f"V_T = {value:.4g}")

    return check


def _some(measure: Measure) -> Requirement:
    def check(setting: Setting) -> Condition:
        symbol, value = SYMBOLS[measure], setting.measured(measure)
        return Condition(f"{symbol} > 0", value > 0, f"{symbol} = {value:g}")

    return check


@dataclass(frozen=True)
class _GainPower:
    """The power of log T in gamma_T^share log^extra T."""

    share: float
    extra: float = 0.0

    def __call__(self, setting: Setting) -> float:
        d, nu = setting.dimension, setting.nu
        of_gain = d + 1 if math.isinf(nu) else 2 * nu / (2 * nu + d)
        return self.share * (1 if setting.family == "linear" else of_gain) + self.extra


def _exponent_in(low: float, high: float, *, low_open: bool = False) -> Requirement:
    sign = ">" if low_open else ">="
    text = f"alpha {sign} {low:g}" + ("" if math.isinf(high) else f" and alpha < {high:g}")

    def check(setting: Setting) -> Condition:
        value = setting.measured("exponent")
        holds = low < value < high if low_open else low <= value < high
        return Condition(text, holds, f"alpha = {value:g}")

    return check


def _window(setting: Setting) -> Condition:
    a = setting.window
    return Condition("0 < a < 1/3", 0 < a < 1 / 3, f"a = {a:g}")


NONE, ONE = _constant(0), _constant(1)
QUARTER, THIRD = _constant(1, 4), _constant(1, 3)
UCB = _of({"nu": 12, "d": 13}, {"nu": 16, "d": 8})  # 3/4 + 7/8 of the gain's exponent
OPKB = _of({"nu": 4, "d": 3}, {"nu": 6, "d": 3})  # 2/3 + 1/3 of it
STATIC = _of({"nu": 1, "d": 1}, {"nu": 2, "d": 1})  # 1/2 + 1/2 of it: a constant function
BEST = _of({"nu": 2, "d": 1}, {"nu": 3, "d": 1})
BEST_V = _of({"nu": 1}, {"nu": 3, "d": 1})
BAYES_STATIC = _of({"nu": 1, "D": 1}, {"nu": 2, "D": 1})  # (1 + c)/2, c = D/(2 nu + D)
DISCOUNT_FLOOR = _of({"nu": 4, "d": 3}, {"nu": 8, "d": 4})  # D22, proof of Corollary 5, third term
HALF = _rougher(1 / 2)
BELOW = _of({"nu": -1}, {"nu": 2, "d": 1})  # T^-1/2 for SE

UCB_LOGS = _GainPower(7 / 8)
OPKB_LOGS, STATIC_LOGS = _GainPower(1 / 3, 1 / 3), _GainPower(1 / 2, 1 / 2)
MATERN_PERIOD = _of({"nu": 4, "d": 1}, {"nu": 6, "d": 2})  # V_T H, with the H of IT25 Theorem 5


def BEST_LOGS(setting: Setting) -> float:
    """Return the logarithms of R-PERP, for SE those of OPKB, whose balance is equal."""
    return OPKB_LOGS(setting) if math.isinf(setting.nu) else MATERN_PERIOD.at(setting)


SE_THRESHOLD = _variation_above(_constant(-1, 2), _of({"d": 1, "1": 2}, {"1": 3}))
MATERN_THRESHOLD = _variation_above(BELOW, _of({"nu": 1, "d": 1}, {"nu": 2, "d": 1}))

RATES: tuple[Rate, ...] = (
    # Bayesian, Markov drift
    Rate("r-gp-ucb", ((BAYES_STATIC, NONE), (ONE, _of({"nu": 1}, {"nu": 8, "D": 3}))), "drift",
         True, "B16 Corollary 4.1", requires=(_rougher(2), _not_linear)),
    Rate("tv-gp-ucb", ((BAYES_STATIC, NONE), (ONE, _of({"nu": 1}, {"nu": 6, "D": 2}))), "drift",
         True, "B16 Corollary 4.1", requires=(_rougher(2), _not_linear)),
    # variation budgets, known (IT25 Table 1)
    Rate("r-gp-ucb", ((UCB, QUARTER), (UCB, NONE)), "rkhs_variation", True,
         "ZS21 remark 2; IT25 Table 1", requires=(HALF,), logarithms=(UCB_LOGS, UCB_LOGS)),
    Rate("sw-gp-ucb", ((UCB, QUARTER), (UCB, NONE)), "rkhs_variation", True,
         "ZS21 remark 2; IT25 Table 1", requires=(HALF,), logarithms=(UCB_LOGS, UCB_LOGS)),
    Rate("w-gp-ucb", ((UCB, QUARTER), (DISCOUNT_FLOOR, _constant(-1, 2))), "rkhs_variation", True,
         "D22 Corollary 5; IT25 Table 1", requires=(HALF, _some("rkhs_variation")),
         logarithms=(UCB_LOGS, _GainPower(1 / 4))),
    Rate("opkb", ((OPKB, THIRD), (STATIC, NONE)), "variation", True,
         "IT25 Table 1", "SE", (_some("variation"),), logarithms=(OPKB_LOGS, STATIC_LOGS)),
    Rate("opkb", ((OPKB, THIRD), (STATIC, NONE)), "variation", True,
         "H23; IT25 (125)", "linear", (_some("variation"),), logarithms=(OPKB_LOGS, STATIC_LOGS)),
    Rate("opkb", ((BEST, BEST_V),), "variation", True,
         "IT25 Theorem 3", "Matern", (HALF, MATERN_THRESHOLD), logarithms=(BEST_LOGS,)),
    Rate("r-perp", ((BEST, BEST_V),), "variation", True,
         "IT25 Theorem 5", "SE", (SE_THRESHOLD,), logarithms=(OPKB_LOGS,),
         caveat=PROVED_WIDTH),
    Rate("r-perp", ((BEST, BEST_V),), "variation", True,
         "IT25 Theorem 5", "Matern", (HALF, MATERN_THRESHOLD), logarithms=(BEST_LOGS,),
         caveat=PROVED_WIDTH),
    # variation budgets, unknown (IT25 Table 2)
    Rate("r-gp-ucb", ((UCB, ONE), (UCB, NONE)), "rkhs_variation", False,
         "ZS21 remark 3; IT25 Table 2", requires=(HALF,), logarithms=(UCB_LOGS, UCB_LOGS)),
    Rate("sw-gp-ucb", ((UCB, ONE), (UCB, NONE)), "rkhs_variation", False,
         "ZS21 remark 3; IT25 Table 2", requires=(HALF,), logarithms=(UCB_LOGS, UCB_LOGS)),
    Rate("w-gp-ucb", ((UCB, ONE), (UCB, NONE)), "rkhs_variation", False,
         "D22 Corollary 5; IT25 Table 2", requires=(HALF,), logarithms=(UCB_LOGS, UCB_LOGS)),
    Rate("opkb", ((ONE, ONE), (STATIC, NONE)), "variation", False,
         "IT25 (125)", requires=(HALF,), logarithms=(_GainPower(0), STATIC_LOGS)),  # no restarts
    Rate("ada-opkb", ((OPKB, THIRD), (STATIC, NONE)), "variation", False,
         "H23; IT25 Table 2", requires=(HALF,), logarithms=(OPKB_LOGS, STATIC_LOGS)),
    Rate("r-perp", ((BEST, ONE), (BEST, NONE)), "variation", False,
         "IT25 Appendix D, Table 2", requires=(HALF, _not_linear),
         logarithms=(BEST_LOGS, BEST_LOGS), caveat=PROVED_WIDTH),
    # uncertainty injection (M25 Tables 1 and 2)
    Rate("ui-gp-ucb", ((_of({"alpha": 3, "1": 1}, {"1": 2}), NONE),), "exponent", True,
         "M25 Proposition 2.2", "SE", logarithms=(_GainPower(1),)),
    Rate("sparq", ((_constant(1, 2), NONE),), "exponent", False, "M25 Theorem 3.3", "SE",
         logarithms=(_GainPower(1 / 2),), caveat=ANSWERS_ALONE),
    Rate("w-sparq", ((_of({"window": 3, "1": 1}, {"1": 2}), NONE),), "exponent", True,
         "M25 Theorem 3.10", "SE", (_window, _exponent_in(0, math.inf, low_open=True)),
         logarithms=(_GainPower(1),), caveat=ANSWERS_ALONE),
    # lower bounds
    Rate("any", ((ONE, ONE),), "drift", True, "B16 Theorem 4.1",
         requires=(_rougher(4), _not_linear), lower=True),
    Rate("any", ((BEST, BEST_V),), "variation", True, "IT25 Theorem 1", "SE",
         (_variation_above(_constant(-1, 2), _of({"d": 1}, {"1": 4})),
          _variation_below(_of({"d": 1}, {"1": 4}))), lower=True,
         logarithms=(lambda setting: setting.dimension / 6,)),
    Rate("any", ((BEST, BEST_V),), "variation", True, "IT25 Theorem 1", "Matern",
         (_variation_above(BELOW, NONE), _variation_below(NONE)), lower=True),
    Rate("any", ((_of({"alpha": 1, "1": 1}, {"1": 2}), NONE),), "exponent", True,
         "M25 Proposition 2.6", "SE", (_exponent_in(0, 1),), lower=True),
    Rate("any", ((ONE, NONE),), "exponent", True,
         "M25 Proposition 2.6", "SE", (_exponent_in(1, math.inf),), lower=True),
    Rate(WITH_SIDE_QUERIES, ((_constant(1, 2), NONE),), "exponent", False, "M25 Table 2", "SE",
         lower=True),
)  # fmt: skip


@checked
def rates(policy: str, measure: Measure, *, known: bool) -> tuple[Rate, ...]:
    """Return the rows for `policy` ("any" for lower bounds), with change measured by `measure`.

    Arguments:
        policy: name on the command line.
        measure: measure of the change.
        known: whether the policy knows the measure.

    Source: B16 Theorem 4.1, Corollary 4.1; IT25 Theorem 1, (125), Tables 1-2; M25 Proposition 2.2,
    (13), Proposition 2.6, (17)-(18), Tables 1-2; H23 rates, Theorem 4.6.
    """
    wanted = (policy, measure, known)
    return tuple(rate for rate in RATES if (rate.policy, rate.measure, rate.known) == wanted)


@checked
def applicable(policy: str, setting: Setting, measure: Measure) -> tuple[Rate, Bound] | None:
    """Return the row that applies to `policy` in `setting`, and its order; None without a row.

    If the measure is known, rows that use it take precedence. Among several such rows (one for SE,
    one for Matern) the row whose conditions hold is returned; otherwise the row for this kernel
    with the fewest failed conditions. For a policy that need not know the measure, an unknown
    variation is taken as 1.
    """
    given = setting.known(measure) is not None
    rows = rates(policy, measure, known=True) if given else ()
    rows = rows or rates(policy, measure, known=False)
    orders = [(row, row.order(setting)) for row in rows]
    return min(
        orders,
        key=lambda pair: (pair[0].kernel not in ("", setting.family), len(pair[1].failed)),
        default=None,
    )
