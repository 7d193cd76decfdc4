"""The `driftpeak` command: its subcommands, errors and warnings."""

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
from driftpeak.cli.follow import follow
from driftpeak.cli.live import live_app
from driftpeak.cli.plan import plan
from driftpeak.cli.policy_help import CommandWithPolicies
from driftpeak.cli.reproduce import reproduce
from driftpeak.cli.serve import serve

# Other modules are imported in the commands, so that `--help` and invalid options are fast.

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
    epilog=examples(
        "follow LOG.csv --choice price --reward revenue --time when",
        "follow LOG.csv --choice layout --reward clicks --propensity p",
    )
)(follow)
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
    # imports and traces create no garbage; collecting takes a tenth of a short command's time
    gc.set_threshold(100_000, 50, 100)
    warnings.showwarning = _show_warning
    completion_init()  # for the scripts of `completion`
    try:
        app()
    except DriftpeakError as error:
        print(f"driftpeak: {_one_line(str(error))}", file=sys.stderr)
        sys.exit(error.exit_code)
    except MemoryError:
        print("driftpeak: out of memory; use fewer points, steps or trials", file=sys.stderr)
        sys.exit(2)


def _one_line(text: str) -> str:
    """Replace control characters such as line breaks, which names may contain, by escapes."""
    shown = (char if char.isprintable() else ascii(char)[1:-1] for char in text)
    return "".join(shown)


def _show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: Any = None,
    line: str | None = None,
) -> None:
    """Print a warning as one line, without the source position, which does not help users."""
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
    """Bayesian optimisation for objectives that drift."""
