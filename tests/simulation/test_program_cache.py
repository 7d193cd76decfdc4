"""Simulations of later processes read their programs from the cache, with equal results."""

import json
import os
import subprocess
import sys

import pytest

SIMULATION = """
import json
import driftpeak as dp
import jax
compiled = []
jax.monitoring.register_event_duration_secs_listener(
    lambda event, seconds, **_: compiled.append(event) if "backend_compile" in event else None
)
prior = dp.Prior(dp.Grid([0, 1], size=20), dp.SE(0.2), noise_variance=0.01)
policies = {
    "GP": dp.GPUCB(prior),
    "R": dp.RGPUCB(prior, period=5),
    "SW": dp.SWGPUCB(prior, window=5),
    "auto": dp.Auto(prior),
}
runs = dp.simulate(policies, dp.MarkovDrift(prior, drift=0.05), steps=20, trials=3, seed=1)
print(json.dumps([len(compiled), runs["regret"].values.tolist(), runs["action"].values.tolist()]))
"""


def simulate(cache):
    """Return the number of compilations, the regrets and the actions of a new process."""
    environment = os.environ | {"DRIFTPEAK_CACHE": str(cache)}
    done = subprocess.run(
        [sys.executable, "-c", SIMULATION], capture_output=True, text=True, env=environment
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.slow
def test_the_second_process_compiles_less(tmp_path):
    alone, *results = simulate("off")
    first, *written = simulate(tmp_path)
    second, *read = simulate(tmp_path)
    assert first == alone
    # two programs of each of the four policies, and two of the environment
    assert second <= first - 10
    assert results == written == read
    assert len(list(tmp_path.glob("programs/*/lowered-*"))) == 10
