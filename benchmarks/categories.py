"""Boxes with categories: regret in four environments, and whether the better category is found.

Environments, maximised, with noise of standard deviation 0.1:

- offsets, 3 categories: a bump of one parameter that moves along a sine, minus 0, 0.5 or 1 by
  category;
- shifted, 2 categories: a bump of two parameters on a slow random walk, whose place in the second
  category is shifted by 0.3, with an offset that changes its sign every 50 steps;
- independent, 4 categories: independent draws of a Gaussian process of one parameter (Matern 5/2,
  lengthscale 0.25, Markov drift with timescale 100);
- effects, 5 categories: 0.8 times such a draw of two parameters that all categories share, plus 0.6
  times an effect of each category, constant in space, with Markov drift of timescale 60.

Figures are the regret per step over 100 steps, relative to the regret in
`benchmarks/measured/categories.json`, which was measured with the earlier prior of choices (median
0.3 sqrt(d), deviation 0.7) and with initial suggestions that were not paired: geometric means with
95 % intervals over the seeds.

Decisions: rewards 10 - (speed - b)^2 - 0.3 (stages - 3)^2 with b = 5 + 3 sin(t / 15), minus a
difference in the worse of two categories, plus noise that is uniform in [-0.05, 0.05]. The figure
is the number of seeds in which `best()` has the better category after 40 and after 200 steps, for a
difference of 1 and of 0.2, with unordered choices, ordered choices, a Boolean, and a third
parameter that exists only in the better category and costs 4 (pressure - 0.3)^2.

`CATEGORY_SEEDS` sets the number of seeds, 20 by default, and `CATEGORY_PARTS` the parts, "regret
decisions" by default.
"""

import json
import os
from pathlib import Path
from typing import Any

import numpy as np

import driftpeak as dp
from benchmarks._drawn import fourier
from benchmarks._paired import ratio
from benchmarks._settings import whole_number

SEEDS = whole_number("CATEGORY_SEEDS", 20)
PARTS = os.environ.get("CATEGORY_PARTS", "regret decisions").split()
STEPS, NOISE = 100, 0.1
CHECKED = (40, 200)
STORED = Path(__file__).parent / "measured" / "categories.json"
GRID = {1: np.linspace(0, 1, 101)[:, None]}
GRID[2] = np.stack(np.meshgrid(*[np.linspace(0, 1, 25)] * 2), axis=-1).reshape(-1, 2)
ENVIRONMENTS = {  # number of categories and of further parameters
    "offsets": (3, 1),
    "shifted": (2, 2),
    "independent": (4, 1),
    "effects": (5, 2),
}
SPACES: dict[str, dict[str, Any]] = {
    "unordered": {"coolant": dp.Categorical("water", "oil")},
    "ordered": {"coolant": dp.Categorical("water", "oil", ordered=True)},
    "boolean": {"coolant": dp.Boolean()},
    "conditional": {
        "coolant": dp.Categorical("water", "oil"),
        "pressure": dp.Float(0, 1, when={"coolant": "water"}),
    },
}
TARGETS = {
    f"{space}, difference {gap:g}, step {step}": f">= {least * SEEDS:.1f}"
    for space in SPACES
    for gap, least in ((1.0, 1.0), (0.2, 0.9))
    for step in CHECKED
}


def run() -> dict[str, Any]:
    """Return regret ratios by environment, and numbers of correct decisions."""
    figures: dict[str, Any] = {}
    before = json.loads(STORED.read_text()) if STORED.exists() else {}
    for name in ENVIRONMENTS if "regret" in PARTS else ():
        lost = [regret(name, seed) for seed in range(SEEDS)]
        figures[f"{name}: regret per step"] = float(np.mean(lost))
        figures[f"{name}: regrets"] = json.dumps([round(one, 4) for one in lost])
        if name in before:
            figures[f"{name}: ratio"] = compared(lost, before[name])
    for space in SPACES if "decisions" in PARTS else ():
        for gap in (1.0, 0.2):
            found = np.array([decisions(space, gap, seed) for seed in range(SEEDS)])
            for step, count in zip(CHECKED, found.sum(axis=0), strict=True):
                figures[f"{space}, difference {gap:g}, step {step}"] = int(count)
    return figures


