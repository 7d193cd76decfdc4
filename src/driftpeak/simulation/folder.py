"""A folder that holds a run: what it is of, and a NetCDF file for every chunk that is finished.

    simulation.json     the simulation and its plan, bound by fingerprints
    chunk-000000.nc     one chunk of trials, whole or not there

A chunk takes its name when it is complete. It ends with a checksum of all bytes before it, which is
verified before HDF5 reads them: a flipped bit can make HDF5 loop without end. HDF5 ignores what
follows its own end, so other programs read a chunk as usual.

Chunks of earlier versions have no such ending, but an attribute `checksum`, of their variables
without the coordinates. They are still read, and a folder may hold both kinds.
"""

import hashlib
import json
import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from io import BytesIO
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from driftpeak._core.argument_types import checked
from driftpeak._core.errors import (
    DriftpeakError,
    StorageCorruptError,
    StorageError,
    StudyMismatchError,
    shown,
    warn,
    whole,
)
from driftpeak._core.files import netcdf, new_file, read_regular, writing
from driftpeak.simulation.aggregation import KEEPS, Gathering, Keep, check_keep, summarised
from driftpeak.simulation.chunk_runner import Simulation
from driftpeak.simulation.chunking import MOST_CHUNKS, Chunk, Plan
from driftpeak.simulation.executors import likeness
from driftpeak.simulation.fingerprint import fingerprint

MANIFEST = "simulation.json"
_ENDING = re.compile(rb"\ndriftpeak sha256 [0-9a-f]{64}\n\Z")
_PART = re.compile(r"\.(simulation\.json|chunk-\d+\.nc)\.\d+\.part")  # as `new_file` names them
BEING_WRITTEN = 600  # seconds without a change in which another process may still be writing a part
KIND, FORMAT = "driftpeak simulation", 1
WORDS = {
    "seed": "seed",
    "steps": "steps",
    "first_trial": "first_trial",
    "trials": "trials",
    "chunk": "chunk (trials in one; it follows from memory_budget where it is not given)",
    "block": "block of steps (it follows from memory_budget)",
    "blocks": "blocks of steps",
    "keep": "keep",
    "predictions": "predictions",
    "readings": "readings",
    "forecast": "forecast",
}
Rule = tuple[Callable[[Any], bool], str]
"""What a field of a manifest must pass, and what it must be in words."""
TEXT: Rule = (lambda value: isinstance(value, str), "be a text")
SWITCH: Rule = (lambda value: isinstance(value, bool), "be true or false")
NUMBER: Rule = (lambda value: whole(value) and value >= 0, "be an integer of at least 0")
COUNT: Rule = (lambda value: whole(value) and value >= 1, "be an integer of at least 1")
FIELDS: dict[str, Rule] = {
    "policies": (lambda value: _are_policies(value), "give every policy's name and fingerprint"),
    "environment": TEXT,
    "steps": COUNT,
    "times": TEXT,
    "seed": NUMBER,
    "first_trial": NUMBER,
    "trials": COUNT,
    "chunk": COUNT,
    "block": COUNT,
    "blocks": COUNT,
    "keep": (lambda value: value in KEEPS, f"be one of {', '.join(KEEPS)}"),
    "predictions": SWITCH,
    "readings": SWITCH,
    "forecast": SWITCH,
    "made_with": (lambda value: _are_versions(value), "give a version for every name"),
}
"""Of a manifest, beside its kind and format."""


