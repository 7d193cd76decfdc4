"""Tests compute in double precision, refuse silent broadcasting of ranks, and repeat exactly."""

from collections.abc import Iterator

import jax
import pytest
from hypothesis import settings

settings.register_profile("driftpeak", deadline=None, derandomize=True, max_examples=25)
settings.load_profile("driftpeak")


@pytest.fixture(autouse=True)
def double_precision() -> Iterator[None]:
    with jax.enable_x64(True), jax.numpy_rank_promotion("raise"):
        yield
