"""Lowered programs are kept where a folder is named, and do what they would do without."""

import json
import subprocess
import sys
from threading import Thread
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from driftpeak._core.numerics import compiler, disk_cache as kept
from driftpeak._core.numerics.compiled import (
    NotCompiledError,
    _without_cache_of_jax,
    compiled,
    compiling_only_if,
)
from driftpeak._core.numerics.compiler import soon
from driftpeak.cli.spinner import COMPILING, compilation_shown

MATRIX = np.array([[4.0, 2.0], [2.0, 5.0]], np.float32)
LOWER = np.array([[2.0, 0.0], [1.0, 2.0]])
TRACED = []


class Factor(NamedTuple):
    lower: jax.Array
    scale: jax.Array


def factor(matrix, scale, switch=None):
    TRACED.append(scale)
    return Factor(jnp.linalg.cholesky(matrix), scale * jnp.ones(2)), matrix.sum()


@pytest.fixture
def folder(tmp_path):
    TRACED.clear()
    kept.keep_in(tmp_path)
    with _without_cache_of_jax():  # which an earlier test may have switched on
        yield tmp_path
    kept.keep_in(None)


def check(function, *, traced, scale=3.0, matrix=MATRIX, switch=None):
    """As by hand, and traced so many times in all."""
    found, total = function(matrix, scale, switch)
    assert type(found) is Factor
    np.testing.assert_allclose(found.lower, LOWER, rtol=1e-6)
    np.testing.assert_allclose(found.scale, np.full(2, scale))
    assert total == matrix.sum()
    assert len(TRACED) == traced


def test_it_is_traced_once_for_all_processes(folder):
    first = compiled(factor)
    check(first, traced=1)
    check(first, traced=1, scale=4.0)
    check(compiled(factor), traced=1, scale=5.0)
    (one,) = folder.iterdir()
    assert one.name.startswith("factor-")


def test_what_it_is_called_with_tells_programs_apart(folder):
    check(compiled(factor), traced=1)
    check(compiled(factor), traced=2, scale=3)  # an integer
    check(compiled(factor), traced=3, scale=np.float32(3))
    check(compiled(factor), traced=4, switch=0)
    check(compiled(factor), traced=5, switch=(None, None))
    check(compiled(factor), traced=6, matrix=MATRIX.astype(float))
    with jax.enable_x64(False):  # which the tests switch on
        check(compiled(factor), traced=7)
    assert len(list(folder.iterdir())) == 7


def test_other_code_or_another_jax_is_another_program(folder, monkeypatch):
    check(compiled(factor), traced=1)
    monkeypatch.setattr("driftpeak._core.numerics.compiled._code", lambda: "other code")
    check(compiled(factor), traced=2)


def test_damage_costs_a_trace(folder):
    check(compiled(factor), traced=1)
    (one,) = folder.iterdir()
    one.write_bytes(one.read_bytes()[:-1])
    check(compiled(factor), traced=2)
    check(compiled(factor), traced=2)  # mended
    kept.write(one.name, b"whole, but no program")
    check(compiled(factor), traced=3)


def test_a_function_that_only_an_address_names_is_not_kept(folder):
    twice = jax.tree_util.Partial(lambda x: 2 * x)
    found = compiled(lambda function, x: function(x))(twice, 3.0)
    assert found == 6
    assert not list(folder.iterdir())


def test_without_a_folder_or_within_a_trace_it_is_a_jit(folder):
    program = compiled(factor)
    assert jax.jit(lambda scale: program(MATRIX, scale)[0].scale.sum())(2.0) == 4
    assert program(matrix=MATRIX, scale=2.0)[1] == MATRIX.sum()
    kept.keep_in(None)
    check(compiled(factor), traced=3)
    assert not list(folder.iterdir())


@pytest.mark.parametrize("are_kept", [False, True])
def test_where_nobody_shall_wait_only_what_is_known_runs(folder, are_kept):
    kept.keep_in(folder if are_kept else None)
    program = compiled(factor)
    with pytest.raises(NotCompiledError), compiling_only_if(lambda: False):
        program(MATRIX, 3.0)
    check(program, traced=1)
    with compiling_only_if(lambda: False):
        check(program, traced=1, scale=4.0)
        with pytest.raises(NotCompiledError):
            program(MATRIX, 3)  # of another type
    check(program, traced=2, scale=3)


LIVE = """
import json, sys
from pathlib import Path
import driftpeak as dp
from driftpeak._core.numerics import disk_cache as kept
kept.keep_in(Path(sys.argv[1]))
box = dp.Box(x=dp.Float(0, 1))
heat = {"heat": dp.Limit(at_most=0.7)}
found = []
for name, policy, options in [
    ("default", None, {}),
    ("counts", dp.DriftingGP(likelihood="poisson"), {}),
    ("limits", None, {"constraints": heat}),
]:
    optimizer = dp.Optimizer(box, maximize=True, policy=policy, **options)
    for step in range(6):
        setting = optimizer.ask()
        optimizer.ask()  # stays out
        measured = {"heat": setting["x"]} if options else None
        optimizer.tell(setting, round(5 * setting["x"]), constraints=measured)
    found.append((name, setting["x"], optimizer.best()["x"]))
print(json.dumps(found))
"""


@pytest.mark.slow
def test_live_engines_decide_alike_with_programs_of_another_process(tmp_path):
    """LAPACK, too, is found by a process that has lowered no call of it."""
    found = []
    for _ in range(2):
        before = {one: one.stat().st_mtime_ns for one in tmp_path.iterdir()}
        done = subprocess.run(
            [sys.executable, "-c", LIVE, str(tmp_path)], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        found.append(json.loads(done.stdout))
    assert found[0] == found[1]
    assert {one: one.stat().st_mtime_ns for one in tmp_path.iterdir()} == before
    names = {one.name.partition("-")[0] for one in before}
    assert {"learn", "add_fantasies", "highest", "posterior", "cost", "_value"} <= names


def test_xla_takes_the_options_that_this_release_is_given(monkeypatch):
    """A name that it does not know would be refused."""
    program = jax.jit(lambda x: jnp.sin(x) ** 2 + jnp.cos(x) ** 2, compiler_options=soon())
    assert np.allclose(program(jnp.arange(5.0)), 1)
    for release, options in (("0.9.2", 2), ("0.10.0", 0), ("0.11.1", 0), ("1.0", 0)):
        monkeypatch.setattr(compiler, "version", lambda _, release=release: release)
        assert len(soon.__wrapped__()) == options


def test_a_command_says_when_it_compiles_and_not_when_another_thread_does():
    @compiled
    def doubled(x):
        return 2 * x

    said = []
    with compilation_shown(said.append):
        doubled(np.ones(3))
        doubled(np.ones(3))
        background = Thread(target=doubled, args=(np.ones(4),))
        background.start()
        background.join()
    doubled(np.ones(5))
    assert said == [COMPILING]
