"""`driftpeak live create | ask | tell | best | show | ...`: stored studies, for any language.

The output is JSON. Warnings and errors go to the error output.
"""

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from datetime import datetime
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from driftpeak._core.errors import DriftpeakError, shown
from driftpeak._core.files import json_number, open_regular
from driftpeak.cli.examples import examples
from driftpeak.cli.options import Seed
from driftpeak.cli.program_cache import keep_programs
from driftpeak.cli.spinner import busy, compilation_shown

if TYPE_CHECKING:
    from driftpeak.live import EstimatedPeak, Optimizer, Suggestion

live_app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Optimise a running system whose optimum drifts, from any language; prints JSON.",
    epilog=examples("live ask kiln.jsonl", "live tell kiln.jsonl --id 1 --reward 3.2"),
)


@live_app.callback()
def main(
    functions: Annotated[
        Path | None,
        typer.Option(
            help="A Python file with the functions that constraints name.",
            envvar="DRIFTPEAK_FUNCTIONS",
        ),
    ] = None,
) -> None:
    """Register the functions of constraints."""
    if functions is not None:
        from driftpeak.live._space.constraint_functions import register_file

        register_file(functions)


MOST_TEXT = 10_000_000  # characters in the description of a space
MOST_HELD = 4_096  # the memory of a posterior grows with the square
STORE_HELP = "A path, journal:///PATH, sqlite:///PATH or postgresql://USER:PASSWORD@HOST/DATABASE."
Store = Annotated[str, typer.Argument(help=STORE_HELP)]
Name = Annotated[
    str | None,
    typer.Argument(help="Name of the study; may be omitted if the storage has only one study."),
]
Time = Annotated[
    str | None,
    typer.Option(
        help="Time: a number, a date such as 2026-03-01T08:00, or now; by default the next step."
    ),
]
Context = Annotated[
    list[str] | None,
    typer.Option(
        help="Context values, for a space with a context: NAME=VALUE, repeated for each name, or "
        "JSON."
    ),
]


