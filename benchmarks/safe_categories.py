"""Safe starts with categories: violations, and how soon other categories are reached.

A safe start covers one category of three plants, whose limit holds with probability 0.95:

- cooler: two modes; the heat 40 + 40 x is 5 lower in the second mode, where the reward is higher;
- machines: three machines and two parameters; the heat differs by -6 to 6 between machines, and its
  slope drifts along a sine;
- hazard: two modes; in the second one the heat is 25 higher, so that only x below 0.12 is safe.

The limit is 70, measurements have noise of standard deviation 1, and rewards of 0.05. Each plant is
run for 95 suggestions with 7 seeds, 1,995 suggestions in all. Figures are the share of measurements
that violate the limit (0.05 is promised), the number of suggestions in categories without a safe
start, the number of runs that reached one, and the median step at which it was reached.
`SAFE_SEEDS` sets the number of seeds, 7 by default.
"""

import warnings
from typing import Any

import numpy as np

import driftpeak as dp
from benchmarks._settings import whole_number

SEEDS, STEPS, LIMIT = whole_number("SAFE_SEEDS", 7), 95, 70.0
PLANTS = ("cooler", "machines", "hazard")
TARGETS = {
    "all: violations": "<= 0.05",
    "cooler: runs that reached another category": f">= {SEEDS}",
}
SPACES = {
    "cooler": dp.Box(x=dp.Float(0, 1), mode=dp.Categorical("a", "b")),
    "machines": dp.Box(x=dp.Float(0, 1), y=dp.Float(0, 1), mode=dp.Categorical("a", "b", "c")),
    "hazard": dp.Box(x=dp.Float(0, 1), mode=dp.Categorical("a", "b")),
}


def run() -> dict[str, Any]:
    """Return violations and reached categories by plant."""
    figures: dict[str, Any] = {}
    violated = measured = 0
    for plant in PLANTS:
        runs = [play(plant, seed) for seed in range(SEEDS)]
        heats = np.array([heat for heat, _ in runs])
        others = np.array([other for _, other in runs])
        violated, measured = violated + int((heats > LIMIT).sum()), measured + heats.size
        figures[f"{plant}: violations"] = float((heats > LIMIT).mean())
        figures[f"{plant}: suggestions in other categories"] = int(others.sum())
        figures[f"{plant}: runs that reached another category"] = int(others.any(axis=1).sum())
        first = [int(one.argmax()) for one in others if one.any()]
        figures[f"{plant}: median step"] = float(np.median(first)) if first else None
    figures["all: violations"] = violated / measured
    return figures


def play(plant: str, seed: int) -> tuple[Any, Any]:
    """Return the heat of each suggestion, and whether its category has no safe start."""
    generator = np.random.default_rng([seed, 3])
    space = SPACES[plant]
    start: dict[str, Any] = {name: 0.05 if plant == "hazard" else 0.2 for name in space.parameters}
    start["mode"] = "a"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of categories that are not reached yet
        optimizer = dp.Optimizer(
            space, maximize=True, seed=seed, safe_start=[start],
            constraints={"heat": dp.Limit(at_most=LIMIT, probability=0.95)},
        )  # fmt: skip
        heats, others = [], []
        for step in range(STEPS):
            suggestion: Any = optimizer.ask(step)
            heat, reward = response(plant, suggestion, step)
            heat += float(generator.normal())
            reward += 0.05 * float(generator.normal())
            optimizer.tell(suggestion, reward, constraints={"heat": heat})
            heats.append(heat)
            others.append(suggestion["mode"] != "a")
    return heats, others


def response(plant: str, setting: Any, step: int) -> tuple[float, float]:
    """Return heat and reward without noise."""
    x, mode = setting["x"], setting["mode"]
    if plant == "cooler":
        return 40 + 40 * x - 5 * (mode == "b"), x + 0.5 * (mode == "b")
    if plant == "hazard":
        return 40 + 40 * x + 25 * (mode == "b"), x + 0.5 * (mode == "b")
    number = "abc".index(mode)
    heat = 35 + (25 + 5 * np.sin(step / 20)) * (x + setting["y"]) + (0, 6, -6)[number]
    return heat, x + 0.5 * setting["y"] + (0, 0.2, 0.3)[number]
