"""Batches of fixed sizes, so that few programs are compiled. Several are computed in parallel."""

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any

import jax
import numpy as np

from driftpeak._core.numerics.precision import double_precision
from driftpeak._core.types import Integers
from driftpeak.fleet._programs import SIZES
from driftpeak.simulation.executors._compatibility import threads


class Batches:
    """Runs programs on batches of members."""

    def __init__(self) -> None:
        self._compiled: set[tuple[str, int]] = set()

    def run(
        self, name: str, groups: list[tuple[Any, Integers]], program: Callable[[Any, Integers], Any]
    ) -> list[tuple[Integers, Any]]:
        """Return the places of each batch, and the arrays that the program returns for them.

        Arguments:
            name: name of the program. It is compiled only once, when it is first run.
            groups: pairs of a player and the places of its members.
            program: function of a player and of places, which returns arrays with one row for each
                place. It is called in several threads.
        """

        @double_precision
        def one(batch: tuple[Any, Integers, int]) -> tuple[Integers, Any]:
            player, places, size = batch
            found = program(player, padded(places, size))
            return places, jax.tree.map(lambda x: np.asarray(x)[: len(places)], found)

        batches = [(player, *cut) for player, places in groups for cut in cuts(places)]
        new = {(name, size) for _, _, size in batches} - self._compiled
        self._compiled |= new
        if new or len(batches) < 2:
            return [one(batch) for batch in batches]
        return list(_executor(os.getpid()).map(one, batches))


@cache
def _executor(process: int) -> ThreadPoolExecutor:
    """Return the threads of a process: a forked one has none of its parent's."""
    return ThreadPoolExecutor(threads(), f"fleet-{process}")


def cuts(places: Integers) -> Iterator[tuple[Integers, int]]:
    """Cut places into parts, each with the size of the batch that holds it."""
    for first in range(0, len(places), SIZES[-1]):
        some = places[first : first + SIZES[-1]]
        yield some, next(size for size in SIZES if size >= len(some))


def padded(places: Integers, size: int) -> Integers:
    """Return places with padding, which repeats the first."""
    missing = size - len(places)
    return np.concatenate([places, np.full(missing, places[0])]) if missing else places
