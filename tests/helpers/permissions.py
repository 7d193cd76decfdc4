"""Permissions that bind even where the tests run as root."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

NOBODY = 65534


@contextmanager
def other_user() -> Iterator[None]:
    """Permissions bind in the block, which they do not for root."""
    if os.geteuid() != 0:
        yield
        return
    try:
        os.seteuid(NOBODY)
    except OSError as error:
        pytest.skip(f"root cannot change to another user here: {error}")
    try:
        yield
    finally:
        os.seteuid(0)
