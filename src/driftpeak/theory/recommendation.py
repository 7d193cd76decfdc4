r"""Choice of a policy, with the reason.

Theorems rank guarantees, with constants left out; the tournament ranks regret. A policy is
recommended if it is the exact filter for the known change (B16's drift). It is also recommended if
it is the only policy with a guarantee within the allowed side queries (M25). Otherwise `auto` is
recommended, and the reason names the best guarantee. The reason also states the measured regret of
the recommended policy.

Under Markov drift \(\epsilon\) consecutive functions have correlation
\(\rho = \sqrt{1 - \epsilon}\): \(f_{t+1} = m + \rho (f_t - m) + \sqrt{\epsilon}\, g\) for the prior
mean m and an independent draw g. With all earlier functions known, a policy gains at most

$$E \max_x [m(x) + \rho (f_t(x) - m(x))] - \max_x m(x) \le \rho \, E \max_x [f_t(x) - m(x)]$$

in each step over the arm of the highest prior mean. Up to \(\rho\) = `NEGLIGIBLE` no policy is
recommended.
"""

import math
from typing import TYPE_CHECKING

from driftpeak.theory.bound import Bound
from driftpeak.theory.measured import HORIZON, measured
from driftpeak.theory.regimes import regime, side_queries_needed
from driftpeak.theory.setting import Measure, Setting

if TYPE_CHECKING:
    from driftpeak.theory.planner import Advice

Found = tuple[str | None, str]
NEGLIGIBLE = 0.01
"""Correlation of consecutive functions up to which learning gains nothing useful."""


def recommend(
    setting: Setting,
    allowed: int,
    policies: "tuple[Advice, ...]",
    lower: dict[Measure, Bound],
) -> Found:
    """Return a policy, None if nothing can be learned, and the reason."""
    still = _still(setting)
    if still:
        return "gp-ucb", still
    least = max((bound.value or 0.0 for bound in lower.values()), default=0.0)
    useful = [
        p
        for p in policies
        if p.sublinear
        and p.side_queries <= allowed
        # the lower bounds are for policies without side queries
        and (p.side_queries or _order(p) >= least)
    ]
    injected = [p for p in useful if p.measure == "exponent"]
    unlearnable = _unlearnable(setting)
    if unlearnable:  # side queries still measure the present function
        injected = [p for p in injected if p.side_queries]
    if injected:
        best = min(injected, key=_size)
        return best.policy, _why_injected(setting, best) + _next_to_auto(best.policy)
    if unlearnable:
        return None, unlearnable
    hopeless = "" if setting.exponent is None else _why_hopeless(setting, allowed, policies)
    if setting.drift is not None:
        return "tv-gp-ucb", hopeless + _why_markov(policies, lower) + _next_to_auto("tv-gp-ucb")
    return "auto", hopeless + _why_auto(setting, useful, lower)


def _still(setting: Setting) -> str:
    """Return the reason to forget nothing, if there is too little change."""
    if setting.variation == 0 or setting.rkhs_variation == 0 or setting.drift == 0:
        return (
            "The function does not change: there is nothing to forget. (auto had "
            f"{measured()['auto'].share:.2f} of random choice's regret in the tournament, T = "
            f"{HORIZON}.)"
        )
    gain, horizon = setting.known("variation"), setting.horizon
    if gain is not None and gain * horizon <= 1:
        return (
            f"The function changes very little: following it saves at most 2 V_T T = "
            f"{2 * gain * horizon:.3g} prior standard deviations of regret in all {horizon:,} "
            "steps, so there is nothing to forget. If V_T is uncertain, auto estimates the drift."
        )
    if setting.drift is not None and setting.drift * horizon <= 0.01:
        kept = math.exp(horizon / 2 * math.log1p(-setting.drift))
        return (
            f"The function changes very little: after {horizon:,} steps its correlation with the "
            f"first is still {_near_one(kept)}, so there is nothing to forget. If the drift is "
            "uncertain, auto estimates it."
        )
    return ""


def _unlearnable(setting: Setting) -> str:
    """Return why no observation helps, if consecutive functions are almost independent."""
    drift = setting.drift
    correlation = 1.0 if drift is None else math.sqrt(1 - drift)
    if correlation > NEGLIGIBLE:
        return ""
    return (
        f"Nothing can be learned: at drift {drift:g} the function of each step has correlation "
        f"{correlation:.2g} with the last, so observations do not predict the next step. Choose "
        "the arm with the highest prior mean at every step; with a constant prior mean all arms "
        "are equally good. If the drift is uncertain, auto estimates it."
    )


def _near_one(value: float) -> str:
    return f"{value:.3g}" if value < 0.999 else f"1 - {1 - value:.2g}"


def _order(advice: "Advice") -> float:
    """Return the rate of a guarantee as a number, without constants and logarithms."""
    return math.inf if advice.order is None else advice.order.number


def _size(advice: "Advice") -> float:
    return math.inf if advice.with_logarithms is None else advice.with_logarithms


