"""Folder of a stored run: a manifest, and a NetCDF file for every finished chunk.

    simulation.json     the manifest: the simulation and its plan, identified by fingerprints
    chunk-000000.nc     one complete chunk of trials

A file gets its name only when it is complete. It ends with a checksum of all bytes before it. The
checksum is verified before HDF5 reads the file, because a flipped bit can make HDF5 loop without
end. HDF5 ignores bytes after its own end, so other programs read a chunk as usual.

Chunks of earlier versions have no such ending. They have an attribute `checksum` of their variables
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
    one_of,
    shown,
    warn,
    whole,
)
from driftpeak._core.extras import netcdf_engine
from driftpeak._core.files import netcdf, new_file, read_regular, writing
from driftpeak.simulation._aggregation import KEEPS, Gathering, Keep, summarised
from driftpeak.simulation._chunk_runner import Simulation
from driftpeak.simulation._chunking import MOST_CHUNKS, Chunk, Plan
from driftpeak.simulation._fingerprint import fingerprint
from driftpeak.simulation.executors import likeness

MANIFEST = "simulation.json"
_ENDING = re.compile(rb"\ndriftpeak sha256 [0-9a-f]{64}\n\Z")
_PART = re.compile(r"\.(simulation\.json|chunk-\d+\.nc)\.\d+\.part")  # as `new_file` names them
BEING_WRITTEN = 600  # seconds since its last change for which a part may still be being written
KIND, FORMAT = "driftpeak simulation", 1
WORDS = {
    "chunk": "chunk (trials in a chunk; the default depends on memory_budget)",
    "block": "block of steps (depends on memory_budget)",
    "blocks": "blocks of steps",
}
"""Names of fields in messages, where they differ."""
FINGERPRINTS = {"policies", "environment", "times", "made_with"}
"""Fields whose values are not part of messages about differences."""
Rule = tuple[Callable[[Any], bool], str]
"""The check of a field of a manifest, and the requirement in words."""
TEXT: Rule = (lambda value: isinstance(value, str), "be a string")
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
"""Fields of a manifest in addition to its kind and format."""


class Folder:
    """Folder that stores the chunks of one run.

    Arguments:
        path: path of the folder.
        manifest: description of the run, from `manifest_of`.
    """

    def __init__(self, path: Path, manifest: Mapping[str, Any]) -> None:
        self.path, self.manifest = path, dict(manifest)

    @classmethod
    def claim(cls, path: str | PathLike[str], manifest: Mapping[str, Any]) -> "Folder":
        """Return the folder for a run to be simulated: new, empty, or a folder of the same run.

        Raises:
            DriftpeakError: the folder holds other files or another simulation, or cannot be read.
            ModuleNotFoundError: the packages that write the chunks are not installed.
        """
        netcdf_engine()  # before a folder is made or a chunk is simulated
        path = Path(path)
        with writing(path):
            try:
                path.mkdir(parents=True, exist_ok=True)
            except FileExistsError:
                raise DriftpeakError(
                    f"folder must be the path of a folder; got the file {path}. Name a folder"
                ) from None
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
        """Plan of the run."""
        names = ("first_trial", "trials", "chunk", "block", "blocks")
        return Plan(*(int(self.manifest[name]) for name in names))

    def file(self, chunk: Chunk) -> Path:
        """Return the path of a chunk's file."""
        return self.path / f"chunk-{chunk.number:06d}.nc"

    def write(self, chunk: Chunk, part: xr.Dataset) -> None:
        """Store a finished chunk.

        Raises:
            StorageError: the file cannot be written.
        """
        bound = part.assign_attrs(simulation=_bond(self.manifest), chunk=chunk.number)
        content = netcdf(bound)
        with new_file(self.file(chunk)) as fresh, fresh.open("wb") as file:
            file.write(content)
            file.write(_ending(content))

    def read(self, chunk: Chunk) -> xr.Dataset | None:
        """Return a finished chunk, None if it is missing, or None with a warning if it is damaged.

        Raises:
            StorageError: the file cannot be read, which is not a sign of damage.
        """
        path = self.file(chunk)
        content = _content(path)
        if content is None:
            return None
        part = self._checked(content, chunk)
        if part is None:
            warn(f"{path} is damaged; its chunk counts as unfinished")
            return None
        texts = {
            name: (coordinate.dims, coordinate.values.astype(str))
            for name, coordinate in part.coords.items()
            if coordinate.dtype.kind == "O"
        }
        return part.assign_coords(texts)

    def _checked(self, content: bytes, chunk: Chunk) -> xr.Dataset | None:
        """Return the dataset in the bytes of a chunk's file, or None if they are damaged."""
        ending = _ENDING.search(content[-2 * len(_ending(b"")) :])
        if ending is not None:
            content = content[: -len(ending[0])]
            if _ending(content) != ending[0]:
                return None
        try:
            with xr.open_dataset(
                BytesIO(content), engine=netcdf_engine(), decode_times=False, decode_timedelta=False
            ) as stored:
                part = stored.load()
            sound = (
                part.attrs.pop("simulation") == _bond(self.manifest)
                and int(part.attrs.pop("chunk")) == chunk.number
                and (ending is not None or part.attrs.pop("checksum") == _old_checksum(part))
            )
        except (OSError, ValueError, KeyError, RuntimeError):
            return None
        return part if sound else None


