"""M25's maps with an SE kernel and hyperparameters of highest likelihood, as published (4.2).

`mauduit2025_maps` has the empirical covariance of the first half as kernel and tunes by prediction
errors. M25 fits the amplitude, the lengthscale and alpha by the marginal likelihood on a training
set. It states that regret is linear for all methods, that they are sensitive to this tuning, and
that the errors of W-SparQ are lower and smoother. The maps are other maps than M25's.
"""

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from driftpeak.experiments.bootstrap import Array, in_words, interval
from driftpeak.experiments.claims import Claim, Column, Comparison, Comparisons, lower, lowest
from driftpeak.experiments.experiment import (
    Case,
    Results,
    ResultTable,
    Setup,
    described,
)
from driftpeak.experiments.papers.mauduit2025 import OTHERS, SIDES
from driftpeak.experiments.papers.mauduit2025_maps import (
    MAP_PANELS,
    Reader,
    europe,
    france,
    map_setup,
    southern_france,
)
from driftpeak.experiments.papers.mauduit2025_tuning import EXPONENTS, SAMPLES, SEED, injected
from driftpeak.experiments.recorded_figures import error_map
from driftpeak.gp.domains import Arms
from driftpeak.gp.kernels import SE
from driftpeak.gp.priors import Prior
from driftpeak.inference.fitting import fit
from driftpeak.policies import Policy, WSparQ

TRIALS = 5
SPARQ, WSPARQ = SIDES
SEVEN = (*OTHERS, *SIDES)
FACTORS = {"half": 0.5, "twice": 2.0}
CHANGED = tuple(f"{WSPARQ}, {words} the {name}" for name in ("l", "alpha") for words in FACTORS)
MAPS: dict[str, tuple[str, Reader]] = {
    "Europe": ("europe-anomalies", europe),
    "France": ("france-temperature", france),
    "southern France": ("iberia-temperature", southern_france),
}
LINEAR = 0.8


def coordinates(positions: Array) -> Array:
    """Return positions in units of a degree of latitude, from longitudes and latitudes."""
    east = positions[:, 0] * np.cos(np.radians(positions[:, 1].mean()))
    return np.stack([east, positions[:, 1]], axis=1)


def fitted(history: Array, positions: Array) -> Prior:
    """Return the SE kernel and the noise of highest likelihood, each month independent."""
    points = coordinates(positions)
    apart = np.linalg.norm(points[:, None] - points, axis=2)
    start = Prior(
        Arms(points),
        float(history.var()) * SE(float(np.median(apart[apart > 0]))),
        noise_variance=0.1 * float(history.var()),
    )
    return fit(history, start, learn=("kernel", "noise_variance"), drift=1.0).prior


