"""Options that several commands share."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from driftpeak._core.errors import LARGEST_SEED, DriftpeakError

Output = Annotated[Path | None, typer.Option(help="Directory for results, summary and pictures.")]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace whatever is in --output.")]
Json = Annotated[bool, typer.Option("--json", help="Print the summary as JSON, nothing else.")]
MOST_TRIALS, MOST_STEPS, MOST_WORKERS = 1_000_000, 10_000_000, 1_024
Trials = Annotated[int, typer.Option(help="Independent repetitions.", max=MOST_TRIALS)]
Steps = Annotated[int, typer.Option(help="Length of a trial.", max=MOST_STEPS)]
Seed = Annotated[int, typer.Option(help="Of everything random.", max=LARGEST_SEED)]


@dataclass(frozen=True)
class Results:
    """Where results go."""

    output: Output = None
    overwrite: Overwrite = False
    as_json: Json = False

    def prepare(self, command: str) -> None:
        """Refuse, before any work is done, an output directory that must not be written."""
        prepare_output(self.output, command, self.overwrite)


def prepare_output(output: Path | None, command: str, overwrite: bool) -> None:
    """Refuse, before any work is done, an output directory that must not be written."""
    from driftpeak._core.files import check_output

    if output is not None:
        check_output(output, command, overwrite=overwrite)
    elif overwrite:
        raise DriftpeakError("--overwrite needs --output DIR")
