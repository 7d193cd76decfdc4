"""Choice between momentum and Markov drift by evidence: its effect on the regret.

The functions have one to three dimensions and move in five ways. Four are draws of a Gaussian
process (Matern 5/2, random lengthscales, 400 random Fourier features) with Markov drift, with
momentum (Matern 3/2), with smoother motion (Gaussian in time), or without motion. The fifth is a
bump that oscillates. Timescales are 20 to 200 evaluations, the noise is a tenth of the function's
standard deviation, and there are 80 evaluations.

Figures are the regret per step of "momentum" and of "auto", the default, relative to "markov":
geometric means with 95 % bootstrap intervals over functions. In addition, the number of functions
is given for which auto ended with momentum. The prior probability of momentum was chosen on 30
other functions of the same kinds.
"""

from typing import Any

import numpy as np
from scipy.stats import qmc

import driftpeak as dp
from benchmarks._paired import ratio
from benchmarks._settings import whole_number
from driftpeak.live._model.covariance import RATE

KINDS = ("markov", "momentum", "smooth", "still", "bump")
WORLDS = range(100, 100 + 5 * whole_number("LIVE_WORLDS", 6))
PLAYERS = ("markov", "momentum", "auto")
EVALUATIONS, FEATURES, NOISE = 80, 400, 0.1


def run() -> dict[str, Any]:
    """Return regret ratios and the numbers of choices of momentum."""
    policies = [dp.DriftingGP(forgetting=player) for player in PLAYERS]
    played = [[play(number, policy) for policy in policies] for number in WORLDS]
    regrets = np.array([[regret for regret, _ in row] for row in played])
    chosen = np.array([row[PLAYERS.index("auto")][1] == "momentum" for row in played])
    kinds, figures = np.array([KINDS[number % 5] for number in WORLDS]), {}
    for kind in (*KINDS, "all"):
        which = np.flatnonzero((kinds == kind) | (kind == "all"))
        for column, player in enumerate(PLAYERS[1:], start=1):
            middle, low, high = ratio(regrets[which, column, None], regrets[which, 0, None])
            figures[f"{kind}: {player} / markov"] = f"{middle:.3f} ({low:.3f} to {high:.3f})"
        figures[f"{kind}: auto ended with momentum"] = f"{chosen[which].sum()} of {len(which)}"
    return figures


def play(number: int, policy: dp.DriftingGP) -> tuple[float, str]:
    """Return the regret per step on one function, and the estimated motion at the end."""
    kind, dimension = KINDS[number % 5], 1 + number // 5 % 3
    value = world(kind, dimension, np.random.default_rng([number, 99]))
    generator = np.random.default_rng([number, 5])
    everywhere = qmc.Sobol(dimension, rng=np.random.default_rng(1)).random(512)
    box = dp.Box({f"x{j}": dp.Float(0, 1) for j in range(dimension)})
    optimizer, lost = dp.Optimizer(box, maximize=True, seed=number, policy=policy), 0.0
    for t in range(EVALUATIONS):
        suggestion = optimizer.ask(t)
        chosen = float(value(np.array([list(suggestion.values())]), t)[0])
        lost += max(float(value(everywhere, t).max()) - chosen, 0.0)
        optimizer.tell(suggestion, chosen + NOISE * float(generator.normal()))
    return lost / EVALUATIONS, str(optimizer.diagnostics().motion)


def world(kind: str, dimension: int, generator: np.random.Generator) -> Any:
    """Return a function of points and time with variance about one."""
    scale = np.exp(generator.uniform(np.log(0.15), np.log(0.6), dimension)) * dimension**0.5
    timescale = np.exp(generator.uniform(np.log(20), np.log(200)))
    if kind == "bump":
        phase, width = generator.uniform(0, 2 * np.pi, dimension), generator.uniform(0.15, 0.4)
        period = np.exp(generator.uniform(np.log(80), np.log(600), dimension))

        def bump(points: Any, time: float) -> Any:
            centre = 0.5 + 0.4 * np.sin(2 * np.pi * time / period + phase)
            return 2 * np.exp(-((points - centre) ** 2).sum(axis=1) / (2 * width**2 * dimension))

        return bump

    def student(freedom: int) -> Any:
        return np.sqrt(freedom / generator.chisquare(freedom, FEATURES))

    normal = generator.standard_normal((FEATURES, dimension))
    across = normal / scale * student(5)[:, None]
    along = generator.standard_normal(FEATURES)
    frequencies = {  # spectral densities of the correlations in time
        "markov": along * student(1) / timescale,
        "momentum": along * student(3) * RATE / timescale / 3**0.5,
        "smooth": along * (2 / np.log(2)) ** 0.5 / timescale,
        "still": 0.0 * along,
    }[kind]
    phases = generator.uniform(0, 2 * np.pi, FEATURES)

    def draw(points: Any, time: float) -> Any:
        waves = np.cos(points @ across.T + frequencies * time + phases)
        return (2 / FEATURES) ** 0.5 * waves.sum(axis=1)

    return draw