class Folder:
    """Where the chunks of one run are kept.

    Arguments:
        path: of the folder.
        manifest: what it is of, as `manifest_of` says.
    """

    def __init__(self, path: Path, manifest: Mapping[str, Any]) -> None:
        self.path, self.manifest = path, dict(manifest)

    @classmethod
    def claim(cls, path: str | PathLike[str], manifest: Mapping[str, Any]) -> "Folder":
        """The folder of a run that is about to be played: new, empty, or one of the same run.

        Raises:
            DriftpeakError: it holds something else, or another simulation; it cannot be read.
        """
        path = Path(path)
        with writing(path):
            try:
                path.mkdir(parents=True, exist_ok=True)
            except FileExistsError:
                raise DriftpeakError(f"{path} is a file; name a folder") from None
            empty = not _without_parts(path)
        if empty:
            with new_file(path / MANIFEST) as part:
                part.write_text(json.dumps(manifest, indent=2) + "\n")
            return cls(path, manifest)
        there = cls(path, _read_manifest(path))
        _check_same(path, there.manifest, manifest)
        return there

    @property
    def plan(self) -> Plan:
        """Of the run."""
        names = ("first_trial", "trials", "chunk", "block", "blocks")
        return Plan(*(int(self.manifest[name]) for name in names))

    def file(self, chunk: Chunk) -> Path:
        """Where a chunk is kept."""
        return self.path / f"chunk-{chunk.number:06d}.nc"

    def write(self, chunk: Chunk, part: xr.Dataset) -> None:
        """Keep a finished chunk.

        Raises:
            StorageError: it cannot be written.
        """
        bound = part.assign_attrs(simulation=_bond(self.manifest), chunk=chunk.number)
        content = netcdf(bound)
        with new_file(self.file(chunk)) as fresh, fresh.open("wb") as file:
            file.write(content)
            file.write(_ending(content))

    def read(self, chunk: Chunk) -> xr.Dataset | None:
        """A finished chunk; None if there is none, or with a warning if it is damaged.

        Raises:
            StorageError: it cannot be read, which does not mean that it is damaged.
        """
        path = self.file(chunk)
        content = _content(path)
        if content is None:
            return None
        part = self._checked(content, chunk)
        if part is None:
            warn(f"{path} is damaged, and counts as not yet played")
            return None
        texts = {
            name: (one.dims, one.values.astype(str))
            for name, one in part.coords.items()
            if one.dtype.kind == "O"
        }
        return part.assign_coords(texts)

    def _checked(self, content: bytes, chunk: Chunk) -> xr.Dataset | None:
        """Return what the bytes of a chunk's file hold; None if they are damaged."""
        found = _ENDING.search(content[-2 * len(_ending(b"")) :])
        if found is not None:
            content = content[: -len(found[0])]
            if _ending(content) != found[0]:
                return None
        try:
            with xr.open_dataset(
                BytesIO(content), engine="h5netcdf", decode_times=False, decode_timedelta=False
            ) as stored:
                part = stored.load()
            sound = (
                part.attrs.pop("simulation") == _bond(self.manifest)
                and int(part.attrs.pop("chunk")) == chunk.number
                and (found is not None or part.attrs.pop("checksum") == _old_checksum(part))
            )
        except (OSError, ValueError, KeyError, RuntimeError):
            return None
        return part if sound else None


def _without_parts(path: Path) -> list[Path]:
    """What a folder holds, but for files that a killed process had begun; old ones are removed."""
    there = []
    for one in path.iterdir():
        if not _PART.fullmatch(one.name):
            there.append(one)
        else:
            with suppress(OSError):  # another process took it away, or the folder is only read
                if time.time() - one.stat().st_mtime > BEING_WRITTEN:
                    one.unlink()
    return there


