"""Effect of context information on the regret, with and without an influence of the context.

Simulated: Markov drift of 0.01 a step (B16) on 40 points of [0, 1] in each context, SE kernel,
lengthscale 0.2, correlation rho between the functions of two contexts, noise standard deviation
0.1. Contexts are drawn uniformly, T = 300, 40 trials. The figure is the regret of TV-GP-UCB with
the context and the true rho relative to TV-GP-UCB without the context, paired, ± standard error.
With rho = 1, contexts have no influence.

Recorded: artificial tables of 400 rows of 6 arms (AR(1), 0.95), of which the first 60 % are for
learning. A column of 4 contexts adds to every arm a normal number whose standard deviation is the
size times that of the rows. The figure is the regret of `auto` with the context relative to
`auto (without contexts)`: the ratio of the sums over 20 tables with a 95 % interval by bootstrap
over tables. At size 0 the column has no influence, which has to be learned.
"""

from typing import Any

import numpy as np

import driftpeak as dp
from driftpeak.offline.data import RewardTable
from driftpeak.offline.replay import replay

STEPS, TRIALS, TABLES = 300, 40, 20
KINDS, SHARED, SIZES = (2, 8), (0.0, 0.5, 0.9, 1.0), (0.0, 0.3, 1.0)


def run() -> dict[str, str]:
    """Return ratios of regrets, by number of contexts and correlation, and by size."""
    figures = {}
    for kinds in KINDS:
        for shared in SHARED:
            informed, plain = simulated(kinds, shared)
            away = (informed - plain).std(ddof=1) / np.sqrt(TRIALS) / plain.mean()
            name = f"simulated, {kinds} contexts, rho {shared:g}"
            figures[name] = f"{informed.mean() / plain.mean():.2f} ± {away:.2f}"
    for size in SIZES:
        informed, plain = np.array([recorded(size, seed) for seed in range(TABLES)]).T
        drawn = np.random.default_rng(0).integers(TABLES, size=(10_000, TABLES))
        low, high = np.quantile(informed[drawn].sum(1) / plain[drawn].sum(1), [0.025, 0.975])
        ratio = informed.sum() / plain.sum()
        figures[f"recorded, size {size:g}"] = f"{ratio:.2f} [{low:.2f}, {high:.2f}]"
    return figures


def simulated(kinds: int, shared: float) -> Any:
    """Return the regret per step of every trial, with and without the context."""
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
    world = dp.ContextualEnvironment(dp.MarkovDrift(prior, drift=0.01), contexts)
    runs = dp.simulate(policies, world, steps=STEPS, trials=TRIALS, progress=False)
    regret = runs["regret"].mean("step")
    return regret.sel(policy="told").values, regret.sel(policy="not told").values


def recorded(size: float, seed: int) -> tuple[float, float]:
    """Return the regret per step of `auto` with and without the context on one table."""
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
    return float(regret.sel(policy="auto")), float(regret.sel(policy="auto (without contexts)"))
