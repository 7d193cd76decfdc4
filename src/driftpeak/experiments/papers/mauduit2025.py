"""M25: Mauduit, Berthier and Simonetto, No-regret time-varying Gaussian process bandits (2025)."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np

from driftpeak.environments import MovingCoefficients
from driftpeak.experiments.bootstrap import Array
from driftpeak.experiments.claims import Claim, Column, Comparison, lower
from driftpeak.experiments.experiment import (
    Case,
    Results,
    ResultTable,
    Setup,
    described,
)
from driftpeak.experiments.figures import regret_and_order, regret_panels
from driftpeak.experiments.papers.mauduit2025_tuning import SEED, least_regret, most_likely
from driftpeak.gp.domains import Grid
from driftpeak.gp.kernels import SE
from driftpeak.gp.priors import Prior
from driftpeak.inference.information import greedy_gain
from driftpeak.policies import (
    GPUCB,
    RGPUCB,
    SWGPUCB,
    TVGPUCB,
    WGPUCB,
    Policy,
    SparQ,
    WSparQ,
)
from driftpeak.policies.widths import Heteroscedastic, ScaledLog, Width
from driftpeak.theory.schedules import discount_factor, restart_period, window_length
from driftpeak.theory.side_queries import w_sparq_regret_order

STEPS, TRIALS, NORM, DELTA, SPEED = 500, 30, 5.0, 0.1, 0.3
DRIFTS = (0.003, 0.01, 0.03, 0.1, 0.2, 0.3, 0.4, 0.5, 0.7, 0.9, 0.95, 0.98, 0.99, 1.0)
EXPONENTS = (0.5, 1.0, 1.5, 2.0, 2.5, 3.0)
QUICK_STEPS, QUICK_EXPONENTS = 100, (0.5, 2.0)
SIDES = ("SparQ-GP-UCB", "W-SparQ-GP-UCB")
TIMELESS = ("GP-UCB", "TV-GP-UCB")  # their parameters do not depend on the variation
SCHEDULED = ("R-GP-UCB", "SW-GP-UCB", "W-GP-UCB")
OTHERS = (*TIMELESS, *SCHEDULED)
TOLD, TRAINED = ", told the variation", ", tuned by regret"
KERNEL = 0.5 * SE(3.0)
AS_PUBLISHED: dict[str, Any] = {"asks": "after", "multiplicity": True}
"""SparQ and W-SparQ as in M25's Algorithms 1 and 2 and its Definition 3.1."""

Placing = Literal["even", "random"]
PLACINGS: tuple[Placing, ...] = ("even", "random")
WIDTHS: dict[str, Width] = {"width (12)": Heteroscedastic(NORM, DELTA), "log width": ScaledLog()}


@dataclass(frozen=True)
class Variant:
    """One combination of the choices that M25 leaves open."""

    width: str
    placing: Placing
    centres: int = 20
    noise: float = 0.1

    def __str__(self) -> str:
        noise = "" if self.noise == 0.1 else f", noise sd {self.noise:g}"
        return f"{self.width}, {self.centres} {self.placing} centres{noise}"


MAIN = tuple(Variant(width, placing) for width in WIDTHS for placing in PLACINGS)
CHOICES = (
    *MAIN,
    *(Variant(width, "even", centres=50) for width in WIDTHS),
    *(Variant(width, "random", noise=0.3) for width in WIDTHS),
)


def centre_points(placing: Placing, count: int, points: int) -> Any:
    """Return the point numbers of evenly spaced centres, or the count of randomly drawn ones."""
    return np.linspace(0, points - 1, count).round().astype(int) if placing == "even" else count


def variation(prior: Prior, centres: Any) -> float:
    """Return the sum of the RKHS norms of f_{t+1} - f_t, t = 1, ..., T - 1, for these centres."""
    gram = prior.gram[np.ix_(centres, centres)]
    angles = SPEED * np.arange(1, STEPS + 1)[:, None] + np.arange(1, len(centres) + 1)[None, :]
    directions = np.sin(angles) / np.linalg.norm(np.sin(angles), axis=1, keepdims=True)
    moves = NORM / np.linalg.eigvalsh(gram)[-1] * np.diff(directions, axis=0)
    return float(np.sqrt(((moves @ gram) * moves).sum(axis=1)).sum())


def expected_variation(prior: Prior, centres: Any) -> float:
    """Return the variation of these centres, or the mean over 20 draws of this many centres."""
    if np.ndim(centres):
        return variation(prior, centres)
    generator = np.random.default_rng(SEED)
    draws = (generator.choice(len(prior), centres, replace=False) for _ in range(20))
    return float(np.mean([variation(prior, drawn) for drawn in draws]))


