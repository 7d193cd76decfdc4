"""A simulation as it is sent: numbers by value, classes and functions by name, and how these are.

Who opens it looks its classes and functions up by their names, and may find others than were meant:
an older file, or one that was changed since. So their fingerprints travel as well.
"""

import importlib
import io
import pickle
import types
from operator import attrgetter
from typing import Any

from driftpeak._core.errors import DriftpeakError, shown
from driftpeak.simulation.chunk_runner import Simulation
from driftpeak.simulation.fingerprint import fingerprint, ours


def packed(simulation: Simulation) -> bytes:
    """The simulation, and fingerprints of the user's code in it by module and name.

    Raises:
        DriftpeakError: naming what cannot be sent.
    """
    written = io.BytesIO()
    writer = _Writer(written, protocol=pickle.HIGHEST_PROTOCOL)
    try:
        writer.dump(simulation)
    except Exception:
        things = {f"policy {name!r}": one for name, one in simulation.policies.items()}
        for name, one in {**things, "the environment": simulation.environment}.items():
            try:
                pickle.dumps(one)
            except Exception as error:
                raise DriftpeakError(
                    f"{name} cannot be sent to other processes ({shown(str(error))}): keep in its "
                    "fields numbers, arrays, and functions and classes from the top level of a "
                    "module, or leave out executor"
                ) from None
        raise
    code = {(one.__module__, one.__qualname__): fingerprint(one) for one in writer.named}
    return pickle.dumps((code, written.getvalue()))


def opened(parcel: bytes) -> Simulation:
    """What was sent.

    Raises:
        DriftpeakError: a class or function is not here, or is another one here.
    """
    code, content = pickle.loads(parcel)
    try:
        for (module, name), mark in code.items():
            if fingerprint(attrgetter(name)(importlib.import_module(module))) != mark:
                raise DriftpeakError(
                    f"{module}.{name} is not the same in a worker as where simulate was called: "
                    "give all workers the file as it is now (`client.upload_file('mine.py')` gives "
                    "a module to the workers of a dask cluster), or start them anew"
                )
        return pickle.loads(content)
    except (AttributeError, ImportError) as error:
        raise DriftpeakError(
            f"a worker does not find a class or function of a policy or the environment ({error}): "
            "define it at the top level of a module that every worker can import, not in a "
            "notebook (`client.upload_file('mine.py')` gives a module to the workers of a dask "
            "cluster)"
        ) from None


class _Writer(pickle.Pickler):
    """Notes the user's classes and functions, which are written by name."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.named: dict[Any, None] = {}

    def reducer_override(self, thing: Any) -> Any:
        if isinstance(thing, type | types.FunctionType) and not ours(thing):
            self.named[thing] = None
        return NotImplemented
