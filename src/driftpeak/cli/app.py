"""The command line, but for `data` and `live`. Thin: parse, call, print."""

import gc
import sys
import warnings
from importlib.metadata import version
from typing import Annotated, Any

import typer
from typer.completion import completion_init  # type: ignore[attr-defined]

from driftpeak._core.errors import DriftpeakError, DriftpeakWarning
from driftpeak.cli import play
from driftpeak.cli.completion import completion
from driftpeak.cli.data import data_app
from driftpeak.cli.demo import demo
from driftpeak.cli.examples import examples
from driftpeak.cli.live import live_app
from driftpeak.cli.plan import plan
from driftpeak.cli.policy_help import CommandWithPolicies
from driftpeak.cli.reproduce import reproduce
from driftpeak.cli.serve import serve

# The rest of the package is imported where it is used: `--help` and mistakes answer at once.

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    epilog=examples("demo", "replay DATA.csv --output results"),
)
app.add_typer(data_app, name="data")
app.add_typer(live_app, name="live")

app.command(epilog=examples("demo", "demo --trials 5 --output first-look"))(demo)
app.command(
    cls=CommandWithPolicies,
    epilog=examples(
        "replay DATA.csv --output results",
        "replay COSTS.csv --minimize --unit EUR --policy auto",
    ),
)(play.replay)
app.command(
    cls=CommandWithPolicies,
    epilog=examples(
        "compare --drift 0.03 --output results",
        "compare --environment abrupt --policy sw-gp-ucb:window=30",
    ),
)(play.compare)
app.command(
    epilog=examples(
        "plan --kernel matern --nu 2.5 --horizon 5000 --variation 8",
        "plan --data DATA.csv --json",
    )
)(plan)
app.command(epilog=examples("reproduce --list", "reproduce b16-fig2a --quick --output results"))(
    reproduce
)
app.command(
    epilog=examples(
        "serve studies --port 8765",
        "serve sqlite:///studies.db --host 0.0.0.0 --token-file token",
    )
)(serve)
app.command(
    epilog=examples(
        "completion bash > ~/.driftpeak-completion",
        "completion fish > ~/.config/fish/completions/driftpeak.fish",
    )
)(completion)


def main() -> None:
    """Run the command line. An error is one line on the error output, with its own exit code."""
    # what is imported and traced is no garbage: to look for some takes a tenth of a short command
    gc.set_threshold(100_000, 50, 100)
    warnings.showwarning = _show_warning
    completion_init()  # answers the scripts of `completion`
    try:
        app()
    except DriftpeakError as error:
        print(f"driftpeak: {_one_line(str(error))}", file=sys.stderr)
        sys.exit(error.exit_code)
    except MemoryError:
        print("driftpeak: out of memory: ask for fewer points, steps or trials", file=sys.stderr)
        sys.exit(2)


def _one_line(text: str) -> str:
    """With line breaks and other control characters, as a name may hold, written as escapes."""
    shown = (one if one.isprintable() else ascii(one)[1:-1] for one in text)
    return "".join(shown)


def _show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: Any = None,
    line: str | None = None,
) -> None:
    """One line without the place in our code, which says nothing to a user."""
    name = "driftpeak" if issubclass(category, DriftpeakWarning) else category.__name__
    print(f"{name}: {message}", file=sys.stderr)


def _show_version(wanted: bool) -> None:
    if wanted:
        print(version("driftpeak"))
        raise typer.Exit


@app.callback()
def options(
    show_version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version."),
    ] = False,
) -> None:
    """Follow the peak of a function that keeps moving."""
