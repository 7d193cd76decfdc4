"""The newest items of a long series, in collections that are copied in little time.

An optimiser copies its state before each event, to return to it after an error. Old items are kept
in a part that all copies share and that never changes. A copy only copies the `RECENT` newest items
or fewer.
"""

from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from itertools import chain, islice
from typing import Any, TypeVar, overload

Item = TypeVar("Item")

RECENT = 128


class Newest(Sequence[Item]):
    """A sequence of the newest items.

    Arguments:
        limit: the largest number of items; the oldest are dropped.
        items: the first items.
    """

    def __init__(self, limit: int, items: Sequence[Item] = ()) -> None:
        self._limit = limit
        self._old: tuple[Item, ...] = tuple(items)[-limit:]
        self._recent: list[Item] = []

    def append(self, item: Item) -> None:
        """Add an item."""
        if len(self._recent) == RECENT:
            self._old, self._recent = (*self._old, *self._recent)[-self._limit :], []
        self._recent.append(item)

    def copy(self) -> "Newest[Item]":
        """Return an independent copy."""
        copied = copy(self)
        copied._recent = self._recent.copy()
        return copied

    @property
    def _dropped(self) -> int:
        """The number of items of `_old` that are too old."""
        return max(len(self._old) + len(self._recent) - self._limit, 0)

    def __len__(self) -> int:
        return len(self._old) + len(self._recent) - self._dropped

    def __iter__(self) -> Iterator[Item]:
        return islice(chain(self._old, self._recent), self._dropped, None)

    @overload
    def __getitem__(self, index: int) -> Item: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Item, ...]: ...
    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            return tuple(self)[index]
        place = range(len(self))[index] + self._dropped - len(self._old)
        return self._recent[place] if place >= 0 else self._old[place]


class NewestByKey(Mapping[str, Item]):
    """A mapping with the newest keys, in the order in which they were added.

    Arguments:
        limit: the largest number of keys; the oldest are dropped.
    """

    def __init__(self, limit: int) -> None:
        self._limit, self._added = limit, 0
        self._old: dict[str, tuple[int, Item]] = {}  # with the number of the key
        self._recent: dict[str, tuple[int, Item]] = {}

    def add(self, key: str, item: Item) -> None:
        """Add an item whose key is not in the mapping."""
        if len(self._recent) == RECENT:
            self._old, self._recent = dict(self._numbered()), {}
        self._recent[key] = self._added, item
        self._added += 1

    def copy(self) -> "NewestByKey[Item]":
        """Return an independent copy."""
        copied = copy(self)
        copied._recent = self._recent.copy()
        return copied

    def _numbered(self) -> Iterator[tuple[str, tuple[int, Item]]]:
        """Iterate over the keys that are not too old, with their numbers and items."""
        both = chain(self._old.items(), self._recent.items())
        return (each for each in both if each[1][0] >= self._added - self._limit)

    def __len__(self) -> int:
        return min(self._added, self._limit)

    def __iter__(self) -> Iterator[str]:
        return (key for key, _ in self._numbered())

    def __getitem__(self, key: str) -> Item:
        number, item = self._recent[key] if key in self._recent else self._old[key]
        if number < self._added - self._limit:
            raise KeyError(key)
        return item
