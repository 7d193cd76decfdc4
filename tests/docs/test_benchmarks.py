"""Every benchmark can be loaded: pages name them as the commands that reproduce their numbers."""

import importlib
import pkgutil

import benchmarks
import pytest

NEED_MORE = {"_agents", "_ray_pb2", "botorch"}  # libraries that the tests do not install
NAMES = sorted(module.name for module in pkgutil.iter_modules(benchmarks.__path__))


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(set(NAMES) - NEED_MORE))
def test_loads(name):
    importlib.import_module(f"benchmarks.{name}")
