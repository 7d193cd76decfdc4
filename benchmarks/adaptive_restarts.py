"""Regret of restarts on evidence and of restarts every H steps: AdaptiveRPERP and R-PERP.

The setting is 50 points on [0, 1], SE l = 0.2, noise sd 0.1, T = 10,000 and 20 trials. C is 1 (IT25
states no value) or 0.03, for which nothing is proved. IT25's own setting has 10 trials. B is twice
the root mean square norm. V_T, for the policy that knows it, is the mean variation of 20 other
trials, and rho is the standard deviation of the noise. Figures are regrets R_T, and regrets of the
other policies minus that of the adaptive policy at the same C, paired by trial, with 95 % bootstrap
intervals. Differences are positive if the adaptive policy has less regret.

    SEED=7 WORLDS="static;4 switches" python -m benchmarks adaptive_restarts    # some, elsewhere
"""

import math
import os
import sys
from typing import Any

import jax.numpy as jnp
import numpy as np

import driftpeak as dp
from benchmarks._settings import whole_number
from driftpeak.experiments.bootstrap import interval
from driftpeak.policies.elimination import PhasedElimination
from driftpeak.theory.variation import supremum_variation

TRIALS, SUPPORTS, NOISE = 20, 20, 0.1
OTHERS, OTHERS_SEED = 20, 2025  # trials from which V_T and B are estimated
CONSTANTS = (1.0, 0.03)
SEED = whole_number("SEED", 0, least=0)


class Rise(dp.AbruptSwitches):
    """An environment whose worst point and its neighbours rise above the best at the change."""

    def init(self, key: Any) -> Any:
        pieces = super().init(key)
        values = pieces.values[0]
        worst = values.argmin()
        risen = values + (values.max() - values.min() + 1) * self.pairs.rows(worst)
        return pieces._replace(values=jnp.stack([values, risen]))


def worlds() -> dict[str, tuple[dp.Prior, Any, int, int]]:
    """Return prior, environment, steps and trials by name."""
    line = dp.Prior(dp.Grid([0, 1], size=50), dp.SE(0.2), noise_variance=NOISE**2)
    short = dp.Prior(dp.Grid([0, 1], size=50), dp.SE(0.1), noise_variance=NOISE**2)
    square = dp.Prior(dp.Grid([0, 1], [0, 1], size=30), dp.SE(0.5), noise_variance=NOISE**2)

    def switches(number: int, steps: int = 10_000) -> Any:
        times = [round(steps * (k + 1) / (number + 1)) for k in range(number)]
        world = dp.AbruptSwitches(line, changes=times, supports=SUPPORTS)
        return line, world, steps, TRIALS

    def moving(world: Any, prior: dp.Prior = line) -> Any:
        return prior, world, 10_000, TRIALS

    it25 = dp.AbruptSwitches(square, changes=[1000, 2000], supports=10)
    return {
        "static": moving(dp.SlowChange(line, horizon=1e15, supports=SUPPORTS)),
        **{f"{n} switch{'es' * (n > 1)}": switches(n) for n in (1, 4, 16)},
        "4 switches, T = 20,000": switches(4, 20_000),
        "rise, l = 0.1": moving(Rise(short, changes=[5_000], supports=SUPPORTS), short),
        "slow change": moving(dp.SlowChange(line, horizon=10_000, supports=SUPPORTS)),
        **{
            f"Markov drift {drift}": moving(dp.MarkovDrift(line, drift=float(drift)))
            for drift in ("1e-5", "1e-4", "1e-3")
        },
        "IT25, SE": (square, it25, 5_000, 10),
    }


def make_policies(prior: dp.Prior, steps: int, norm: float, variation: float) -> dict[str, Any]:
    """Return all compared policies. In a static environment, a known V_T means no restarts."""
    policies: dict[str, Any] = {
        "random": dp.UniformRandom(prior),
        "ADA-OPKB": dp.ADAOPKB(prior, horizon=steps, reward_bound=norm + 5 * NOISE),
    }
    for constant in CONSTANTS:
        common: dict[str, Any] = {
            "horizon": steps, "norm_bound": norm, "noise_scale": NOISE, "constant": constant
        }  # fmt: skip
        known: dict[str, Any] = {"variation": variation} if variation > 1e-6 else {"period": steps}
        named = {
            "adaptive": dp.AdaptiveRPERP(prior, **common),
            "V_T known": dp.RPERP(prior, **known, **common),
            "V_T unknown": dp.RPERP(prior, **common),
            "no restarts": dp.RPERP(prior, period=steps, **common),
        }
        if constant == CONSTANTS[-1]:
            named["adaptive to any change"] = dp.AdaptiveRPERP(prior, evidence="change", **common)
            named |= {
                f"adaptive, r = {r:g}": dp.AdaptiveRPERP(prior, exploration=r, **common)
                for r in (0.0, 0.5)
            }
        policies |= {f"{name}, C = {constant:g}": policy for name, policy in named.items()}
    return policies


def play(name: str, prior: dp.Prior, world: Any, steps: int, trials: int) -> dict[str, Any]:
    """Return the figures of one environment."""
    norms, variations = [], []
    for number in range(OTHERS):  # one after another, to save memory
        functions = dp.true_functions(world, steps=steps, seed=OTHERS_SEED + number)[0]
        seen = functions[:: steps // 20] - prior.mean
        weights = np.linalg.lstsq(prior.features.matrix, seen.T, rcond=None)[0]
        norms.append((weights**2).sum(axis=0).mean())
        variations.append(supremum_variation(functions))
    norm, variation = 2 * math.sqrt(np.mean(norms)), float(np.mean(variations))
    policies = make_policies(prior, steps, norm, variation)
    runs = dp.simulate(policies, world, steps=steps, trials=trials, seed=SEED, progress=False)
    totals = {key: runs["regret"].sel(policy=key).sum("step").values for key in policies}
    figures: dict[str, Any] = {f"{name}: B": norm, f"  V_T ({name})": variation}
    for key, total in totals.items():
        figures[f"  {key} ({name})"] = _shown(total)
        if key.lower().startswith("ada"):
            restarts = runs["restarts"].sel(policy=key).sum("step").values
            figures[f"    its restarts ({name}: {key})"] = f"{restarts.mean():.3g}"
        elif isinstance(policies[key], PhasedElimination):
            figures[f"    its period ({name}: {key})"] = policies[key].period
        adaptive = f"adaptive, C = {key.partition(', C = ')[2] or CONSTANTS[-1]}"
        if key != adaptive:
            figures[f"    minus adaptive ({name}: {key})"] = _shown(total - totals[adaptive])
    for key, value in figures.items():
        print(f"{key}: {value}", file=sys.stderr, flush=True)  # a run takes some minutes
    return figures


def run() -> dict[str, Any]:
    """Return the figures of all environments, or of those in the variable WORLDS."""
    every = worlds()
    figures: dict[str, Any] = {}
    for name in filter(None, os.environ.get("WORLDS", ";".join(every)).split(";")):
        figures |= play(name, *every[name])
    return figures


def _shown(samples: Any) -> str:
    low, high = interval(samples[:, None], lambda x: x[..., 0].mean(axis=-1))
    return f"{samples.mean():,.0f} [{low:,.0f}, {high:,.0f}]"
