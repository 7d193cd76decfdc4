"""H23: Hong, Li and Tewari, An optimization-based algorithm for non-stationary kernel bandits.

The experiments follow the authors' program (github.com/kihyukh/aistats2023) and its configurations.
Its GP-UCB starts from the inverse 20 I, whereas its ridge of 20 would give I / 20. It therefore has
a ridge of 1/20 and standard deviations 20 times those of the posterior, as it has here. Its sliding
window removes old observations with the wrong sign (`hong2023_program`). The panels show this
window and the correct one, the latter also with a ridge of 20 in its usual meaning.

On the unit sphere of R^10 points are about 1.4 apart. With l = 0.2 their Gram matrix is nearly the
identity, and the problem is nearly a bandit with 100 unrelated arms. It is therefore also run with
l = 1.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from driftpeak.environments import Environment, MovingCosine, SignSwitches
from driftpeak.experiments.claims import Claim, Column, Comparison, Comparisons, lower, lowest
from driftpeak.experiments.experiment import (
    Case,
    Experiment,
    Results,
    ResultTable,
    Setup,
    described,
)
from driftpeak.experiments.figures import regret_panels
from driftpeak.experiments.papers.hong2023_program import SlippedWindow
from driftpeak.gp.domains import unit_sphere
from driftpeak.gp.kernels import SE
from driftpeak.gp.priors import Prior
from driftpeak.inference.information import TabulatedGain, fractional_gain
from driftpeak.policies import (
    ADAOPKB,
    GPUCB,
    OPKB,
    SWGPUCB,
    TVGPUCB,
    WGPUCB,
    Auto,
    BeliefPolicy,
    Policy,
)
from driftpeak.policies.widths import IGP, Confidence
from driftpeak.simulation._simulator import simulate

STEPS, PEAK, LIMIT, NOISE, DELTA = 10_000, 0.8, 1.0, 0.1, 1e-4
RIDGE, SCALE = 20.0, 0.01  # for H23's GP-UCB
WEIGHTED_RIDGE, DISCOUNT, WEIGHTED_SCALE = 0.01, 0.9996, 0.5  # for its WGP-UCB
GAIN_TOLERANCE = 1e-4  # nats


def program_gain(prior: Prior, ridge: float, most: int, steps: int = STEPS) -> Any:
    """Return H23's gain at every step t: half the log det for min(t, `most`) observations.

    It is interpolated linearly between powers of two, as in its program. Entry i is for step i + 1,
    which has i earlier observations.
    """
    places = sorted({*(2**k for k in range(int(np.log2(steps)) + 1)), steps})
    values = [fractional_gain(prior, t / ridge, tolerance=GAIN_TOLERANCE) / 2 for t in places]
    return np.interp(np.minimum(np.arange(1, steps + 2), most), places, values)


def gpucb(prior: Prior, window: int | None, *, as_named: bool = False) -> BeliefPolicy:
    """Return H23's GP-UCB, or SW-GP-UCB with old observations removed correctly.

    The width is 0.01 (1 + sqrt(2 (g / 2 + 1 + log 1/delta))), times the factor 20 of its standard
    deviations. With `as_named`, the ridge of 20 of its configuration has its usual meaning, and the
    factor is 1.
    """
    gain = program_gain(prior, RIDGE, STEPS if window is None else window)
    ridge, factor = (RIDGE, 1.0) if as_named else (1 / RIDGE, RIDGE)
    width = IGP(factor * SCALE, factor * SCALE, DELTA, TabulatedGain(gain / 2))
    scaled = prior.with_noise_variance(ridge)
    return (
        GPUCB(scaled, width=width)
        if window is None
        else SWGPUCB(scaled, window=window, width=width)
    )


def slipped(prior: Prior, window: int) -> SlippedWindow:
    """Return SW-GP-UCB as in H23's program."""
    gain = program_gain(prior, RIDGE, window)
    widths = SCALE * (1 + np.sqrt(2 * (gain / 2 + 1 - np.log(DELTA))))
    return SlippedWindow(prior, window=window, ridge=RIDGE, widths=widths)


def weighted(prior: Prior) -> BeliefPolicy:
    """Return H23's WGP-UCB with the width 0.5 (0.8 + 0.1 sqrt(2 (g + log 1/delta))).

    The newest observation has age 1.
    """
    gain = TabulatedGain(program_gain(prior, WEIGHTED_RIDGE, STEPS))
    scales = WEIGHTED_SCALE * PEAK, WEIGHTED_SCALE * NOISE
    width = Confidence(
        *scales, DELTA, gain, noise_variance=1.0
    )  # no 1 / sqrt(lambda), as in the program
    scaled = prior.with_noise_variance(WEIGHTED_RIDGE / DISCOUNT)
    return WGPUCB(scaled, discount=DISCOUNT, width=width)


