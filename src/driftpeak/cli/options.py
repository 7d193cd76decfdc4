"""Options that several commands share."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from driftpeak._core.errors import LARGEST_SEED, DriftpeakError, shown

Output = Annotated[Path | None, typer.Option(help="Directory for results, summary and figures.")]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace all contents of --output.")]
Json = Annotated[bool, typer.Option("--json", help="Print only the summary, as JSON.")]
MOST_TRIALS, MOST_STEPS, MOST_WORKERS = 1_000_000, 10_000_000, 1_024
Trials = Annotated[int, typer.Option(help="Number of independent trials.", max=MOST_TRIALS)]
Steps = Annotated[int, typer.Option(help="Number of steps of a trial.", max=MOST_STEPS)]
Seed = Annotated[int, typer.Option(help="Random seed.", max=LARGEST_SEED)]


@dataclass(frozen=True)
class Results:
    """The output of results."""

    output: Output = None
    overwrite: Overwrite = False
    as_json: Json = False

    def prepare(self, command: str) -> None:
        """Check, before any work is done, that the output directory may be written."""
        from driftpeak._core.files import check_output

        if self.output is not None:
            check_output(self.output, command, overwrite=self.overwrite)
        elif self.overwrite:
            raise DriftpeakError("--overwrite needs --output DIR")


def next_context_of(given: list[str] | None) -> dict[str, str] | None:
    """Return the values of the option `--next-context`, NAME=VALUE, by name."""
    pairs: dict[str, str] = {}
    for text in given or ():
        name, sign, value = (part.strip() for part in text.partition("="))
        if not (name and sign and value):
            raise DriftpeakError(
                f"--next-context must be NAME=VALUE, such as weekday=Mo; got {shown(text)}"
            )
        if name in pairs:
            raise DriftpeakError(f"--next-context must name a column once; got {shown(name)} again")
        pairs[name] = value
    return pairs or None
