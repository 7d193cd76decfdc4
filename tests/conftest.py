"""Tests compute in double precision and refuse silent broadcasting between ranks."""

from collections.abc import Iterator

import jax
import jaxtyping
import pytest
from hypothesis import settings

settings.register_profile("driftpeak", deadline=None, derandomize=True, max_examples=25)
settings.load_profile("driftpeak")


@pytest.fixture(autouse=True)
def double_precision() -> Iterator[None]:
    with jax.enable_x64(True), jax.numpy_rank_promotion("raise"):
        yield


@pytest.fixture
def without_type_checks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let wrongly typed arguments reach the messages that users see; the checks are for us."""
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)