def compared(lost: list[float], before: list[float]) -> str:
    """Return the geometric mean of the ratio with its interval over the seeds of both."""
    both = np.array(list(zip(lost, before, strict=False))).T  # of the seeds that both have
    return str(ratio(*both[:, :, None]))


def regret(name: str, seed: int) -> float:
    """Return the regret per step of one study."""
    count, dimension = ENVIRONMENTS[name]
    value = environment(name, np.random.default_rng([list(ENVIRONMENTS).index(name), seed]))
    generator, grid = np.random.default_rng([seed, 5]), GRID[dimension]
    names = [f"x{j}" for j in range(dimension)]
    box = dp.Box({n: dp.Float(0, 1) for n in names} | {"kind": dp.Categorical(*range(count))})
    optimizer, lost = dp.Optimizer(box, maximize=True, seed=seed), 0.0
    for t in range(STEPS):
        suggestion = optimizer.ask(t)
        row, kind = np.array([[suggestion[n] for n in names]]), int(suggestion["kind"])
        chosen = float(value(row, kind, t)[0])
        lost += max(float(value(grid, each, t).max()) for each in range(count)) - chosen
        optimizer.tell(suggestion, chosen + NOISE * float(generator.normal()))
    return lost / STEPS


def environment(name: str, generator: np.random.Generator) -> Any:
    """Return a function of points, category and time."""
    count, dimension = ENVIRONMENTS[name]
    order = generator.permutation(count)
    phase = generator.uniform(0, 2 * np.pi)
    if name == "offsets":

        def offsets(points: Any, kind: int, time: float) -> Any:
            centre = 0.5 + 0.3 * np.sin(time / 15 + phase)
            return 2 - 8 * (points[:, 0] - centre) ** 2 - 0.5 * order[kind]

        return offsets
    if name == "shifted":
        walk = 0.35 + np.cumsum(generator.normal(size=(STEPS, 2)) * 0.015, axis=0)

        def shifted(points: Any, kind: int, time: float) -> Any:
            centre = walk[int(time)] + 0.3 * order[kind]
            offset = 0.4 * order[kind] * (1 if (time + 10 * phase) % 100 < 50 else -1)
            bump = np.exp(-((points - centre) ** 2).sum(axis=1) / (2 * 0.25**2))
            return 2 * bump + offset

        return shifted
    if name == "independent":
        draws = [fourier(dimension, 0.25, 1 / 100, generator) for _ in range(count)]
        return lambda points, kind, time: draws[kind](points, time)
    shared = fourier(dimension, 0.25, 1 / 100, generator)
    effects = np.zeros((STEPS, count))
    effects[0] = generator.normal(size=count)
    kept = np.exp(-1 / 60)
    for t in range(1, STEPS):
        effects[t] = kept * effects[t - 1] + (1 - kept**2) ** 0.5 * generator.normal(size=count)
    return lambda points, kind, time: 0.8 * shared(points, time) + 0.6 * effects[int(time), kind]


def decisions(space: str, gap: float, seed: int) -> list[bool]:
    """Return whether the best setting has the better category after 40 and 200 steps."""
    generator = np.random.default_rng(seed)
    parameters = {"speed": dp.Float(0, 10), "stages": dp.Integer(1, 6), **SPACES[space]}
    optimizer = dp.Optimizer(dp.Box(parameters), maximize=True, seed=seed)
    found = []
    for t in range(max(CHECKED)):
        s: Any = optimizer.ask(t)
        reward = 10 - (s["speed"] - 5 - 3 * np.sin(t / 15)) ** 2 - 0.3 * (s["stages"] - 3) ** 2
        reward -= gap * (s["coolant"] in ("oil", False))
        reward -= 4 * (s["pressure"] - 0.3) ** 2 if "pressure" in s else 0.0
        optimizer.tell(s, reward + 0.1 * generator.uniform(-0.5, 0.5))
        if t + 1 in CHECKED:
            found.append(optimizer.best()["coolant"] in ("water", True))
    return found
