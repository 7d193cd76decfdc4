"""`driftpeak data list | path | fetch`."""

import json
import sys
from typing import Annotated, Any

import typer

from driftpeak.cli.examples import examples
from driftpeak.cli.spinner import busy

data_app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="List, locate and fetch the data sets of the papers.",
    epilog=examples("data list", "data fetch intel-lab"),
)
FIELDS = ("name", "title", "publisher", "licence", "address", "page", "format")
Name = Annotated[str, typer.Argument(help="A name from `driftpeak data list`.")]


@data_app.command("list", epilog=examples("data list", "data list --json"))
def list_data(
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON only.")] = False,
) -> None:
    """List the data sets with publisher, licence, format, and whether the file is present."""
    from driftpeak.offline.data import DATA_SETS, data_path

    rows: list[dict[str, Any]] = []
    for name, data in DATA_SETS.items():
        path = data_path(name)
        described = {field: getattr(data, field) for field in FIELDS}
        rows.append(described | {"path": str(path), "present": path.is_file()})
    if as_json:
        print(json.dumps(rows, indent=2))
        return
    for row in rows:
        print(f"{row['name']}: {row['title']}")
        print(f"  publisher  {row['publisher']}")
        print(f"  licence    {row['licence']}")
        print(f"  from       {row['address'] or 'download by hand: ' + row['page']}")
        print(f"  format     {row['format']}")
        print(f"  file       {row['path']} ({'present' if row['present'] else 'missing'})")


@data_app.command(
    "path", epilog=examples("data path stocks", 'replay "$(driftpeak data path stocks)"')
)
def path_of_data(name: Name) -> None:
    """Print the path of the file; if it is missing, the error explains how to get it."""
    from driftpeak.offline.data import require_data

    print(require_data(name))


@data_app.command(
    "fetch",
    epilog=examples("data fetch intel-lab", "data fetch stocks --from prices.csv --overwrite"),
)
def fetch(
    name: Name,
    source: Annotated[
        str | None,
        typer.Option("--from", help="A file or address to use instead of the publisher's."),
    ] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace an existing file.")
    ] = False,
) -> None:
    """Store a data set in the data folder ($DRIFTPEAK_DATA, or ~/.cache/driftpeak on Linux)."""
    from driftpeak.offline.data import DATA_SETS, fetch_data

    with busy("fetching"):
        path = fetch_data(name, source, overwrite=overwrite)
    print(path)
    data = DATA_SETS[name]
    print(f"Please credit {data.publisher}. Licence: {data.licence}.", file=sys.stderr)