def _without_parts(path: Path) -> list[Path]:
    """Return a folder's files without the unfinished ones, and delete old unfinished files."""
    there = []
    for file in path.iterdir():
        if not _PART.fullmatch(file.name):
            there.append(file)
        else:
            with suppress(OSError):  # deleted by another process, or the folder is read-only
                if time.time() - file.stat().st_mtime > BEING_WRITTEN:
                    file.unlink()
    return there


def _content(path: Path) -> bytes | None:
    """Return the bytes of a file, or None if there is no file.

    Raises:
        StorageError: the file cannot be read.
    """
    try:
        return read_regular(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise StorageError(
            f"{path} cannot be read: {error.strerror or error}. Make it readable, or name another "
            "folder"
        ) from None


def manifest_of(simulation: Simulation, plan: Plan, keep: Keep) -> dict[str, Any]:
    """Return the manifest of a run: everything that determines its results."""
    return {
        "kind": KIND,
        "format": FORMAT,
        "policies": [[name, fingerprint(policy)] for name, policy in simulation.policies.items()],
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
        "predictions": simulation.options.predictions,
        "readings": simulation.options.readings,
        "forecast": simulation.options.forecast,
        "made_with": likeness(),
    }


@checked
def read_runs(folder: str | PathLike[str], *, keep: Keep | None = None) -> xr.Dataset:
    """Read the finished chunks of a folder of `simulate(..., folder=)`, without writing to it.

    Arguments:
        folder: path of the folder.
        keep: "summaries" to compute summaries chunk by chunk where everything was stored, which
            needs less memory. The default is the value of the run.

    Returns:
        The dataset of `simulate` with the trials of the finished chunks. The attribute
        `unfinished_trials` is the number of trials that are not finished.

    Raises:
        DriftpeakError: the folder does not exist, has another format, a damaged manifest or no
            finished chunk; a file cannot be read; or keep is "everything" although only summaries
            were stored.

    Warns:
        DriftpeakWarning: a chunk is damaged; it counts as unfinished.

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
    wanted = kept if keep is None else one_of("keep", keep, KEEPS)
    if (kept, wanted) == ("summaries", "everything"):
        raise DriftpeakError(
            f"keep must be 'summaries', because {path} holds only summaries; got 'everything'. "
            "Run simulate(..., keep='everything') to record every step"
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
    raise DriftpeakError(
        f"{path} must hold at least one finished chunk; got none. Resume the simulation, or wait"
    )


def _read_manifest(path: Path) -> dict[str, Any]:
    """Return the manifest of a folder.

    Raises:
        DriftpeakError: the manifest is missing, invalid or unreadable.
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
            f"{path} is not a folder of simulate(..., folder=): it has no readable {MANIFEST}. "
            "Name the folder of a run, or for a new run a new or empty folder"
        )
    if not whole(version) or version != FORMAT:
        raise StorageError(
            f"{path} must have format {FORMAT}; got {shown(version)}. Use the version of "
            "driftpeak that wrote it, or another folder"
        )
    if wrong := _damage(manifest):
        raise StorageCorruptError(
            f"{file} is damaged: {wrong}. Restore a copy of it, or name another folder"
        )
    return manifest


