"""A contributor adds a policy and an environment to a copy, by the steps of CONTRIBUTING.md."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
COPIED = ("src", "tests", "docs", "scripts", "benchmarks", "conftest.py", "pyproject.toml")
PAGES = ("CONTRIBUTING.md", "README.md", "CHANGELOG.md")
POLICY = '''\
"""Epsilon-greedy: the best average, and at times any point."""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from driftpeak._core.argument_types import checked
from driftpeak._core.arguments import RecordsArguments
from driftpeak._core.errors import unit_interval
from driftpeak._core.types import Scalar
from driftpeak.gp.priors import Prior
from driftpeak.policies.catalogue import Family, policy
from driftpeak.policies.player import Query, checked_reward
from driftpeak.policies.protocol import ActingPolicy


class GreedyState(NamedTuple):
    """Sums and numbers of the observations of each arm, and a random key."""

    sums: Float[Array, " n"]
    counts: Float[Array, " n"]
    key: PRNGKeyArray


@policy(
    "mostly-greedy",
    memory="all observations; arms are independent",
    defaults={"epsilon": 0.1},
    family=lambda make: Family(
        "mostly-greedy",
        lambda known: make(known.prior, epsilon=0.1),
        "epsilon",
        (0.05, 0.2),
        lambda known, epsilon, width: make(known.prior, epsilon=epsilon),
        wide_only=True,
    ),
)
class MostlyGreedy(RecordsArguments, ActingPolicy[GreedyState]):
    """Epsilon-greedy: the best average so far, or with probability `epsilon` any point.

    Arguments:
        prior: the number of points; its mean and covariance are not used.
        epsilon: probability of any point, in [0, 1].

    Raises:
        DriftpeakError: epsilon outside [0, 1].

    Source: none.
    """

    epsilon: Scalar
    size: int = eqx.field(static=True)

    @checked
    def __init__(self, prior: Prior, *, epsilon: float) -> None:
        self.epsilon = np.float64(unit_interval("epsilon", epsilon))
        self.size = len(prior)

    @property
    def points(self) -> int:
        return self.size

    def init(self, key: PRNGKeyArray) -> GreedyState:
        return GreedyState(jnp.zeros(self.size), jnp.zeros(self.size), key)

    def ask(self, state: GreedyState, time: Scalar) -> tuple[GreedyState, Query]:
        key, explores, where = jax.random.split(state.key, 3)
        best = jnp.argmax(state.sums / jnp.maximum(state.counts, 1.0))
        anywhere = jax.random.randint(where, (), 0, self.size)
        query = jnp.where(jax.random.uniform(explores) < self.epsilon, anywhere, best)
        return state._replace(key=key), query

    def tell(self, state: GreedyState, query: Query, reward: Scalar, time: Scalar) -> GreedyState:
        sums = state.sums.at[query].add(checked_reward(reward))
        return state._replace(sums=sums, counts=state.counts.at[query].add(1.0))
'''
ENVIRONMENT = '''\
"""A wave that moves along the points."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, PRNGKeyArray

from driftpeak._core.argument_types import checked
from driftpeak._core.errors import positive
from driftpeak._core.types import AnyArray, Scalar
from driftpeak.environments.catalogue import environment
from driftpeak.environments.protocol import Environment
from driftpeak.gp.priors import Prior


@environment(
    "moves along the points",
    name="wave",
    build=lambda prior, drift, steps: Wave(prior, period=float(steps)),
)
class Wave(Environment[AnyArray]):
    """A wave of amplitude 1 that passes all points in `period` steps.

    Arguments:
        prior: the number of points and the noise.
        period: steps of one round, positive.

    Raises:
        DriftpeakError: the period is not positive.

    Source: none.
    """

    noise_variance: Scalar
    period: Scalar
    size: int = eqx.field(static=True)

    @checked
    def __init__(self, prior: Prior, *, period: float) -> None:
        self.noise_variance = np.float64(prior.noise_variance)
        self.period = np.float64(positive("period", period))
        self.size = len(prior)

    def init(self, key: PRNGKeyArray) -> AnyArray:
        return jnp.zeros(())

    def step(self, state: AnyArray, time: Scalar) -> tuple[AnyArray, Array]:
        places = jnp.arange(self.size) / self.size
        return state, jnp.asarray(jnp.sin(2 * jnp.pi * (places - time / self.period)))