@live_app.command(
    epilog=examples(
        "live create kiln.jsonl kiln --space space.json --maximize",
        "live create shop.jsonl shop --space '{\"arms\": 3}' --minimize",
    )
)
def create(
    store: Store,
    name: Annotated[str, typer.Argument(help="Name of the study.")],
    space: Annotated[
        str | None,
        typer.Option(
            help="The search space: a JSON file, - for standard input, or JSON such as "
            '{"box": {...}}; see the documentation.'
        ),
    ] = None,
    maximize: Annotated[bool, typer.Option("--maximize", help="Maximise the reward.")] = False,
    minimize: Annotated[bool, typer.Option("--minimize", help="Minimise the reward.")] = False,
    capacity: Annotated[
        int | None,
        typer.Option(
            help="Maximum number of observations in the model; default 512.", max=MOST_HELD
        ),
    ] = None,
    likelihood: Annotated[
        str,
        typer.Option(
            help="Distribution of rewards: gaussian, bernoulli (0 and 1) or poisson (counts)."
        ),
    ] = "gaussian",
    start: Annotated[
        str | None,
        typer.Option(help="The system's present setting, as JSON; it is suggested first."),
    ] = None,
    max_travel: Annotated[
        str | None,
        typer.Option(
            help="Largest change per step, as a fraction of each range, or as JSON by parameter."
        ),
    ] = None,
    moving_cost: Annotated[
        str | None,
        typer.Option(
            help="Cost of a change across a parameter's full range, in units of the reward, or as "
            "JSON by parameter."
        ),
    ] = None,
    constraints: Annotated[
        str | None,
        typer.Option(
            help='Constraints as JSON, such as {"heat": {"at_most": 75}}; see the documentation.'
        ),
    ] = None,
    safe_start: Annotated[
        str | None,
        typer.Option(help="Settings that are known to meet all constraints, as a JSON list."),
    ] = None,
    schedule: Annotated[
        str | None,
        typer.Option(
            help="Settings by which the system is run today: a CSV file with a line for each hour "
            'of the day, or JSON such as {"settings": [...], "period": "1 day"}.'
        ),
    ] = None,
    policy_file: Annotated[
        Path | None,
        typer.Option(help="A file of `replay --save`: a policy with its space and direction."),
    ] = None,
    seed: Seed = 0,
) -> None:
    """Create a study; an existing study with equal arguments is left unchanged."""
    if policy_file is not None:
        moves = (start, max_travel, moving_cost, constraints, safe_start, schedule)
        if (
            any(option is not None for option in (space, capacity, *moves))
            or maximize
            or minimize
            or likelihood != "gaussian"
        ):
            raise DriftpeakError(
                "--policy-file sets the space, the direction and the model, and supports neither "
                "movement limits nor constraints nor a schedule. Omit --space, --maximize, "
                "--minimize, --capacity, --likelihood, --start, --max-travel, --moving-cost, "
                "--constraints, --safe-start and --schedule."
            )
        with busy("loading"):
            keep_programs()
            from driftpeak.live._policy_file import read_policy

            made = read_policy(policy_file).optimizer(seed=seed, storage=store, name=name)
        _created(made)
        return
    if maximize == minimize:
        raise DriftpeakError("exactly one of --maximize and --minimize is required")
    if space is None:
        raise DriftpeakError("--space is required, or --policy-file, which contains a space")
    data = _json(_content(space), "--space")
    with busy("loading"):
        keep_programs()
        from driftpeak.live import DriftingGP, Optimizer
        from driftpeak.live._model.likelihoods import check_likelihood
        from driftpeak.live._space.constraint_data import constraints_from_data
        from driftpeak.live._space.serialization import space_from_data

        rules = None if constraints is None else _object(constraints, "--constraints")
        made = Optimizer(
            space_from_data(data),
            maximize=maximize,
            policy=DriftingGP(
                capacity=512 if capacity is None else capacity,
                likelihood=check_likelihood(likelihood),
            ),
            seed=seed,
            start=None if start is None else _object(start, "--start"),
            max_travel=None if max_travel is None else _json(max_travel, "--max-travel"),
            moving_cost=None if moving_cost is None else _json(moving_cost, "--moving-cost"),
            constraints=None if rules is None else constraints_from_data(rules),
            safe_start=None if safe_start is None else _json(safe_start, "--safe-start"),
            schedule=None if schedule is None else _schedule(schedule),
            storage=store,
            name=name,
        )
    _created(made)


def _created(optimizer: "Optimizer") -> None:
    _print({"name": optimizer.name, "told": optimizer.diagnostics().told})


@live_app.command(
    epilog=examples(
        "live ask kiln.jsonl --fixed stages=2", "live ask shop.jsonl --context weekday=monday"
    )
)
def ask(
    store: Store,
    name: Name = None,
    time: Time = None,
    count: Annotated[
        int | None,
        typer.Option(help="Number of suggestions, for several workers; prints a list."),
    ] = None,
    context: Context = None,
    fixed: Annotated[
        list[str] | None,
        typer.Option(
            help="Values that the suggestion must have: NAME=VALUE, repeated for each name, or "
            "JSON."
        ),
    ] = None,
) -> None:
    """Suggest a setting to evaluate next: id, time and parameters."""
    when, values, held = _time(time), _values(context, "--context"), _values(fixed, "--fixed")
    with _study(store, name) as optimizer:
        number = 1 if count is None else count
        suggestions = optimizer.ask(when, number, context=values, fixed=held)
    shown = [_suggestion(suggestion) for suggestion in suggestions]
    _print(shown[0] if count is None else shown)