def _damage(manifest: Mapping[str, Any]) -> str | None:
    """Return the first error in a manifest of this format, or None."""
    for name, (passes, words) in FIELDS.items():
        if name not in manifest:
            return f"the field {name} is missing"
        if not passes(manifest[name]):
            return f"{name} must {words}; got {shown(manifest[name])}"
    if others := sorted(set(manifest) - set(FIELDS) - {"kind", "format"}):
        return f"the field {shown(others[0])} is unknown"
    if (count := _count_chunks(manifest)) > MOST_CHUNKS:
        return f"trials and chunk must make at most {MOST_CHUNKS:,} chunks; got {shown(count)}"
    return None


def _are_policies(value: Any) -> bool:
    """Return whether a value is a list of pairs of strings with distinct names."""
    return (
        isinstance(value, list)
        and all(isinstance(pair, list) and len(pair) == 2 and _are_texts(pair) for pair in value)
        and 0 < len(value) == len(dict(value))
    )


def _are_versions(value: Any) -> bool:
    return isinstance(value, dict) and _are_texts(value.values())


def _are_texts(values: Iterable[Any]) -> bool:
    return all(isinstance(value, str) for value in values)


def _count_chunks(manifest: Mapping[str, Any]) -> int:
    return -(-manifest["trials"] // manifest["chunk"])


def _check_same(path: Path, there: Mapping[str, Any], here: Mapping[str, Any]) -> None:
    """Raise DriftpeakError that names the differences if a folder is of another simulation."""
    differences: list[str] = []
    old, new = dict(there["policies"]), dict(here["policies"])
    if list(old) != list(new):
        differences.append(f"policies {_row(old)} there, {_row(new)} here")
    differences += [
        f"policy {name!r} has another configuration or code"
        for name in new
        if name in old and old[name] != new[name]
    ]
    if there["environment"] != here["environment"]:
        differences.append("the environment differs")
    differences += [
        f"{WORDS.get(name, name)}: {there[name]} there, {here[name]} here"
        for name in FIELDS
        if name not in FINGERPRINTS and there[name] != here[name]
    ]
    if there["steps"] == here["steps"] and there["times"] != here["times"]:
        differences.append("the times differ")
    made, mine = there["made_with"], here["made_with"]
    differences += [
        f"made with {name} {made.get(name)}, here {mine.get(name)}"
        for name in made | mine
        if made.get(name) != mine.get(name)
    ]
    if differences:
        raise StudyMismatchError(
            f"{path} must be a folder of this simulation; got another one "
            f"({'; '.join(differences)}). Name another folder, or call simulate with the "
            "arguments of that simulation to resume it"
        )


def _row(names: Sequence[str] | Mapping[str, Any]) -> str:
    return ", ".join(map(repr, names))


def _bond(manifest: Mapping[str, Any]) -> str:
    """Return the fingerprint that identifies the simulation of a chunk."""
    return fingerprint(dict(manifest))


def _ending(content: bytes) -> bytes:
    """Return the line after the bytes of a chunk, which holds their SHA-256."""
    return b"\ndriftpeak sha256 %s\n" % hashlib.sha256(content).hexdigest().encode()


def _old_checksum(part: xr.Dataset) -> str:
    """Return the checksum of a chunk in earlier versions: its variables without coordinates."""
    checksum = hashlib.sha256()
    for name in sorted(map(str, part.data_vars)):
        values = part[name].values
        checksum.update(f"{name} {part[name].dims} {values.dtype} {values.shape}".encode())
        checksum.update(np.ascontiguousarray(values).tobytes())
    return checksum.hexdigest()