def _next_to_auto(policy: str) -> str:
    """Return a sentence on the measured regret of a recommended policy and of auto."""
    auto, own = measured()["auto"], measured().get(policy)
    if own is None:
        return (
            f" It did not take part in the tournament (T = {HORIZON}), where auto, which needs "
            f"only the prior, had {auto.share:.2f} of random choice's regret."
        )
    return (
        f" In the tournament (T = {HORIZON}) its regret was {own}; auto, which needs no drift "
        f"parameter, had {auto.share:.2f}."
    )


def _why_injected(setting: Setting, best: "Advice") -> str:
    from driftpeak.theory.planner import counted

    alpha = setting.exponent
    if best.side_queries:
        change = "Whatever alpha is" if alpha is None else f"At alpha = {alpha:g}"
        return (
            f"{change}, the {counted(best.side_queries)} side queries of {best.policy} are allowed "
            f"and its rate, {best.rate}, is the lowest within the allowed number. Caveat: "
            f"{best.caveat}."
        )
    return (
        f"At alpha = {alpha:g} ({regime(setting.measured('exponent'))} change) GP-UCB with noise "
        f"that grows with age has regret {best.rate} without any side query."
    )


def _why_hopeless(setting: Setting, allowed: int, policies: "tuple[Advice, ...]") -> str:
    from driftpeak.theory.planner import counted

    alpha = setting.measured("exponent")
    below = [p for p in policies if p.measure == "exponent" and p.sublinear and not p.side_queries]
    if below:
        return (
            f"At alpha = {alpha:g} ({regime(alpha)} change) {below[0].policy} has the guarantee "
            f"{below[0].rate}, which is below the lower bound for the other measure of change. The "
            "two measures describe different classes of functions: give only the measure that "
            "holds. "
        )
    asked = [p for p in policies if p.measure == "exponent" and p.side_queries]
    text = f"At alpha = {alpha:g} ({regime(alpha)} change) no allowed policy has a guarantee"
    if setting.family != "SE":
        return text + ": M25 proves its guarantees for the SE kernel. "
    if asked:
        cheapest = min(asked, key=lambda p: p.side_queries)
        text += f": {cheapest.policy} takes {counted(cheapest.side_queries)} side queries"
        text += "" if cheapest.sublinear else ", and is not below T here either"
    needed = side_queries_needed(setting.horizon, exponent=alpha).value
    if needed is not None and allowed <= needed:
        text += (
            f"; with no more than about {counted(needed)} the regret of every policy is linear "
            "(M25 Theorem 5.3)"
        )
    return text + ". "


def _why_markov(policies: "tuple[Advice, ...]", lower: dict[Measure, Bound]) -> str:
    markov = next(p for p in policies if p.policy == "tv-gp-ucb")
    if not markov.rate:
        return (
            "TV-GP-UCB is the exact Bayesian filter for Markov drift, though without a guarantee "
            f"here ({markov.remark})."
        )
    bound = lower["drift"]
    ending = f"{markov.rate} ({markov.remark})"
    if bound.value is None:
        return (
            f"TV-GP-UCB is the exact Bayesian filter for Markov drift; its guarantee is {ending}. "
            f"Whether any policy can do better is not known here: B16's lower bound requires "
            f"{'; '.join(map(str, bound.failed))}."
        )
    return (
        f"Under Markov drift the regret of every policy is linear in T ({bound.source}); TV-GP-UCB "
        f"is the exact Bayesian filter, and its guarantee, {ending}, falls fastest with the drift."
    )


def _why_auto(setting: Setting, useful: "list[Advice]", lower: dict[Measure, Bound]) -> str:
    auto = measured()["auto"]
    text = (
        f"It has no theorem, but needs only the prior, and in the tournament (T = {HORIZON}) it"
        f" had the lowest regret of all, {auto}."
    )
    budget_known = (
        setting.known("variation") is not None or setting.known("rkhs_variation") is not None
    )
    budgeted = [p for p in useful if p.measure in ("variation", "rkhs_variation")]
    known = [p for p in budgeted if p.measure is not None and setting.known(p.measure) is not None]
    if not budgeted:
        return text + " No theorem promises regret below T here: the remarks say why."
    if known:
        best = min(known, key=_size)
        claim = f" The best guarantee here is that of {best.policy}, {best.rate}"
    else:
        best = max(budgeted, key=lambda advice: advice.limit)
        claim = (
            f" Among the guarantees without knowledge of the change, that of {best.policy}, "
            f"{best.rate}, stays below T up to the largest change"
        )
        claim += f", V_T = {best.limit:,.4g}" if best.measure == "variation" else ""
    own = best.measured
    if own is not None:
        verdict = "like random choice: its regret was" if own.like_random else "its regret was"
        claim += f"; in the tournament {verdict} {own}"
    text += claim + "."
    bound = lower.get("variation")
    if budget_known and best.policy == "r-perp" and bound is not None and bound.value is not None:
        text += " No policy has a guarantee with a lower power of T (IT25 Theorem 1)."
    return text