@live_app.command(
    epilog=examples(
        "live tell kiln.jsonl --id 1 --reward 3.2",
        "live tell kiln.jsonl --parameters '{\"speed\": 4}' --reward 2.9",
    )
)
def tell(
    store: Store,
    name: Name = None,
    number: Annotated[int | None, typer.Option("--id", help="Id of the suggestion.")] = None,
    parameters: Annotated[
        str | None, typer.Option(help="The evaluated setting as JSON, instead of --id.")
    ] = None,
    reward: Annotated[float | None, typer.Option(help="The observed reward.")] = None,
    time: Time = None,
    actual: Annotated[
        str | None,
        typer.Option(help="With --id: the setting that was used instead of it, as JSON."),
    ] = None,
    noise: Annotated[
        float | None, typer.Option(help="Standard deviation of the reward's noise, if known.")
    ] = None,
    context: Context = None,
    constraints: Annotated[
        str | None,
        typer.Option(help="Measured constraint values, as JSON; null if not measured."),
    ] = None,
    trials: Annotated[
        int | None,
        typer.Option(help="Number of 0/1 results or counts of which the reward is the mean."),
    ] = None,
    key: Annotated[
        str | None,
        typer.Option(help="Unique key of this reward: a repeated report counts once."),
    ] = None,
) -> None:
    """Report the reward of a suggestion or of any other setting."""
    if reward is None:
        raise DriftpeakError("--reward is required: give --reward with the observed reward")
    if (number is None) == (parameters is None):
        raise DriftpeakError(
            "exactly one of --id of a suggestion and --parameters as JSON is required"
        )
    if actual is not None and number is None:
        raise DriftpeakError("--actual needs --id; report another setting by --parameters")
    setting: Any = number if parameters is None else _object(parameters, "--parameters")
    instead = None if actual is None else _object(actual, "--actual")
    measured = None if constraints is None else _object(constraints, "--constraints")
    when, values = _time(time), _values(context, "--context")
    with _study(store, name) as optimizer:
        optimizer.tell(
            setting,
            reward,
            when,
            actual=instead,
            noise=noise,
            context=values,
            constraints=measured,
            trials=trials,
            key=key,
        )
        counts = _counts(optimizer)
    _print(counts)


@live_app.command(
    "tell-table",
    epilog=examples(
        "live tell-table kiln.jsonl --table past.csv",
        "live tell-table sqlite:///studies.db kiln --table past.csv",
    ),
)
def tell_table(
    store: Store,
    name: Name = None,
    table: Annotated[
        Path | None,
        typer.Option(
            help="A CSV or Parquet file with columns for the parameters, the reward, the measured "
            "quantities and, optionally, time, noise, trials and key."
        ),
    ] = None,
) -> None:
    """Report past settings with their rewards from a table; all rows are stored, or none."""
    if table is None:
        raise DriftpeakError("--table is required: give --table with a CSV file")
    with busy("loading"):
        from driftpeak.offline.data._rows import read_rows

        rows = read_rows(table)
    with _study(store, name) as optimizer:
        optimizer.tell_table(rows)
        counts = _counts(optimizer)
    _print(counts)


@live_app.command(
    epilog=examples("live best kiln.jsonl", "live best kiln.jsonl --time 2026-03-01T08:00")
)
def best(store: Store, name: Name = None, time: Time = None, context: Context = None) -> None:
    """Print the estimated best setting now or at a later time, with mean and standard deviation."""
    when, values = _time(time), _values(context, "--context")
    with _study(store, name) as optimizer:
        peak = optimizer.best(when, context=values)
    _print({**_setting(peak), "mean": peak.mean, "deviation": peak.deviation})


@live_app.command(epilog=examples("live show kiln.jsonl", "live show sqlite:///studies.db kiln"))
def show(store: Store, name: Name = None) -> None:
    """Print a study: space, pending suggestions, diagnostics of the model and calibration."""
    with _study(store, name) as optimizer:
        history, calibration = optimizer.history(), optimizer.calibration()
        content = {
            "name": optimizer.name,
            **{key: optimizer.describe()[key] for key in ("space", "maximize", "seed")},
            "pending": [_suggestion(pending) for pending in optimizer.pending()],
            "latest": history[-1].time if history else None,
            "diagnostics": asdict(optimizer.diagnostics()),
            "calibration": {
                "count": calibration.count,
                "log_likelihood": calibration.log_likelihood,
                "coverage": calibration.coverage,
            },
        }
        if limits := optimizer.violations():
            content["constraints"] = optimizer.describe()["constraints"]
            content["violations"] = {limit: asdict(counts) for limit, counts in limits.items()}
    _print(content)


@live_app.command(
    epilog=examples("live verify kiln.jsonl", "live verify sqlite:///studies.db kiln")
)
def verify(store: Store, name: Name = None) -> None:
    """Check all stored data of a study against their checksums, without changing anything."""
    with busy("reading the study"):
        from driftpeak.live._study.storage import open_store, verify as check

        result = check(open_store(store, name))
    _print(result)