def _content(path: Path) -> bytes | None:
    """What a file holds, None if there is none.

    Raises:
        StorageError: it cannot be read.
    """
    try:
        return read_regular(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise StorageError(
            f"{path} cannot be read: {error.strerror or error}; make it readable, or name another "
            "folder"
        ) from None


def manifest_of(simulation: Simulation, plan: Plan, keep: Keep) -> dict[str, Any]:
    """What a folder is of: all that its numbers depend on."""
    return {
        "kind": KIND,
        "format": FORMAT,
        "policies": [[name, fingerprint(one)] for name, one in simulation.policies.items()],
        "environment": fingerprint(simulation.environment),
        "steps": len(simulation.times),
        "times": fingerprint(simulation.times),
        "seed": simulation.seed,
        "first_trial": plan.first_trial,
        "trials": plan.trials,
        "chunk": plan.chunk,
        "block": plan.steps,
        "blocks": plan.blocks,
        "keep": keep,
        "predictions": simulation.wishes.predictions,
        "readings": simulation.wishes.readings,
        "forecast": simulation.wishes.forecast,
        "made_with": likeness(),
    }


@checked
def read_runs(folder: str | PathLike[str], *, keep: Keep | None = None) -> xr.Dataset:
    """What a folder of `simulate(..., folder=)` holds, finished or not; nothing is written.

    Arguments:
        folder: its path.
        keep: "summaries" to have only these in memory where everything was kept, one chunk after
            another; by default as it was kept.

    Returns:
        As `simulate`, with the trials of the chunks that are finished, and the attribute
        `unfinished_trials`: how many are not.

    Raises:
        DriftpeakError: no such folder, one of another format, one whose manifest is damaged, one
            without a finished chunk; a file that cannot be read; or everything is asked for where
            only summaries were kept.

    Warns:
        DriftpeakWarning: a chunk is damaged; it counts as not finished.

    Example:
        >>> import tempfile
        >>> import driftpeak as dp
        >>> prior = dp.Prior(dp.Grid([0, 1], size=20), dp.SE(lengthscale=0.2), noise_variance=0.01)
        >>> world = dp.MarkovDrift(prior, drift=0.02)
        >>> policies = {"TV": dp.TVGPUCB(prior, drift=0.02)}
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     runs = dp.simulate(policies, world, steps=30, trials=4, folder=folder)
        ...     again = dp.read_runs(folder)
        >>> again["regret"].equals(runs["regret"])
        True
    """
    path = Path(folder)
    manifest = _read_manifest(path)
    kept: Keep = manifest["keep"]
    wanted = kept if keep is None else keep
    check_keep(wanted)
    if (kept, wanted) == ("summaries", "everything"):
        raise DriftpeakError(
            f"{path} holds summaries; what happened at every step of every trial is only kept by "
            "simulate(..., keep='everything')"
        )
    there = Folder(path, manifest)
    finished = [chunk for chunk in there.plan.chunks if there.file(chunk).exists()]
    while finished:
        gathering, damaged = Gathering(wanted, finished), []
        for chunk in finished:
            part = there.read(chunk)
            if part is None:
                damaged.append(chunk)
            else:
                gathering.add(chunk, summarised(part) if kept != wanted else part)
        if not damaged:
            runs = gathering.dataset().drop_vars("contradictions")
            return runs.assign_attrs(unfinished_trials=there.plan.trials - runs.sizes["trial"])
        finished = [chunk for chunk in finished if chunk not in damaged]
    raise DriftpeakError(f"{path} holds no finished chunk yet; play on, or wait for one")


def _read_manifest(path: Path) -> dict[str, Any]:
    """What a folder says that it is of.

    Raises:
        DriftpeakError: nothing that is understood; or it cannot be read.
    """
    file = path / MANIFEST
    content = _content(file)
    try:
        manifest = json.loads(content or b"")
        kind, version = manifest["kind"], manifest["format"]
    except (ValueError, KeyError, TypeError, RecursionError):
        kind = version = None
    if kind != KIND:
        raise DriftpeakError(
            f"{path} is no folder of simulate(..., folder=): it has no readable {MANIFEST}; name "
            "that of a run, or for a new run a new or empty folder"
        )
    if not whole(version) or version != FORMAT:
        raise StorageError(
            f"{path} was written in format {shown(version)}, and this driftpeak knows format "
            f"{FORMAT}: use the driftpeak that wrote it, or another folder"
        )
    if wrong := _damage(manifest):
        raise StorageCorruptError(
            f"{file} is damaged: {wrong}; put back a copy of it, or name another folder"
        )
    return manifest


def _damage(manifest: Mapping[str, Any]) -> str | None:
    """What is wrong with a manifest of this format, None if nothing is."""
    for name, (passes, words) in FIELDS.items():
        if name not in manifest:
            return f"it has no {name}"
        if not passes(manifest[name]):
            return f"{name} must {words}; got {shown(manifest[name])}"
    if others := sorted(set(manifest) - set(FIELDS) - {"kind", "format"}):
        return f"nothing is known of its field {shown(others[0])}"
    if (count := _count_chunks(manifest)) > MOST_CHUNKS:
        return f"trials and chunk must make at most {MOST_CHUNKS:,} chunks; got {shown(count)}"
    return None


def _are_policies(value: Any) -> bool:
    """Whether it lists pairs of texts, and no name twice."""
    return (
        isinstance(value, list)
        and all(isinstance(one, list) and len(one) == 2 and _are_texts(one) for one in value)
        and 0 < len(value) == len(dict(value))
    )


def _are_versions(value: Any) -> bool:
    return isinstance(value, dict) and _are_texts(value.values())


def _are_texts(values: Iterable[Any]) -> bool:
    return all(isinstance(one, str) for one in values)


def _count_chunks(manifest: Mapping[str, Any]) -> int:
    return -(-manifest["trials"] // manifest["chunk"])


def _check_same(path: Path, there: Mapping[str, Any], here: Mapping[str, Any]) -> None:
    """Raise DriftpeakError, naming what differs, if a folder is of another simulation."""
    found: list[str] = []
    old, new = dict(there["policies"]), dict(here["policies"])
    if list(old) != list(new):
        found.append(f"policies {_row(old)} there, {_row(new)} here")
    found += [
        f"policy {name!r} is configured or written otherwise"
        for name in new
        if name in old and old[name] != new[name]
    ]
    if there["environment"] != here["environment"]:
        found.append("the world is another")
    found += [
        f"{words}: {there[name]} there, {here[name]} here"
        for name, words in WORDS.items()
        if there[name] != here[name]
    ]
    if there["steps"] == here["steps"] and there["times"] != here["times"]:
        found.append("other times")
    made, mine = there["made_with"], here["made_with"]
    found += [
        f"made with {name} {made.get(name)}, here {mine.get(name)}"
        for name in made | mine
        if made.get(name) != mine.get(name)
    ]
    if found:
        raise StudyMismatchError(
            f"{path} belongs to another simulation ({'; '.join(found)}): name another folder, or "
            "call simulate as for that one to go on with it"
        )


def _row(names: Sequence[str] | Mapping[str, Any]) -> str:
    return ", ".join(map(repr, names))


def _bond(manifest: Mapping[str, Any]) -> str:
    """What binds a chunk to its simulation."""
    return fingerprint(dict(manifest))


def _ending(content: bytes) -> bytes:
    """Return the line that follows the bytes of a chunk: their SHA-256."""
    return b"\ndriftpeak sha256 %s\n" % hashlib.sha256(content).hexdigest().encode()


def _old_checksum(part: xr.Dataset) -> str:
    """Return the checksum of a chunk of earlier versions: of its variables, not its coordinates."""
    found = hashlib.sha256()
    for name in sorted(map(str, part.data_vars)):
        values = part[name].values
        found.update(f"{name} {part[name].dims} {values.dtype} {values.shape}".encode())
        found.update(np.ascontiguousarray(values).tobytes())
    return found.hexdigest()
