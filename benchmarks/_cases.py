"""Shared code of benchmarks that run every case of the tournament."""

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

import driftpeak as dp
from driftpeak.experiments.experiment import Setup
from driftpeak.experiments.tournament.environments import WORLDS, simulated
from driftpeak.experiments.tournament.recordings import RECORDINGS, recorded
from driftpeak.offline.data import data_path

TRIALS, STARTS, DRAWS = 20, 5, 4000
Policies = Mapping[str, Any]


def ratios(variants: Callable[[Setup], Mapping[str, Policies]], usual: str) -> dict[str, Any]:
    """Return the regret of every other variant relative to the usual one, by case and overall.

    Arguments:
        variants: returns the settings of each variant of a case by name; a variant may lack a case.
            Its regret is the regret of the best setting in hindsight.
        usual: name of the variant with which the others are compared.

    Returns:
        The ratio in each case with its 95 % bootstrap interval, and geometric means over the
        environments and over the recordings. Recordings without data are skipped.
    """
    setups = {"worlds": {name: (lambda name=name: simulated(name), TRIALS) for name in WORLDS}}
    setups["recordings"] = {
        name: (lambda name=name, path=path: recorded(name, path), STARTS)
        for name, one in RECORDINGS.items()
        if (path := data_path(one.data)).exists()
    }
    figures: dict[str, Any] = {}
    for kind, cases in setups.items():
        found: dict[str, list[float]] = {}
        for case, (make, trials) in cases.items():
            setup = make()
            played = regrets(setup, variants(setup), trials, blocks=kind == "recordings")
            for name in played.keys() - {usual}:
                ratio, low, high = compared(played[name], played[usual])
                figures[f"  {case}: {name} / {usual}"] = f"{ratio:.2f} ({low:.2f} to {high:.2f})"
                found.setdefault(name, []).append(math.log(ratio))
        for name, logs in found.items():
            label = f"{kind} ({len(logs)}): {name} / {usual}"
            figures[label] = float(np.exp(np.mean(logs)))
    return figures


def regrets(
    setup: Setup, variants: Mapping[str, Policies], trials: int, *, blocks: bool
) -> dict[str, Any]:
    """Return the regrets of every variant: settings x trials, or x blocks of steps.

    Blocks have about sqrt(T) steps of the mean trial.
    """
    policies = {f"{v}: {n}": policy for v, own in variants.items() for n, policy in own.items()}
    runs = dp.simulate(
        policies, setup.environment, steps=setup.steps, trials=trials, progress=False
    )
    lost = runs["regret"].transpose("policy", "trial", "step").values
    if blocks:
        parts = np.array_split(lost.mean(axis=1), math.isqrt(setup.steps), axis=1)
        samples = np.stack([part.sum(axis=1) for part in parts], axis=1)
    else:
        samples = lost.mean(axis=2)
    by_name = dict(zip(runs["policy"].values.tolist(), samples, strict=True))
    return {
        variant: np.stack([by_name[f"{variant}: {name}"] for name in some])
        for variant, some in variants.items()
    }


def compared(one: Any, other: Any) -> tuple[float, float, float]:
    """Return the ratio of the lowest means over settings, with its interval over samples.

    The best settings are chosen again in every resample.
    """
    draws = np.random.default_rng(0).integers(one.shape[1], size=(DRAWS, one.shape[1]))
    best = [some[:, draws].mean(axis=2).min(axis=0) for some in (one, other)]
    low, high = np.quantile(best[0] / np.maximum(best[1], 1e-12), [0.025, 0.975])
    means = [some.mean(axis=1).min() for some in (one, other)]
    return float(means[0] / means[1]), float(low), float(high)