@live_app.command(epilog=examples("live cancel kiln.jsonl --id 2", "live cancel kiln.jsonl --all"))
def cancel(
    store: Store,
    name: Name = None,
    number: Annotated[int | None, typer.Option("--id", help="Id of the suggestion.")] = None,
    every: Annotated[bool, typer.Option("--all", help="Cancel all pending suggestions.")] = False,
) -> None:
    """Cancel pending suggestions whose rewards will not be reported."""
    if (number is None) == (not every):
        raise DriftpeakError("exactly one of --id of a suggestion and --all is required")
    with _study(store, name) as optimizer:
        pending = optimizer.pending()
        taken = [suggestion.id for suggestion in pending] if number is None else [number]
        for suggestion in taken:
            optimizer.cancel(suggestion)
        left = len(optimizer.pending())
    _print({"cancelled": taken, "pending": left})


@live_app.command(epilog=examples("live forget kiln.jsonl", "live forget kiln.jsonl --before 15"))
def forget(
    store: Store,
    name: Name = None,
    before: Annotated[
        str | None,
        typer.Option(help="Discard only observations before this time; format as for --time."),
    ] = None,
) -> None:
    """Discard observations after a change of the system; learned hyperparameters are kept."""
    when = _time(before, "--before")
    with _study(store, name) as optimizer:
        optimizer.forget(when)
        left = optimizer.diagnostics()
    _print({"held": left.held, "told": left.told})


@live_app.command(epilog=examples("live reset kiln.jsonl", "live reset sqlite:///studies.db kiln"))
def reset(store: Store, name: Name = None) -> None:
    """Restart a study without observations; the numbering of suggestions continues."""
    with _study(store, name) as optimizer:
        optimizer.reset()
        counts = _counts(optimizer)
    _print(counts)


@live_app.command(
    epilog=examples(
        "live export kiln.jsonl > rewards.json", "live export sqlite:///studies.db kiln"
    )
)
def export(store: Store, name: Name = None) -> None:
    """Print all rewards since the start or the last reset as JSON, with their forecasts.

    Rewards appear in the order of their reports. The command only reads stored data, so it is fast
    for long studies. Rewards from before the time of a `forget` have "used": false.
    """
    with busy("loading"):
        from driftpeak.live._study.storage import open_store, rewards

    _print(
        [
            {
                "id": reward.id,
                "time": reward.time,
                "parameters": reward.parameters,
                "reward": reward.reward,
                "expected": reward.expected,
                **({"context": reward.context} if reward.context else {}),
                **({"constraints": reward.constraints} if reward.constraints else {}),
                **({} if reward.used else {"used": False}),
            }
            for reward in rewards(open_store(store, name))
        ]
    )


@live_app.command(
    epilog=examples(
        "live plot kiln.jsonl --output pictures",
        "live plot sqlite:///studies.db kiln --output pictures",
    )
)
def plot(
    store: Store,
    output: Annotated[Path, typer.Option(help="Directory for the figures.")],
    name: Name = None,
    context: Context = None,
) -> None:
    """Write track.png, belief.png, reward.png and, with limits, limit.png; print their paths."""
    values = _values(context, "--context")
    with _study(store, name) as optimizer:
        from driftpeak.live.plots import belief_figure, limit_figure, reward_figure, track_figure

        figures = {
            "track": track_figure(optimizer, context=values),
            "belief": belief_figure(optimizer, context=values),
            "reward": reward_figure(optimizer),
        }
        if optimizer.rules.limits:
            figures["limit"] = limit_figure(optimizer)
        try:
            output.mkdir(parents=True, exist_ok=True)
            for kind, figure in figures.items():
                figure.savefig(output / f"{kind}.png", dpi=150)
        except OSError as error:
            raise DriftpeakError(f"{output} cannot be written: {error.strerror}") from None
    _print([str(output / f"{kind}.png") for kind in figures])


