"""On a GPU, where JAX finds one, policies decide as on the cores; programs stay on their device."""

import os
import subprocess
import sys

import jax
import numpy as np
import pytest

import driftpeak as dp


def gpus():
    try:
        return jax.devices("gpu")
    except RuntimeError:
        return []


def on_a_gpu(test):
    skipping = pytest.mark.skipif(not gpus(), reason="JAX finds no GPU")
    return pytest.mark.gpu(skipping(test))


LINE = dp.Prior(dp.Grid([0, 1], size=40), dp.SE(lengthscale=0.2), noise_variance=0.01)
POLICIES = {
    "TV": dp.TVGPUCB(LINE, drift=0.01),
    "R": dp.RGPUCB(LINE, period=20),
    "SW": dp.SWGPUCB(LINE, window=15),
    "W": dp.WGPUCB(LINE, discount=0.95),
    "UI": dp.UIGPUCB(LINE, exponent=1.0),
    "auto": dp.Auto(LINE),
}


TWO_DEVICES = """
import jax
import driftpeak as dp
from driftpeak.simulation import _chunk_runner as stage

made, own = [], stage.program_of

def program_of(function, arguments, **how):
    program, seconds = own(function, arguments, **how)
    def noted(*arguments):
        played = program(*arguments)
        made.append({str(one) for leaf in jax.tree.leaves(played) for one in leaf.devices()})
        return played
    return noted, seconds

stage.program_of = program_of
prior = dp.Prior(dp.Grid([0, 1], size=5), dp.SE(lengthscale=0.2), noise_variance=0.01)
for device in jax.devices("cpu"):
    with jax.default_device(device):
        policies = {"GP": dp.GPUCB(prior)}
        dp.simulate(policies, dp.MarkovDrift(prior, drift=0.01), steps=3, progress=False)
print(*made)
"""


@pytest.mark.slow
def test_what_one_device_compiled_another_does_not_take():
    """On two devices that JAX makes of the cores: each plays on its own."""
    flags = {"XLA_FLAGS": "--xla_force_host_platform_device_count=2"}
    found = subprocess.run(
        [sys.executable, "-c", TWO_DEVICES], env=os.environ | flags, capture_output=True, text=True
    )
    assert found.stdout == "{'TFRT_CPU_0'} {'TFRT_CPU_1'}\n", found.stderr


@on_a_gpu
def test_the_same_decisions():
    """Rounding differs; a decision that it turns must be between bounds that are all but equal."""
    runs = []
    for device in (jax.devices("cpu")[0], gpus()[0]):
        with jax.default_device(device):
            world = dp.MarkovDrift(LINE, drift=0.01)
            runs.append(dp.simulate(POLICIES, world, steps=60, trials=3, progress=False))
    cores, gpu = runs
    np.testing.assert_allclose(gpu["regret"], cores["regret"], atol=1e-6)
    assert (gpu["action"] == cores["action"]).mean() > 0.99


@on_a_gpu
def test_the_live_optimiser():
    """The same is believed of the same rewards; lengthscales are found by climbing: five digits."""
    found = []
    for device in (jax.devices("cpu")[0], gpus()[0]):
        with jax.default_device(device):
            optimizer = dp.Optimizer(dp.Box(x=dp.Float(0, 1), y=dp.Float(0, 1)), maximize=True)
            generator = np.random.default_rng(0)
            for step in range(40):
                x, y = generator.uniform(size=2)
                optimizer.tell({"x": x, "y": y}, np.sin(5 * x) - y**2, float(step))
            found.append(optimizer.belief([{"x": 0.3, "y": 0.1}, {"x": 0.8, "y": 0.9}]))
    np.testing.assert_allclose(found[1], found[0], rtol=1e-5)