'''


def after(file, line, new):
    """Insert a line after another one, as a contributor would with an editor."""
    text = file.read_text()
    assert text.count(line) == 1, (file, line)
    file.write_text(text.replace(line, line + new))


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    """A copy of the repository with both new files and their lines of exports."""
    place = tmp_path_factory.mktemp("copy")
    for name in (*COPIED, *PAGES):
        source = ROOT / name
        (shutil.copytree if source.is_dir() else shutil.copy)(source, place / name)
    package = place / "src" / "driftpeak"
    for folder, module, name, text, before in (
        ("policies", "mostly_greedy", "MostlyGreedy", POLICY, "doubling import Doubling"),
        ("environments", "wave", "Wave", ENVIRONMENT, "recorded import RecordedRewards"),
    ):
        (package / folder / f"{module}.py").write_text(text)
        line = f"from .{before} as {before.split()[-1]}\n"
        stub = package / folder / "__init__.pyi"
        after(stub, line, f"from .{module} import {name} as {name}\n")
        after(package / "__init__.pyi", f"from .{folder} import (\n", f"    {name} as {name},\n")
    case = '    "Wave": (dp.Wave, {"prior": PRIOR, "period": 60.0}),\n'
    after(place / "tests" / "helpers" / "argument_cases.py", "CASES = POLICIES | {\n", case)
    return place


def execute(copy, *words):
    """Run Python in the copy."""
    paths = {"PYTHONPATH": os.pathsep.join((str(copy / "src"), str(copy)))}
    command = [sys.executable, *words]
    found = subprocess.run(
        command, cwd=copy, env=os.environ | paths, capture_output=True, text=True
    )
    assert found.returncode == 0, found.stdout[-5000:] + found.stderr[-5000:]
    return found.stdout


@pytest.fixture(scope="module")
def finished(copy):
    """The copy after the two commands that write generated files, and `make format`."""
    execute(copy, "-m", "driftpeak.offline._policy_specs")
    execute(copy, "tests/helpers/golden_decisions.py")
    execute(copy, "-m", "ruff", "check", "-q", "--fix", "src")
    execute(copy, "-m", "ruff", "format", "-q", "src")
    return copy


@pytest.mark.long
def test_both_are_on_the_command_line_and_in_the_package(finished):
    """`driftpeak compare` runs the new policy in the new environment."""
    words = ("compare", "--environment", "wave", "--policy", "mostly-greedy")
    out = execute(finished, "-m", "driftpeak", *words, "--steps", "20", "--trials", "2")
    assert "mostly-greedy" in out
    execute(finished, "-c", "import driftpeak as dp; dp.MostlyGreedy, dp.environments.Wave")


@pytest.mark.long
def test_the_existing_tests_cover_the_new_policy(finished):
    tests = (
        "tests/core/test_registries.py",
        "tests/core/test_arguments_fuzz.py::test_every_public_callable_is_tried",
        "tests/docs/test_public_modules.py",
        "tests/policies/test_decisions.py",
        "tests/policies/test_policies.py",
    )
    wanted = "registries or tried or modules or mostly or MostlyGreedy or is_recorded"
    words = ("-n", "0", "-q", "-p", "no:cacheprovider", "-k", wanted)
    out = execute(finished, "-m", "pytest", *words, *tests)
    for name in ("failed", "error"):
        assert name not in out


@pytest.mark.long
def test_formatter_linter_and_types_accept_both(finished):
    new = ("src/driftpeak/policies/epsilon_greedy.py", "src/driftpeak/environments/wave.py")
    execute(finished, "-m", "ruff", "check", "-q", "src")
    execute(finished, "-m", "ruff", "format", "-q", "--check", "src")
    execute(finished, "-m", "mypy", *new)
