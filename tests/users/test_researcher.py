"""A researcher: a figure of a paper, an own policy in an own environment, and Dask."""

import csv
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import driftpeak as dp
from driftpeak.environments import Environment
from driftpeak.policies.player import checked_reward
from driftpeak.policies.testing import check_policy

PRIOR = dp.Prior(dp.Grid([0, 1], size=20), dp.SE(0.2), noise_variance=0.01)


class GreedyState(NamedTuple):
    means: Any
    key: Any


class Greedy(dp.ActingPolicy[GreedyState]):
    """The largest average of the last rewards, and at times any point."""

    size: int = eqx.field(static=True)
    rate: float = 0.3

    @property
    def points(self):
        return self.size

    def init(self, key):
        return GreedyState(jnp.ones(self.size), key)

    def ask(self, state, time):
        key, explores, where = jax.random.split(state.key, 3)
        anywhere = jax.random.randint(where, (), 0, self.size)
        query = jnp.where(jax.random.uniform(explores) < 0.1, anywhere, jnp.argmax(state.means))
        return state._replace(key=key), query

    def tell(self, state, query, reward, time):
        gap = checked_reward(reward) - state.means[query]
        return state._replace(means=state.means.at[query].add(self.rate * gap))


class Wave(Environment[Any]):
    """A wave that passes all points in 60 steps."""

    size: int = eqx.field(static=True)
    noise_variance: Any = eqx.field(default_factory=lambda: np.float64(0.01))

    def init(self, key):
        return jnp.zeros(())

    def step(self, state, time):
        places = jnp.arange(self.size) / self.size
        return state, jnp.sin(2 * jnp.pi * (places - time / 60))


def policies():
    return {
        "mine": Greedy(size=20),
        "TV-GP-UCB": dp.TVGPUCB(PRIOR, drift=0.03),
        "random": dp.UniformRandom(PRIOR),
    }


@pytest.mark.slow
def test_a_figure_of_a_paper(run, tmp_path):
    """Claims, figures, and tables in three formats with readable names of the cases."""
    code, _, err = run("reproduce", "b16-fig2a", "--quick", "--output", tmp_path / "out")
    assert code == 0, err
    names = {file.suffix for file in (tmp_path / "out").rglob("*")}
    assert {".md", ".tex", ".csv", ".png"} <= names
    (table,) = [*(tmp_path / "out").rglob("*.csv")][:1]
    rows = list(csv.DictReader(table.read_text().splitlines()))
    assert rows
    assert rows[0]["case"] == "eps = 0.001"


@pytest.mark.slow
def test_an_own_policy_in_an_own_environment(capsys):
    check_policy(Greedy(size=20))
    runs = dp.simulate(policies(), Wave(size=20), steps=120, trials=10, seed=0, progress=False)
    printed = dp.table(runs).to_markdown(form="plus-minus")
    assert all(name in printed for name in policies())
    assert "±" in printed
    regret = runs["regret"].mean(("trial", "step"))
    assert regret.sel(policy="TV-GP-UCB") < regret.sel(policy="random")
    compared = dp.simulation.verdict(runs, independent_trials=True).others["random"]
    assert compared.interval[0] < compared.difference < compared.interval[1]


@pytest.mark.slow
def test_the_same_results_on_dask():
    distributed = pytest.importorskip("distributed")
    alone = dp.simulate(policies(), Wave(size=20), steps=20, trials=4, seed=0, progress=False)
    with distributed.Client(processes=False, n_workers=1, dashboard_address=None) as client:
        spread = dp.simulate(
            policies(), Wave(size=20), steps=20, trials=4, seed=0, progress=False, executor=client
        )
    np.testing.assert_array_equal(alone["action"], spread["action"])
