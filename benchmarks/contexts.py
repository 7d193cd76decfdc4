"""What being told the context gains, and what it costs where contexts mean nothing.

Simulated: Markov drift of 0.01 a step (B16) on 40 points of [0, 1] in each context, SE kernel,
lengthscale 0.2, the function's correlation between two contexts rho, noise deviation 0.1; contexts
drawn uniformly, T = 300, 40 trials. TV-GP-UCB told the context, with rho given, as a multiple of
the regret of TV-GP-UCB without, paired, ± standard error. rho = 1: contexts mean nothing.

Recorded: made-up tables of 400 rows of 6 arms that wander (AR(1), 0.95), the first 60 % to learn
from; a column of 4 contexts adds to every arm a normal number of so many deviations of the rows.
`auto` told, as a multiple of `auto (not told)`: ratio of the sums over 20 tables, 95 % interval by
bootstrap over tables. Size 0: the column means nothing, which has to be learned.
"""

from typing import Any

import numpy as np

import driftpeak as dp
from driftpeak.offline.data import RewardTable
from driftpeak.offline.replay import replay

STEPS, TRIALS, TABLES = 300, 40, 20
KINDS, SHARED, SIZES = (2, 8), (0.0, 0.5, 0.9, 1.0), (0.0, 0.3, 1.0)


def run() -> dict[str, str]:
    """Ratios of regrets, by number of contexts and correlation, and by size."""
    figures = {}
    for kinds in KINDS:
        for shared in SHARED:
            found, plain = simulated(kinds, shared)
            away = (found - plain).std(ddof=1) / np.sqrt(TRIALS) / plain.mean()
            name = f"simulated, {kinds} contexts, rho {shared:g}"
            figures[name] = f"{found.mean() / plain.mean():.2f} ± {away:.2f}"
    for size in SIZES:
        told, untold = np.array([recorded(size, seed) for seed in range(TABLES)]).T
        drawn = np.random.default_rng(0).integers(TABLES, size=(10_000, TABLES))
        low, high = np.quantile(told[drawn].sum(1) / untold[drawn].sum(1), [0.025, 0.975])
        ratio = told.sum() / untold.sum()
        figures[f"recorded, size {size:g}"] = f"{ratio:.2f} [{low:.2f}, {high:.2f}]"
    return figures


def simulated(kinds: int, shared: float) -> Any:
    """Regret per step of every trial, told and not told."""
    line = dp.Grid([0, 1], size=40)
    plain = dp.Prior(line, dp.SE(lengthscale=0.2), noise_variance=0.01)
    contexts = dp.Contexts(np.random.default_rng(kinds).integers(0, kinds, STEPS))
    alike = np.full((kinds, kinds), shared)
    np.fill_diagonal(alike, 1.0)
    cells = dp.Arms(contexts.cells(line).points)
    prior = dp.Prior(cells, dp.kernels.Table(np.kron(alike, plain.gram)), noise_variance=0.01)
    policies = {
        "told": dp.InContext(dp.TVGPUCB(prior, drift=0.01), contexts),
        "not told": dp.TVGPUCB(plain, drift=0.01),
    }
    world = dp.WorldInContext(dp.MarkovDrift(prior, drift=0.01), contexts)
    runs = dp.simulate(policies, world, steps=STEPS, trials=TRIALS, progress=False)
    regret = runs["regret"].mean("step")
    return regret.sel(policy="told").values, regret.sel(policy="not told").values


def recorded(size: float, seed: int) -> tuple[float, float]:
    """Regret per step of `auto`, told and not told, in one table."""
    generator = np.random.default_rng(seed)
    rows = np.zeros((400, 6))
    for step in range(1, len(rows)):
        rows[step] = 0.95 * rows[step - 1] + generator.normal(0, np.sqrt(1 - 0.95**2), 6)
    numbers = generator.integers(0, 4, len(rows))
    rows += size * generator.normal(size=(4, 6))[numbers]
    rows += generator.normal(0, 0.3, rows.shape)
    names = tuple("abcdef")
    said = {"kind": tuple("wxyz"[number] for number in numbers)}
    table = RewardTable(rows, names, None, None, contexts=said)
    runs = replay(table, ("auto",), progress=False)
    regret = runs["regret"].mean(("trial", "step"))
    return float(regret.sel(policy="auto")), float(regret.sel(policy="auto (not told)"))