def _schedule(given: str) -> Any:
    """Return the schedule in a CSV file or in JSON."""
    from driftpeak.live._space.schedule import schedule_from_data

    if given.lstrip().startswith(("{", "[")):
        return schedule_from_data(_json(given, "--schedule"))
    from driftpeak.offline.data._rows import read_rows

    rows = read_rows(Path(given))
    return schedule_from_data([{k: _whole(value) for k, value in row.items()} for row in rows])


def _whole(value: Any) -> Any:
    """Return a whole number as an integer, which is also a valid real number."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


@contextmanager
def _study(store: str, name: str | None) -> "Iterator[Optimizer]":
    """Yield the loaded study; the spinner stays in the block and says when a call compiles."""
    with busy("loading") as say:
        keep_programs()
        from driftpeak.live import Optimizer

        def read(done: int, total: int) -> None:
            say(f"reading the study, {done:,} of {total:,} events")

        with compilation_shown(say):
            optimizer = Optimizer.load(store, name, progress=read)
            say("computing")
            yield optimizer


def _content(given: str) -> str:
    """Return `given` if it is JSON, or else the content of the file or of standard input."""
    if given.lstrip().startswith("{"):
        return given
    try:
        with sys.stdin if given == "-" else TextIOWrapper(open_regular(given), "utf-8") as file:
            text = file.read(MOST_TEXT + 1)
    except (OSError, ValueError) as error:  # ValueError: not UTF-8, or a null character in the path
        why = getattr(error, "strerror", None) or error
        raise DriftpeakError(f"cannot read the space from {shown(given)}: {why}") from None
    if len(text) > MOST_TEXT:
        raise DriftpeakError(
            f"a space must have at most {MOST_TEXT:,} characters; got more in {shown(given)}"
        )
    return text


def _json(text: str, what: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise DriftpeakError(f"{what} must be JSON; got {shown(text)}: {error}") from None
    except RecursionError:
        raise DriftpeakError(f"{what} must be JSON; got values nested too deeply") from None


def _object(text: str, what: str) -> dict[str, Any]:
    content = _json(text, what)
    if not isinstance(content, dict):
        raise DriftpeakError(f"{what} must be a JSON object; got {shown(text)}")
    return content


def _values(given: list[str] | None, option: str) -> dict[str, Any] | None:
    """Return the values of all options by name; a value that is not JSON is a string."""
    values: dict[str, Any] = {}
    for text in given or ():
        if text.lstrip().startswith("{"):
            values |= _object(text, option)
            continue
        name, equals, value = text.partition("=")
        if not equals:
            raise DriftpeakError(
                f"{option} must be NAME=VALUE, such as weekday=monday, or a JSON object; got "
                f"{shown(text)}"
            )
        try:
            values[name] = json.loads(value)
        except (ValueError, RecursionError):
            values[name] = value
    return values if given else None


def _time(text: str | None, option: str = "--time") -> Any:
    """Return a time as `Optimizer` accepts it."""
    if text is None or text == "now":
        return text
    try:
        return float(text)
    except ValueError:
        pass
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        raise DriftpeakError(
            f"{option} must be a number, a date such as 2026-03-01T08:00, or now; got {shown(text)}"
        ) from None


def _counts(optimizer: "Optimizer") -> dict[str, int]:
    return {"told": optimizer.diagnostics().told, "pending": len(optimizer.pending())}


def _suggestion(suggestion: "Suggestion") -> dict[str, Any]:
    chances: dict[str, Any] = {}
    if suggestion.chances:
        chances = {"chances": suggestion.chances, "feasible": suggestion.feasible}
    return {"id": suggestion.id, **_setting(suggestion), "hold": suggestion.hold, **chances}


def _setting(setting: "Suggestion | EstimatedPeak") -> dict[str, Any]:
    context = {"context": setting.context} if setting.context else {}
    return {"time": setting.time, "parameters": dict(setting), **context}


def _print(content: Any) -> None:
    print(json.dumps(_plain(content), indent=2, allow_nan=False))


def _plain(content: Any) -> Any:
    """Return the content with dates as strings, and None for NaN and infinities."""
    if isinstance(content, dict):
        return {str(key): _plain(value) for key, value in content.items()}
    if isinstance(content, list | tuple):
        return [_plain(entry) for entry in content]
    if isinstance(content, datetime):
        return content.isoformat()
    return json_number(content) if isinstance(content, float) else content
