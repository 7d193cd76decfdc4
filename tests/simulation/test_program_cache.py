"""Simulations and fleets of later processes read their programs from the cache: equal results."""

import json
import os
import subprocess
import sys

import pytest

START = """
import json
import driftpeak as dp
import jax
compiled = []
jax.monitoring.register_event_duration_secs_listener(
    lambda event, seconds, **_: compiled.append(event) if "backend_compile" in event else None
)
prior = dp.Prior(dp.Grid([0, 1], size=20), dp.SE(0.2), noise_variance=0.01)
"""
SIMULATION = """
policies = {
    "GP": dp.GPUCB(prior),
    "R": dp.RGPUCB(prior, period=5),
    "SW": dp.SWGPUCB(prior, window=5),
    "auto": dp.Auto(prior),
}
runs = dp.simulate(policies, dp.MarkovDrift(prior, drift=0.05), steps=20, trials=3, seed=1)
print(json.dumps([len(compiled), runs["regret"].values.tolist(), runs["action"].values.tolist()]))
"""
FLEET = """
fleet = dp.Fleet(prior.domain, 3, policy=dp.Auto(prior))
points = []
for step in range(4):
    asked = fleet.ask(time=step)
    points.append(asked.points.tolist())
    fleet.tell(asked.ids, [0.1 * step, 0.2, 0.3])
print(json.dumps([len(compiled), points]))
"""


def run(script, cache):
    """Return the number of compilations, and what a new process computes."""
    environment = os.environ | {"DRIFTPEAK_CACHE": str(cache)}
    done = subprocess.run(
        [sys.executable, "-c", START + script], capture_output=True, text=True, env=environment
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("script", "count"),
    [
        # two programs of each of the four policies, and two of the environment
        pytest.param(SIMULATION, 10, id="simulation"),
        pytest.param(FLEET, 3, id="fleet"),  # to start, ask and tell
    ],
)
def test_the_second_process_compiles_less(tmp_path, script, count):
    alone, *results = run(script, "off")
    first, *written = run(script, tmp_path)
    second, *read = run(script, tmp_path)
    assert first == alone
    assert second <= first - count
    assert results == written == read
    assert len(list(tmp_path.glob("programs/*/lowered-*"))) == count
