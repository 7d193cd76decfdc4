"""`driftpeak serve`: live studies over HTTP, for other programs, other languages and browsers."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from driftpeak._core.errors import DriftpeakError
from driftpeak._core.extras import EXTRAS, message
from driftpeak.cli.program_cache import keep_programs
from driftpeak.cli.spinner import busy

MIB = 2**20


def serve(
    storage: Annotated[
        str,
        typer.Argument(
            help="A folder of journals, which is created if it is missing, sqlite:///PATH or "
            "postgresql://USER:PASSWORD@HOST/DATABASE; or a results folder of replay or reproduce."
        ),
    ],
    port: Annotated[
        int, typer.Option(help="Port; 0 selects any free port.", min=0, max=65535)
    ] = 8765,
    host: Annotated[
        str, typer.Option(help="Address to listen on; one that others can reach needs a token.")
    ] = "127.0.0.1",
    token_file: Annotated[
        Path | None,
        typer.Option(
            help="File with the token that every request must have; or set DRIFTPEAK_TOKEN."
        ),
    ] = None,
    allow_host: Annotated[
        list[str] | None,
        typer.Option(
            help="A further host name of this service, such as a proxy's name; may be repeated."
        ),
    ] = None,
    functions: Annotated[
        Path | None,
        typer.Option(help="A Python file with the functions that constraints of studies name."),
    ] = None,
    studies: Annotated[int, typer.Option(help="Maximum number of studies.", min=1)] = 1_000,
    memory: Annotated[
        int,
        typer.Option(help="Memory for open studies in MiB; the least recent are closed.", min=1),
    ] = 1024,
    rate: Annotated[
        float, typer.Option(help="Maximum requests per second of a client.", min=0.1)
    ] = 1000.0,
) -> None:
    """Serve live studies over HTTP: an API for programs and a dashboard for browsers.

    The dashboard is at the printed address, and the API's description is at /api/openapi.json.
    Ctrl-C stops the service; every answered request is already stored.
    """
    with busy("loading"):
        keep_programs(serving=True)
        try:
            from driftpeak.service._limits import Limits
            from driftpeak.service._server import serve as run
            from driftpeak.service._tokens import read_token
        except ModuleNotFoundError as error:
            if error.name not in EXTRAS:
                raise
            raise DriftpeakError(message(error.name)) from None
    if functions is not None:
        from driftpeak.live._space.constraint_functions import register_file

        register_file(functions)
    limits = Limits(studies=studies, memory=memory * MIB, rate=rate, burst=max(int(2 * rate), 1))

    def ready(where: str, number: int) -> None:
        shown = f"[{where}]" if ":" in where else where
        print(f"driftpeak: serving at http://{shown}:{number}", file=sys.stderr, flush=True)

    run(
        storage,
        host=host,
        port=port,
        token=read_token(token_file),
        allowed=allow_host or (),
        limits=limits,
        ready=ready,
    )