def setup(
    choice: Variant,
    width: Width | None = None,
    *,
    steps: int = STEPS,
    exponents: Sequence[float] = EXPONENTS,
) -> Setup:
    """Return the setup of a combination of choices, with another width for all if given.

    Arguments:
        steps: number of steps of a run, and of a training run.
        exponents: candidates for W-SparQ's alpha of lowest regret.
    """
    width = WIDTHS[choice.width] if width is None else width
    prior = Prior(Grid([-50, 50], size=400), KERNEL, choice.noise**2)
    centres = centre_points(choice.placing, choice.centres, len(prior))
    world = MovingCoefficients(prior, centres=centres, norm=NORM, speed=SPEED)
    trained = (
        least_regret({x: TVGPUCB(prior, drift=x, width=width) for x in DRIFTS}, world, steps),
        least_regret(
            {x: WSparQ(prior, exponent=x, width=width, **AS_PUBLISHED) for x in exponents},
            world,
            steps,
        ),
    )
    policies: dict[str, Policy] = {
        "GP-UCB": GPUCB(prior, width=width),
        SIDES[0]: SparQ(prior, width=width, **AS_PUBLISHED),
    }
    settings: dict[str, Any] = {
        "width": choice.width, "centres": choice.centres, "placing": choice.placing,
        "noise": choice.noise, "norm_bound": NORM, "delta": DELTA, "a": 1 / 4,
    }  # fmt: skip
    for suffix, (drift, exponent) in (("", most_likely(prior, world)), (TRAINED, trained)):
        policies |= {
            f"TV-GP-UCB{suffix}": TVGPUCB(prior, drift=drift, width=width),
            f"{SIDES[1]}{suffix}": WSparQ(prior, exponent=exponent, width=width, **AS_PUBLISHED),
        }
        settings |= {f"drift{suffix}": drift, f"exponent{suffix}": exponent}
    gain = float(greedy_gain(prior, STEPS)[-1])
    moved = expected_variation(prior, centres)
    settings |= {"variation": moved, "gain": gain}
    for suffix, known in (("", None), (TOLD, moved)):
        scale: dict[str, Any] = {
            "horizon": STEPS, "dimension": 1, "variation": known, "gain": gain,
        }  # fmt: skip
        period, window = restart_period(KERNEL, **scale), window_length(KERNEL, **scale)
        discount = discount_factor(KERNEL, **scale)
        policies |= {
            f"R-GP-UCB{suffix}": RGPUCB(prior, period=period, width=width),
            f"SW-GP-UCB{suffix}": SWGPUCB(prior, window=window, width=width),
            f"W-GP-UCB{suffix}": WGPUCB(prior, discount=discount, width=width),
        }
        settings |= {
            f"period{suffix}": period, f"window{suffix}": window, f"discount{suffix}": discount
        }  # fmt: skip
    return Setup(world, policies, steps, settings)


def least_lead(samples: Array) -> Array:
    """Return the lowest mean of the other columns minus the mean of the first column."""
    means = samples.mean(axis=-2)
    return np.asarray(means[..., 1:].min(axis=-1) - means[..., 0])


def _leads(case: str, trained: str, told: str) -> tuple[Comparison, ...]:
    """Return one comparison with the best rival; five comparisons would have less power."""
    rivals = ("GP-UCB", f"TV-GP-UCB{trained}", *(name + told for name in SCHEDULED))
    return tuple(
        Comparison(
            f"least of the bandits' minus {side}, regret per step",
            tuple(Column(case, name) for name in (side, *rivals)),
            least_lead,
        )
        for side in (SIDES[0], SIDES[1] + trained)
    )


def _claims() -> tuple[Claim, ...]:
    cases = tuple(map(str, CHOICES))
    best = {
        f"{case}; tuned by {tuning}; variation {knowledge}": _leads(case, trained, told)
        for case in cases
        for tuning, trained in (("likelihood", ""), ("regret", TRAINED))
        for knowledge, told in (("unknown", ""), ("known", TOLD))
    }
    half = STEPS // 2
    falling = {
        case: tuple(
            Comparison(
                f"{side}, regret per step: first half minus second",
                (Column(case, side, last=half), Column(case, side, first=half + 1)),
            )
            for side in SIDES
        )
        for case in cases
    }
    faster = {case: (lower((case, SIDES[0]), (case, SIDES[1])),) for case in cases}
    fewer = {
        case: (lower((case, SIDES[1]), (case, SIDES[0]), measure="side_queries"),) for case in cases
    }
    return (
        Claim("SparQ and W-SparQ outperform the bandit algorithms", best),
        Claim("SparQ converges slightly faster than W-SparQ: it has less regret", faster),
        Claim("SparQ requires more side queries than W-SparQ", fewer),
        # 500 steps cannot show sublinear regret, which M25 reads from its figure
        Claim("The regret of SparQ and W-SparQ slows down within 500 steps", falling, whose="ours"),
    )


def _table(results: Results) -> tuple[ResultTable, ...]:
    """Return the mean regret per step of every policy in every case."""
    names: Sequence[str] = [str(name) for name in next(iter(results.values()))["policy"].values]
    rows = tuple(
        (case, *(f"{float(runs['regret'].sel(policy=name).mean()):.3f}" for name in names))
        for case, runs in results.items()
    )
    return (
        ResultTable("Regret per step, by choices that M25 leaves open", ("choice", *names), rows),
    )


def _seven(results: Results) -> Results:
    """Return M25's policies in the main cases, with rivals for unknown variation."""
    return {
        str(choice): results[str(choice)].sel(policy=[*OTHERS, *SIDES])
        for choice in MAIN
        if str(choice) in results
    }


def _panels(results: Results, title: str) -> Any:
    return regret_panels(_seven(results), title, average=True, further=("side_queries",))


def _bounded(results: Results, title: str) -> Any:
    return regret_and_order(
        _seven(results),
        title,
        order=partial(w_sparq_regret_order, delta=DELTA),
        label="order of M25 (34), constant 1",
    )


EXPERIMENTS = (
    described(
        "m25-fig2",
        tuple(
            Case(
                str(choice),
                partial(setup, choice),
                TRIALS,
                quick=partial(setup, choice, steps=QUICK_STEPS, exponents=QUICK_EXPONENTS),
            )
            for choice in CHOICES
        ),
        _claims(),
        _panels,
        further={"bound": _bounded},
        tables=_table,
        values={"DRIFTS": DRIFTS, "EXPONENTS": EXPONENTS, "NORM": NORM},
    ),
)