SLIPPED, RIGHT, NAMED = "SW-GP-UCB as published", "SW-GP-UCB, right sign", "SW-GP-UCB, ridge 20"
WEIGHTED, ADA = "WGP-UCB", "ADA-OPKB"
WINDOWS = {
    "the window as published": SLIPPED,
    "the window with the correct sign": RIGHT,
    "the correct sign and the configured ridge": NAMED,
}
PUBLISHED, BEST = "as published", "today's best"
TRAINING_TRIALS, TRAINING_SEED = 1, 2025
QUICK_STEPS = 500


@dataclass(frozen=True)
class Figure:
    """A figure of H23.

    Attributes:
        changes: times after which the sign switches; None for the moving cosine.
        window: H23's window. lengthscale: lengthscale of OPKB; other policies have 0.2.
        still: step after which the function does not change.
    """

    changes: tuple[int, ...] | None
    window: int
    lengthscale: float
    still: int


FIGURES = {
    "h23-fig1a": Figure((3000,), 3000, 0.2, 3000),
    "h23-fig1b": Figure((1500, 5000), 2000, 0.2, 5000),
    "h23-fig2b": Figure(None, 2000, 1.0, 6000),
}
GRIDS: dict[str, tuple[float, ...]] = {
    "SW-GP-UCB": (250, 500, 1000, 2000, 4000),
    "WGP-UCB": tuple(1 - 1 / memory for memory in (100, 250, 500, 1000, 2000)),
    "TV-GP-UCB": (1e-5, 1e-4, 3e-4, 1e-3, 3e-3),
}
"""Tuning grids of the best policies in this package; all have B16's width for synthetic data."""


def prior_with(lengthscale: float) -> Prior:
    """Return a prior on 100 points on the sphere of R^10, the same in all trials."""
    return Prior(unit_sphere(100, 10), SE(lengthscale), NOISE**2)


def world_of(id: str, prior: Prior) -> Environment[Any]:
    """Return the environment of a figure; functions that switch are drawn from the prior."""
    changes = FIGURES[id].changes
    if changes is None:
        return MovingCosine(prior, peak=PEAK, reward_limit=LIMIT)
    return SignSwitches(prior, changes=changes, peak=PEAK, reward_limit=LIMIT)


def tuned_policy(prior: Prior, family: str, value: float) -> BeliefPolicy:
    """Return a policy of `GRIDS` with the true noise variance."""
    if family == "SW-GP-UCB":
        return SWGPUCB(prior, window=int(value))
    if family == "WGP-UCB":
        return WGPUCB(prior, discount=value)
    return TVGPUCB(prior, drift=value)


def tuned(id: str, prior: Prior, steps: int = STEPS) -> dict[str, float]:
    """Return, by family, the value of `GRIDS` of lowest regret with another seed."""
    best = {}
    for family, grid in GRIDS.items():
        policies = {f"{value}": tuned_policy(prior, family, value) for value in grid}
        runs = simulate(
            policies, world_of(id, prior), steps=steps, trials=TRAINING_TRIALS, seed=TRAINING_SEED,
            progress=False,
        )  # fmt: skip
        regret = runs["regret"].mean(("trial", "step"))
        best[family] = float(str(regret.idxmin("policy").item()))
    return best


def published(id: str, lengthscale: float | None = None, steps: int = STEPS) -> Setup:
    """Return the setup of a figure; `lengthscale` overrides that of all policies and functions."""
    figure = FIGURES[id]
    prior = prior_with(0.2 if lengthscale is None else lengthscale)
    own = prior_with(figure.lengthscale if lengthscale is None else lengthscale)
    policies: dict[str, Policy] = {
        SLIPPED: slipped(prior, figure.window),
        RIGHT: gpucb(prior, figure.window),
        NAMED: gpucb(prior, figure.window, as_named=True),
        WEIGHTED: weighted(prior),
        ADA: ada_opkb(own),
    }
    settings = {
        "lengthscale": lengthscale or 0.2,
        "lengthscale of ADA-OPKB": lengthscale or figure.lengthscale,
        "window": figure.window, "ridge": RIDGE, "discount": DISCOUNT, "opkb": "published",
        "largest correlation": float(np.triu(prior.gram, 1).max()),
    }  # fmt: skip
    return Setup(world_of(id, prior), policies, steps, settings)


def best(id: str, steps: int = STEPS) -> Setup:
    """Return policies with ADA-OPKB's kernel and tuned memory, and `auto` without tuning."""
    prior = prior_with(FIGURES[id].lengthscale)
    chosen = tuned(id, prior, steps)
    policies: dict[str, Policy] = {
        f"{family}, tuned": tuned_policy(prior, family, value) for family, value in chosen.items()
    }
    policies |= {"auto": Auto(prior), ADA: ada_opkb(prior)}
    inside = all(value in GRIDS[family][1:-1] for family, value in chosen.items())
    settings = {**chosen, "tuned strictly inside the grids": inside}
    return Setup(world_of(id, prior), policies, steps, settings)


