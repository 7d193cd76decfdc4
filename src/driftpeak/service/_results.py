"""Routes for a results folder of `driftpeak replay` or `driftpeak reproduce`."""

import json
from functools import partial
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Path as InPath, Request
from fastapi.responses import FileResponse
from starlette.concurrency import run_in_threadpool

from driftpeak._core.errors import DataError, StorageError
from driftpeak.service import _schemas as bodies
from driftpeak.service._problems import ProblemError, documented

SUMMARY = "summary.json"
LARGEST = 64 * 2**20  # bytes of a summary
KINDS = {
    ".html": "text/html",
    ".json": "application/json",
    ".png": "image/png",
    ".svg": "image/svg+xml",
}
SANDBOX = (
    "default-src 'none'; img-src data:; style-src 'unsafe-inline'; sandbox; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""Content security policy of documents: they may be displayed, without scripts or requests."""

FILE: dict[int | str, dict[str, Any]] = {
    200: {"description": "The file", "content": {kind: {} for kind in KINDS.values()}}
}

router = APIRouter(prefix="/api/results", responses=documented(401, 403, 429, 500, 503))


@router.get("", response_model=bodies.Results, responses=documented(422))
async def results(request: Request) -> Any:
    """Return the results in the served folder; null if there are none."""
    folder: Path | None = request.app.state.folder
    if folder is None:
        return {"summary": None, "files": []}
    return await run_in_threadpool(partial(_read, folder))


@router.get("/{name}", response_class=FileResponse, responses=FILE | documented(404, 422))
async def file(
    name: Annotated[str, InPath(pattern=r"^[A-Za-z0-9_][A-Za-z0-9_.-]{0,199}$")], request: Request
) -> Any:
    """Return a file of the results: a figure, the summary or the report."""
    folder: Path | None = request.app.state.folder
    if folder is None or name not in (await run_in_threadpool(partial(_read, folder)))["files"]:
        raise ProblemError("unknown-file", f"there is no file {name!r} here")
    headers = {"Content-Security-Policy": SANDBOX}
    return FileResponse(folder / name, media_type=KINDS[Path(name).suffix], headers=headers)


def _read(folder: Path) -> dict[str, Any]:
    try:
        files, summary = _files(folder), None
        if SUMMARY in files and (folder / SUMMARY).stat().st_size <= LARGEST:
            summary = json.loads((folder / SUMMARY).read_bytes())
    except OSError as error:
        reason = f"the folder cannot be read: {error.strerror or type(error).__name__}"
        raise StorageError(reason) from None
    except (ValueError, RecursionError):
        raise DataError(f"{SUMMARY} in the folder must be JSON") from None
    if not isinstance(summary, dict) or "command" not in summary:
        return {"summary": None, "files": []}
    return {"summary": summary, "files": files}


def _files(folder: Path) -> list[str]:
    """Return the files of the served types in the folder, without links, which may lead out."""
    files = (path for path in folder.iterdir() if path.suffix in KINDS)
    return sorted(path.name for path in files if path.is_file() and not path.is_symlink())
