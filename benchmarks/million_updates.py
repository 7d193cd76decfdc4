"""Error of the feature-space posterior after a million updates, below 1e-6.

Random points of a 10 x 10 grid (exact features) and of a line of 100 points (features to 1e-10) are
observed one by one. The reference is dense NumPy with the exact covariance. It uses per-point
counts and sums for `keep`, and the observations with a weight above zero for the other rules. The
error is measured with `refresh` every 4,096 updates, as in `driftpeak.simulate`, and without.
"""

from itertools import product
from typing import Any

import jax
import numpy as np

import driftpeak as dp
from driftpeak._core.numerics.precision import double_precision
from driftpeak._core.numerics.threads import single_threaded_lapack
from driftpeak.gp.forgetting import Discount, Drift, Forgetting, Keep, Restart, Window

BLOCK, BLOCKS = 4096, 245
UPDATES = BLOCK * BLOCKS  # 1,003,520
RULES: dict[str, Forgetting] = {
    "keep": Keep(),
    "window 50": Window(50),
    "drift 0.01": Drift(0.01),
    "restart 50": Restart(50),
    "discount 0.9": Discount(0.9),
}
DOMAINS = {"grid": dp.Grid([0, 1], [0, 1], size=10), "line": dp.Grid([0, 1], size=100)}
TARGETS = {
    f"{name}, {place}: {what}": "<= 1e-6"
    for name, place, what in product(RULES, DOMAINS, ("mean", "variance"))
}


@double_precision
def run() -> dict[str, Any]:
    """Return the largest error of mean and variance over the points, for the prior variance 1."""
    figures: dict[str, Any] = {"updates": UPDATES}
    for place, domain in DOMAINS.items():
        prior = dp.Prior(domain, dp.SE(lengthscale=0.2), noise_variance=0.01)
        generator = np.random.default_rng(0)
        arms = generator.integers(len(prior), size=UPDATES)
        values = prior.features.matrix @ generator.normal(size=prior.features.rank)
        rewards = values[arms] + 0.1 * generator.normal(size=UPDATES)
        figures[f"features ({place})"] = prior.features.rank
        for name, rule in RULES.items():
            mean, variance = _afresh(prior, rule, arms, rewards)
            for refreshed in (True, False):
                with single_threaded_lapack():
                    found = _updated(prior, rule, arms, rewards, refreshed)
                off = np.abs([found.mean - mean, found.variance - variance]).max(axis=1)
                if refreshed:
                    figures[f"{name}, {place}: mean"] = float(off[0])
                    figures[f"{name}, {place}: variance"] = float(off[1])
                else:
                    figures[f"  {name}, {place}, without refresh: worst"] = float(off.max())
    return figures


def _updated(prior: dp.Prior, rule: Forgetting, arms: Any, rewards: Any, refreshed: bool) -> Any:
    belief = dp.make_belief(prior, rule, UPDATES, form="feature-space")
    belief = jax.device_put(belief)
    state, refresh = belief.init(), jax.jit(type(belief).refresh)

    @jax.jit
    def block(state: Any, arms: Any, rewards: Any, times: Any) -> Any:
        def step(state: Any, inputs: Any) -> tuple[Any, None]:
            return belief.update(state, *inputs), None

        return jax.lax.scan(step, state, (arms, rewards, times))[0]

    for start in range(0, UPDATES, BLOCK):
        state = refresh(belief, state) if refreshed else state  # BLOCK updates before the end
        rows = slice(start, start + BLOCK)
        state = block(state, arms[rows], rewards[rows], np.arange(1.0 + start, 1 + start + BLOCK))
    # evaluated at the time of the last update, before any further discount
    return jax.tree.map(np.asarray, belief.posterior(state, float(UPDATES)))


def _afresh(prior: dp.Prior, rule: Forgetting, arms: Any, rewards: Any) -> tuple[Any, Any]:
    """Return posterior mean and variance from the observations with a weight above zero."""
    noise, gram = prior.noise_variance, prior.gram
    if isinstance(rule, Keep):
        counts = np.bincount(arms, minlength=len(prior))
        averages = np.bincount(arms, rewards, minlength=len(prior)) / counts
        return _regress(gram, gram, noise / counts, averages)
    memory = {Window: 50, Restart: (UPDATES - 1) % 50 + 1, Discount: 350, Drift: 7350}[type(rule)]
    arms, rewards, ages = arms[-memory:], rewards[-memory:], np.arange(memory)[::-1]
    cross, among = gram[arms], gram[np.ix_(arms, arms)]
    inflation = 0.9**-ages if isinstance(rule, Discount) else np.ones(memory)
    if isinstance(rule, Drift):
        cross = cross * 0.99 ** (ages[:, None] / 2)
        among = among * 0.99 ** (np.abs(ages[:, None] - ages) / 2)
    return _regress(among, cross, noise * inflation, rewards)


def _regress(among: Any, cross: Any, noise: Any, rewards: Any) -> tuple[Any, Any]:
    solved = np.linalg.solve(among + np.diag(noise), np.column_stack([cross, rewards]))
    return cross.T @ solved[:, -1], 1 - np.sum(cross * solved[:, :-1], axis=0)