def ada_opkb(prior: Prior) -> Policy:
    """Return ADA-OPKB with the constants of H23's program, all features, and unscaled rewards."""
    return ADAOPKB(prior, horizon=STEPS, reward_bound=LIMIT, features=prior.features)


def stationary(lengthscale: float, steps: int = STEPS) -> Setup:
    """Return the setup of figure 2a: a cosine with a random constant phase, 256 points in R^8."""
    prior = Prior(unit_sphere(256, 8), SE(lengthscale), NOISE**2)
    world = MovingCosine(
        prior, times=[0.0], phases=[0.0], random_phase=True, peak=PEAK, reward_limit=LIMIT
    )
    policies: dict[str, Policy] = {
        "GP-UCB": gpucb(prior, None),
        "OPKB": OPKB(prior, horizon=STEPS, reward_bound=LIMIT, features=prior.features),
    }
    return Setup(world, policies, steps, {"lengthscale": lengthscale, "opkb": "published"})


def _falls_again(id: str) -> Comparison:
    """Compare the regret per step in the 1000 steps after the last change and the last 1000."""
    still = FIGURES[id].still
    after = Column(PUBLISHED, ADA, first=still + 1, last=still + 1000)
    columns = (after, Column(PUBLISHED, ADA, first=STEPS - 999))
    return Comparison(
        f"ADA-OPKB: steps {still + 1}-{still + 1000} minus the last 1000, regret per step", columns
    )


def _claims(id: str) -> tuple[Claim, ...]:
    adapts = Claim(
        "ADA-OPKB adapts to changes (abstract): its regret per step decreases afterwards",
        (_falls_again(id),),
    )

    def lowest_in(case: str, *others: str) -> dict[str, Comparisons]:
        """Return the comparisons of ADA-OPKB with every window and with other policies."""
        return {name: lowest(case, ADA, [window, *others]) for name, window in WINDOWS.items()}

    if id == "h23-fig1a":
        main: tuple[Claim, ...] = (
            Claim("ADA-OPKB has less regret than WGP-UCB", lowest(PUBLISHED, ADA, [WEIGHTED])),
            Claim("ADA-OPKB has less regret than SW-GP-UCB", lowest_in(PUBLISHED), whose="ours"),
        )
    else:
        main = (Claim("ADA-OPKB has the lowest regret", lowest_in(PUBLISHED, WEIGHTED)),)
    return (
        *main,
        adapts,
        Claim("All with l = 1: ADA-OPKB has the lowest regret", lowest_in("l = 1", WEIGHTED),
              whose="ours"),
        *(
            Claim(f"Best policies of this package: {name} has less regret than ADA-OPKB",
                  (lower((BEST, name), (BEST, ADA)),), whose="ours")
            for name in (*(f"{family}, tuned" for family in GRIDS), "auto")
        ),
    )  # fmt: skip


def regret_tables(results: Results) -> tuple[ResultTable, ...]:
    """Return tables of regret for the published policies and for the best of this package."""
    return tuple(
        ResultTable(title, ("policy", "regret", "standard error", "restarts"),
              tuple(_row(results[case], str(name)) for name in results[case]["policy"].values))
        for case, title in (
            (PUBLISHED, "As published"),
            (BEST, "Best policies of this package in the same trials (no verdict on the paper)"),
        )
    )  # fmt: skip


def _row(runs: Any, name: str) -> tuple[str, ...]:
    totals = runs["regret"].sel(policy=name).sum("step").values
    restarts = float(runs["restarts"].sel(policy=name).sum("step").mean())
    error = totals.std(ddof=min(1, len(totals) - 1)) / len(totals) ** 0.5
    return name, f"{totals.mean():,.0f}", f"{error:,.0f}", f"{restarts:.2g}"


def _case(name: str, build: Callable[..., Setup], trials: int, *, chunk: int) -> Case:
    return Case(name, build, trials, chunk=chunk, quick=partial(build, steps=QUICK_STEPS))


def _experiment(id: str) -> Experiment:
    return described(
        id,
        (
            _case(PUBLISHED, partial(published, id), 25, chunk=13),
            _case("l = 1", partial(published, id, 1.0), 10, chunk=5),
            _case(BEST, partial(best, id), 5, chunk=5),
        ),
        _claims(id),
        regret_panels,
        programs="h23",
        tables=regret_tables,
    )


EXPERIMENTS = (
    _experiment("h23-fig1a"),
    _experiment("h23-fig1b"),
    described(
        "h23-fig2a",
        (
            _case(PUBLISHED, partial(stationary, 0.2), 25, chunk=13),
            _case("l = 1", partial(stationary, 1.0), 10, chunk=5),
        ),
        tuple(
            Claim(f"OPKB has less regret than GP-UCB: {case}",
                  (lower((case, "OPKB"), (case, "GP-UCB")),), whose="ours")
            for case in (PUBLISHED, "l = 1")
        ),
        regret_panels,
    ),
    _experiment("h23-fig2b"),
)  # fmt: skip
