"""Lowered programs are compiled once, and are not confused with others."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from driftpeak._core.numerics import disk_cache as kept
from driftpeak._core.numerics.compiled import _without_cache_of_jax
from driftpeak._core.numerics.lowered import _without_names, compile_lowered

MATRIX = np.array([[4.0, 2.0], [2.0, 5.0]], np.float32)
LOWER = np.array([[2.0, 0.0], [1.0, 2.0]])


@pytest.fixture
def folder(tmp_path):
    kept.keep_in(tmp_path)
    with _without_cache_of_jax():  # which an earlier test may have switched on
        yield tmp_path
    kept.keep_in(None)


def lowered(function, *arguments, keep_unused=True):
    return jax.jit(function, keep_unused=keep_unused).lower(*arguments)


def test_a_lowered_program_is_compiled_once_for_all_processes(folder, monkeypatch):
    def total(pair, scale):
        return {"total": scale * pair["a"].sum(), "lower": jnp.linalg.cholesky(pair["b"])}

    arguments = {"a": MATRIX, "b": MATRIX}, 2.0
    first = compile_lowered(lowered(total, *arguments))(*arguments)
    (one,) = folder.iterdir()
    assert one.name.startswith("lowered-")
    with monkeypatch.context() as patch:
        patch.delattr(jax.stages.Lowered, "compile")
        again = compile_lowered(lowered(total, *arguments))(*arguments)
    for found in (first, again):
        assert found["total"] == 2 * MATRIX.sum()
        np.testing.assert_allclose(found["lower"], LOWER, rtol=1e-6)
    one.write_bytes(b"damaged")
    assert compile_lowered(lowered(total, *arguments))(*arguments)["total"] == 2 * MATRIX.sum()
    kept.write(one.name, b"whole, but no program")
    assert compile_lowered(lowered(total, *arguments))(*arguments)["total"] == 2 * MATRIX.sum()


def test_with_the_cache_of_jax_this_one_is_not_used(folder, monkeypatch):
    monkeypatch.setattr("driftpeak._core.numerics.lowered.jax_caches", lambda: True)
    assert compile_lowered(lowered(jnp.cos, 0.0))(0.0) == 1
    assert not list(folder.iterdir())


def test_options_tell_lowered_programs_apart(folder):
    program = lowered(jnp.sin, 1.0)
    compile_lowered(program)
    compile_lowered(program, {"xla_cpu_enable_fast_math": False})
    assert len(list(folder.iterdir())) == 2


def test_programs_that_use_other_arguments_are_not_confused(folder):
    """The texts of `first` and `second` are equal if JAX leaves out the unused argument."""

    def first(a, b):
        return 2 * a

    def second(a, b):
        return 2 * b

    second.__name__ = first.__name__
    for _ in range(2):
        assert compile_lowered(lowered(first, 3.0, 4.0))(3.0, 4.0) == 6
        assert compile_lowered(lowered(second, 3.0, 4.0))(3.0, 4.0) == 8
    assert len(list(folder.iterdir())) == 2
    texts = {lowered(each, 3.0, 4.0, keep_unused=False).as_text() for each in (first, second)}
    assert len(texts) == 1
    for each, value in ((first, 6), (second, 8)):
        program = lowered(each, 3.0, 4.0, keep_unused=False)
        assert compile_lowered(program)(3.0, 4.0) == value
    assert len(list(folder.iterdir())) == 2


def test_a_program_that_calls_python_is_not_kept(folder):
    def called(x):
        return jax.pure_callback(lambda y: np.asarray(y) + 1, jax.ShapeDtypeStruct((), float), x)

    for _ in range(2):
        assert compile_lowered(lowered(called, 3.0))(3.0) == 4
    assert not list(folder.iterdir())


def test_names_of_private_functions_do_not_tell_programs_apart():
    def text(*functions):
        parts = (f"  func.func private @{name}(%arg0) {{{body}}}\n" for name, body in functions)
        main = "  func.func public @main(%arg0) {call @f(call @g)}\n"
        return "module @m {\n" + main + "".join(parts) + "}\n"

    one = text(("f", "call @h"), ("g", "add"), ("h", "sin"))
    renamed = text(("g", "add"), ("h_2", "sin"), ("f", "call @h_2"))
    assert _without_names(one) == _without_names(renamed)
    repeated = text(("f", "call @h"), ("g", "add"), ("h", "sin"), ("unused", "add"))
    assert _without_names(one) == _without_names(repeated)
    for other in (("h", "cos"), ("h", "call @outside")):
        assert _without_names(one) != _without_names(text(("f", "call @h"), ("g", "add"), other))
    swapped = text(("f", "add"), ("g", "call @h"), ("h", "sin"))
    assert _without_names(one) != _without_names(swapped)
