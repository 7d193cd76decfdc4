"""`driftpeak serve`: live studies for other programs, other languages and a browser."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from driftpeak._core.errors import DriftpeakError
from driftpeak.cli.program_cache import keep_programs
from driftpeak.cli.spinner import busy

MIB = 2**20
NEEDED = "serve needs {}: pip install 'driftpeak[serve]'"


def serve(
    storage: Annotated[
        str,
        typer.Argument(
            help="A folder of journals, sqlite:///PATH or "
            "postgresql://USER:PASSWORD@HOST/DATABASE; or a folder that replay or reproduce wrote."
        ),
    ],
    port: Annotated[int, typer.Option(help="0: any that is free.", min=0, max=65535)] = 8765,
    host: Annotated[
        str, typer.Option(help="The address to listen at; others than this need a token.")
    ] = "127.0.0.1",
    token_file: Annotated[
        Path | None,
        typer.Option(help="Its text must come with every request; or set DRIFTPEAK_TOKEN."),
    ] = None,
    allow_host: Annotated[
        list[str] | None,
        typer.Option(help="A further name of this service, as that of a proxy before it."),
    ] = None,
    studies: Annotated[int, typer.Option(help="The most that may be created.", min=1)] = 1_000,
    memory: Annotated[
        int, typer.Option(help="MiB of studies kept ready; older ones are closed.", min=1)
    ] = 1024,
    rate: Annotated[float, typer.Option(help="Requests a second of one client.", min=0.1)] = 1000.0,
) -> None:
    """Serve live studies over HTTP: an API for other programs, and a page in the browser.

    The page is at the address that is printed, the API's description at /api/openapi.json. Ctrl-C
    ends it; nothing that was answered is lost.
    """
    with busy("loading"):
        keep_programs()
        try:
            from driftpeak.service.limits import Limits
            from driftpeak.service.server import serve as run
            from driftpeak.service.tokens import read_token
        except ModuleNotFoundError as error:
            raise DriftpeakError(NEEDED.format(error.name)) from None
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
