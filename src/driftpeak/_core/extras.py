"""Optional dependencies: an import that fails names the extra that installs them."""

import sys
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType
from typing import Any, Literal

EXTRAS = {
    "matplotlib": "plots",
    "h5netcdf": "files",
    "h5py": "files",
    "pooch": "files",
    "optuna": "optuna",
    "xopt": "xopt",
    "sqlalchemy": "live-sql",
    "psycopg": "live-sql",
    "jinja2": "cli",
    "typer": "cli",
    "fastapi": "serve",
    "uvicorn": "serve",
    "pyarrow": "parquet",
    "python-calamine": "spreadsheets",
    "ray": "ray",
}
"""Packages that driftpeak imports, and the extra that installs each."""


class MissingExtras:
    """A finder of modules that raises an error when driftpeak imports a package of `EXTRAS`.

    Python asks it last, when the package is not installed. Imports by other packages fail as usual.
    """

    @classmethod
    def find_spec(
        cls, fullname: str, path: Any, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return None for a package that is not in `EXTRAS` or that another package imports.

        Raises:
            ModuleNotFoundError: the package is not installed.
        """
        if fullname in EXTRAS and _importer().partition(".")[0] == "driftpeak":
            raise ModuleNotFoundError(message(fullname), name=fullname)
        return None


def message(package: str) -> str:
    """Return the error for a package that is not installed."""
    extra = EXTRAS.get(package)
    needed = package if extra is None else f"'driftpeak[{extra}]'"
    return f"this needs the package {package}. Run pip install {needed}"


def netcdf_engine() -> Literal["h5netcdf"]:
    """Return the name of xarray's engine for NetCDF files.

    Raises:
        ModuleNotFoundError: the engine is not installed.
    """
    for package in ("h5netcdf", "h5py"):
        if find_spec(package) is None:
            raise ModuleNotFoundError(message(package), name=package)
    return "h5netcdf"


def install() -> None:
    """Ask `MissingExtras` after all other finders."""
    if MissingExtras not in sys.meta_path:
        sys.meta_path.append(MissingExtras)


def _importer() -> str:
    """Return the name of the module whose import statement runs."""
    frame = sys._getframe(1)
    while frame is not None:
        name = str(frame.f_globals.get("__name__", ""))
        if name != __name__ and not name.startswith("importlib"):
            return name
        frame = frame.f_back  # type: ignore[assignment]
    return ""