def setup(read: Reader, path: Path) -> Setup:
    """Return the setup: hyperparameters from the first half of the months, a run on the second."""
    table = read(path)
    history = table.values[: len(table.values) // 2]
    assert table.positions is not None
    prior = fitted(history, table.positions)
    drift = fit(history, prior, learn="drift").drift
    generator = np.random.default_rng(SEED)
    arms = generator.integers(len(prior), size=SAMPLES)
    sampled = [(arms, history[-SAMPLES:][np.arange(SAMPLES), arms])]
    exponent = max(EXPONENTS, key=lambda alpha: injected(prior, sampled, alpha))
    length, variance = _numbers(prior)
    changed: dict[str, Policy] = {}
    for words, factor in FACTORS.items():
        other = Prior(prior.domain, variance * SE(factor * length), prior.noise_variance)
        changed[f"{WSPARQ}, {words} the l"] = WSparQ(other, exponent=exponent, multiplicity=True)
        changed[f"{WSPARQ}, {words} the alpha"] = WSparQ(
            prior, exponent=factor * exponent, multiplicity=True
        )
    learned = {"lengthscale": length, "variance": variance}
    return map_setup(table, prior, drift, exponent, changed, learned)


def _numbers(prior: Prior) -> tuple[float, float]:
    kernel: Any = prior.kernel
    return float(kernel.kernel.lengthscale), float(kernel.variance)


class Roughness(Column):
    """Absolute difference of a point's mean squared error from its nearest neighbour's, by point.

    It is the difference relative to the mean error over the map if `measure` is "relative".
    """

    def samples(self, results: Mapping[str, xr.Dataset]) -> Array:
        [case] = self.cases
        runs = results[case]
        errors = runs["point_error"].sel(policy=self.policy).mean("trial").values
        points = coordinates(np.stack([runs["longitude"].values, runs["latitude"].values], axis=1))
        apart = np.linalg.norm(points[:, None] - points, axis=2)
        np.fill_diagonal(apart, np.inf)
        rough = np.abs(errors - errors[apart.argmin(axis=1)])
        return np.asarray(rough / errors.mean() if self.measure == "relative" else rough)


def _smoother(case: str, measure: str) -> Comparisons:
    return tuple(
        Comparison(
            f"{other} minus {WSPARQ}, difference of neighbours' errors",
            (Roughness(case, other, measure), Roughness(case, WSPARQ, measure)),
        )
        for other in OTHERS
    )


def _linear(case: str, policy: str, steps: int) -> Comparison:
    columns = (Column(case, policy, first=steps // 2 + 1, last=steps // 2 * 2),
               Column(case, policy, last=steps // 2))  # fmt: skip
    return Comparison(
        f"{policy}: second half minus {LINEAR:g} times the first, regret per step",
        columns,
        lambda samples: (samples[..., 0] - LINEAR * samples[..., 1]).mean(axis=-1),
    )


def relative_change(samples: Array) -> Array:
    """Return the mean of the first column divided by the mean of the second, minus 1."""
    means = samples.mean(axis=-2)
    return np.asarray(means[..., 0] / means[..., 1] - 1)


def tables(results: Results) -> tuple[ResultTable, ...]:
    """Return the changes of W-SparQ's regret and error at half and twice the l and the alpha."""

    def change(case: str, changed: str, measure: str) -> str:
        columns = (Column(case, changed, measure), Column(case, WSPARQ, measure))
        samples = np.stack([column.samples(results) for column in columns], axis=-1)
        low, high = interval(samples, relative_change)
        return in_words(100 * float(relative_change(samples)), 100 * low, 100 * high, ".1f")

    rows = tuple(
        (case, WSPARQ, changed.partition(", ")[2],
         change(case, changed, "regret"), change(case, changed, "squared_error"))
        for case in results
        for changed in CHANGED
    )  # fmt: skip
    columns = ("map", "policy", "hyperparameter", "change of regret, %", "change of error, %")
    return (ResultTable("Sensitivity to hyperparameters", columns, rows, printed=True),)


MONTHS = {"Europe": 276, "France": 237, "southern France": 180}
"""Steps of a run, half of the months of each map."""


def _claims(case: str) -> tuple[Claim, ...]:
    regret = tuple(lower((case, side), (case, other)) for side in SIDES for other in OTHERS)
    return (
        Claim(f"SparQ and W-SparQ have less regret than the bandits: {case}", regret, whose="ours"),
        Claim(f"The regret of all seven methods is linear: {case}",
              tuple(_linear(case, policy, MONTHS[case]) for policy in SEVEN), whose="ours"),
        Claim(f"W-SparQ has a lower squared prediction error than the bandits: {case}",
              lowest(case, WSPARQ, OTHERS, measure="squared_error"), whose="ours"),
        Claim(f"W-SparQ has smoother errors than the bandits: {case}",
              {"differences": _smoother(case, "absolute"),
               "relative to the mean error": _smoother(case, "relative")}, whose="ours"),
    )  # fmt: skip


EXPERIMENTS = (
    described(
        "m25-maps-se",
        tuple(
            Case(name, partial(setup, read), TRIALS, data=data, predictions=True)
            for name, (data, read) in MAPS.items()
        ),
        tuple(claim for case in MAPS for claim in _claims(case)),
        MAP_PANELS,
        tables=tables,
        further={"error-map": partial(error_map, case="Europe", unit="squared degrees C")},
        values={"LINEAR": LINEAR, "SAMPLES": SAMPLES},
    ),
)
