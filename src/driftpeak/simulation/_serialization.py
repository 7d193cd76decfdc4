"""Pickling of a simulation for other processes.

Numbers are sent by value, classes and functions by name. The receiving process imports them by
name and may have another version: an older file, or one that was changed since. Their fingerprints
are therefore sent and compared.
"""

import importlib
import io
import pickle
import types
from operator import attrgetter
from typing import Any

from driftpeak._core.errors import DriftpeakError, shown
from driftpeak.simulation._chunk_runner import Simulation
from driftpeak.simulation._fingerprint import fingerprint, ours


def packed(simulation: Simulation) -> bytes:
    """Return the pickled simulation with fingerprints of the user's code by module and name.

    Raises:
        DriftpeakError: a policy or the environment cannot be pickled.
    """
    written = io.BytesIO()
    writer = _Writer(written, protocol=pickle.HIGHEST_PROTOCOL)
    try:
        writer.dump(simulation)
    except Exception:
        things = {f"policy {name!r}": thing for name, thing in simulation.policies.items()}
        for name, thing in {**things, "the environment": simulation.environment}.items():
            try:
                pickle.dumps(thing)
            except Exception as error:
                raise DriftpeakError(
                    f"{name} must be picklable to be sent to other processes; got "
                    f"{shown(str(error))}. Use only numbers, arrays, and functions and classes "
                    "from the top level of a module as its fields, or omit executor"
                ) from None
        raise
    code = {(thing.__module__, thing.__qualname__): fingerprint(thing) for thing in writer.named}
    return pickle.dumps((code, written.getvalue()))


def opened(packed: bytes) -> Simulation:
    """Unpickle a simulation.

    Raises:
        DriftpeakError: a class or function is missing in this process, or differs.
    """
    code, content = pickle.loads(packed)
    try:
        for (module, name), mark in code.items():
            if fingerprint(attrgetter(name)(importlib.import_module(module))) != mark:
                raise DriftpeakError(
                    f"{module}.{name} must be the same in a worker as where simulate was called; "
                    "got another version. Restart the workers, or give them the current file "
                    "(`client.upload_file('mine.py')` sends a module to the workers of a dask "
                    "cluster)"
                )
        return pickle.loads(content)
    except (AttributeError, ImportError) as error:
        raise DriftpeakError(
            "a worker cannot import a class or function of a policy or the environment "
            f"({error}). Define it at the top level of a module that every worker can import, not "
            "in a notebook (`client.upload_file('mine.py')` sends a module to the workers of a "
            "dask cluster)"
        ) from None


class _Writer(pickle.Pickler):
    """Pickler that records the user's classes and functions, which are pickled by name."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.named: dict[Any, None] = {}

    def reducer_override(self, thing: Any) -> Any:
        if isinstance(thing, type | types.FunctionType) and not ours(thing):
            self.named[thing] = None
        return NotImplemented
