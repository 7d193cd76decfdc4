"""`driftpeak live create | ask | tell | best | show | ...`: a stored study, for any language.

What is printed is JSON; warnings and mistakes go to the error output.
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
from driftpeak.cli.spinner import busy

if TYPE_CHECKING:
    from driftpeak.live import EstimatedPeak, Optimizer, Suggestion

live_app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Keep a real system at its moving peak, from any language: JSON in and out.",
    epilog=examples("live ask kiln.jsonl", "live tell kiln.jsonl --id 1 --reward 3.2"),
)
MOST_TEXT = 10_000_000  # characters of a space
MOST_HELD = 4_096  # the memory of a belief grows with the square
STORE_HELP = "A path, journal:///PATH, sqlite:///PATH or postgresql://USER:PASSWORD@HOST/DATABASE."
Store = Annotated[str, typer.Argument(help=STORE_HELP)]
Name = Annotated[str | None, typer.Argument(help="The study; by default the only one there.")]
Time = Annotated[
    str | None, typer.Option(help="A number, a date as 2026-03-01T08:00, or now; default: steps.")
]
Context = Annotated[
    list[str] | None,
    typer.Option(
        help="What the world says, for a space with a context: NAME=VALUE, once for each, or JSON."
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
    name: Annotated[str, typer.Argument(help="Of the study.")],
    space: Annotated[
        str | None,
        typer.Option(help='A JSON file, - for the input, or JSON: {"box": {...}}, see the docs.'),
    ] = None,
    maximize: Annotated[bool, typer.Option("--maximize", help="Large rewards are good.")] = False,
    minimize: Annotated[bool, typer.Option("--minimize", help="Small rewards are good.")] = False,
    capacity: Annotated[
        int | None,
        typer.Option(help="The most observations in memory; default 512.", max=MOST_HELD),
    ] = None,
    likelihood: Annotated[
        str,
        typer.Option(help="What rewards are: gaussian, bernoulli (0 and 1) or poisson (counts)."),
    ] = "gaussian",
    start: Annotated[
        str | None, typer.Option(help="The first suggestion, as JSON: where the system stands.")
    ] = None,
    max_travel: Annotated[
        str | None,
        typer.Option(
            help="The farthest to move at once, a share of every range, or JSON by parameter."
        ),
    ] = None,
    moving_cost: Annotated[
        str | None,
        typer.Option(
            help="Of moving a parameter across its range, in rewards, or JSON by parameter."
        ),
    ] = None,
    constraints: Annotated[
        str | None,
        typer.Option(help='What to keep, as JSON: {"heat": {"at_most": 75}}, see the docs.'),
    ] = None,
    safe_start: Annotated[
        str | None,
        typer.Option(help="A list of settings known to keep all limits, as JSON."),
    ] = None,
    policy_file: Annotated[
        Path | None,
        typer.Option(help="A policy with its space and direction, from `replay --save`."),
    ] = None,
    seed: Seed = 0,
) -> None:
    """Begin a study, or check that there is just such a one already."""
    if policy_file is not None:
        moves = (start, max_travel, moving_cost, constraints, safe_start)
        if (
            any(one is not None for one in (space, capacity, *moves))
            or maximize
            or minimize
            or likelihood != "gaussian"
        ):
            raise DriftpeakError(
                "--policy-file says the space, the direction, the rewards and what is kept, and "
                "knows no limits of moving and no constraints: leave out --space, --maximize, "
                "--minimize, --capacity, --likelihood, --start, --max-travel, --moving-cost, "
                "--constraints and --safe-start"
            )
        with busy("loading"):
            keep_programs()
            from driftpeak.live.policy_file import read_policy

            made = read_policy(policy_file).optimizer(seed=seed, storage=store, name=name)
        _created(made)
        return
    if maximize == minimize:
        raise DriftpeakError("give --maximize or --minimize")
    if space is None:
        raise DriftpeakError("give --space, or --policy-file, which holds one")
    data = _json(_content(space), "--space")
    with busy("loading"):
        keep_programs()
        from driftpeak.live import DriftingGP, Optimizer
        from driftpeak.live.model.likelihoods import check_likelihood
        from driftpeak.live.space.constraints import constraints_from_data
        from driftpeak.live.space.serialization import space_from_data

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
            storage=store,
            name=name,
        )
    _created(made)


def _created(optimizer: "Optimizer") -> None:
    _print({"name": optimizer.name, "told": optimizer.diagnostics().told})


@live_app.command(
    epilog=examples("live ask kiln.jsonl", "live ask shop.jsonl --context weekday=monday")
)
def ask(
    store: Store,
    name: Name = None,
    time: Time = None,
    count: Annotated[
        int | None, typer.Option(help="How many, for several workers; prints a list.")
    ] = None,
    context: Context = None,
) -> None:
    """Where to sample next: id, time and parameters."""
    when, said = _time(time), _context(context)
    with _study(store, name) as optimizer:
        found = optimizer.ask(when, 1 if count is None else count, context=said)
    shown = [_suggestion(one) for one in found]
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
    number: Annotated[int | None, typer.Option("--id", help="Of the suggestion.")] = None,
    parameters: Annotated[
        str | None, typer.Option(help="Instead of an id: where it was sampled, as JSON.")
    ] = None,
    reward: Annotated[float | None, typer.Option(help="What it brought.")] = None,
    time: Time = None,
    actual: Annotated[
        str | None, typer.Option(help="With --id: what was set instead of it, as JSON.")
    ] = None,
    noise: Annotated[
        float | None, typer.Option(help="The standard deviation of the reward's noise, if known.")
    ] = None,
    context: Context = None,
    constraints: Annotated[
        str | None, typer.Option(help="What was measured of limits, as JSON; null for nothing.")
    ] = None,
    trials: Annotated[
        int | None, typer.Option(help="Of how many 0/1 rewards or counts it is the mean.")
    ] = None,
    key: Annotated[
        str | None, typer.Option(help="Your name for this reward: told again, it counts once.")
    ] = None,
) -> None:
    """What a suggestion, or any other setting, brought."""
    if reward is None:
        raise DriftpeakError("give --reward, what it brought")
    if (number is None) == (parameters is None):
        raise DriftpeakError("give --id of a suggestion, or --parameters as JSON")
    if actual is not None and number is None:
        raise DriftpeakError("--actual goes with --id; another setting is told by --parameters")
    setting: Any = number if parameters is None else _object(parameters, "--parameters")
    instead = None if actual is None else _object(actual, "--actual")
    measured = None if constraints is None else _object(constraints, "--constraints")
    when, said = _time(time), _context(context)
    with _study(store, name) as optimizer:
        optimizer.tell(
            setting,
            reward,
            when,
            actual=instead,
            noise=noise,
            context=said,
            constraints=measured,
            trials=trials,
            key=key,
        )
        counts = _counts(optimizer)
    _print(counts)


@live_app.command(
    epilog=examples("live best kiln.jsonl", "live best kiln.jsonl --time 2026-03-01T08:00")
)
def best(store: Store, name: Name = None, time: Time = None, context: Context = None) -> None:
    """The estimated peak now, or at a time to come: parameters, mean and standard deviation."""
    when, said = _time(time), _context(context)
    with _study(store, name) as optimizer:
        found = optimizer.best(when, context=said)
    _print({**_setting(found), "mean": found.mean, "deviation": found.deviation})


@live_app.command(epilog=examples("live show kiln.jsonl", "live show sqlite:///studies.db kiln"))
def show(store: Store, name: Name = None) -> None:
    """The study: its space, what is pending, what is believed, how well rewards were foretold."""
    with _study(store, name) as optimizer:
        told, foretold = optimizer.history(), optimizer.calibration()
        content = {
            "name": optimizer.name,
            **{key: optimizer.describe()[key] for key in ("space", "maximize", "seed")},
            "pending": [_suggestion(one) for one in optimizer.pending()],
            "latest": told[-1].time if told else None,
            "diagnostics": asdict(optimizer.diagnostics()),
            "calibration": {
                "count": foretold.count,
                "log_likelihood": foretold.log_likelihood,
                "coverage": foretold.coverage,
            },
        }
        if limits := optimizer.violations():
            content["constraints"] = optimizer.describe()["constraints"]
            content["violations"] = {one: asdict(found) for one, found in limits.items()}
    _print(content)


@live_app.command(
    epilog=examples("live verify kiln.jsonl", "live verify sqlite:///studies.db kiln")
)
def verify(store: Store, name: Name = None) -> None:
    """Check all of a study against its checksums; nothing is changed."""
    with busy("reading the study"):
        from driftpeak.live.study.storage import open_store, verify as check

        found = check(open_store(store, name))
    _print(found)


@live_app.command(epilog=examples("live cancel kiln.jsonl --id 2", "live cancel kiln.jsonl --all"))
def cancel(
    store: Store,
    name: Name = None,
    number: Annotated[int | None, typer.Option("--id", help="Of the suggestion.")] = None,
    every: Annotated[bool, typer.Option("--all", help="All that are out and not told.")] = False,
) -> None:
    """Take a suggestion back that will never be told, or all."""
    if (number is None) == (not every):
        raise DriftpeakError("give --id of a suggestion, or --all")
    with _study(store, name) as optimizer:
        taken = [one.id for one in optimizer.pending()] if number is None else [number]
        for one in taken:
            optimizer.cancel(one)
        left = len(optimizer.pending())
    _print({"cancelled": taken, "pending": left})


@live_app.command(epilog=examples("live forget kiln.jsonl", "live forget kiln.jsonl --before 15"))
def forget(
    store: Store,
    name: Name = None,
    before: Annotated[
        str | None, typer.Option(help="Only what was observed before: a time as for --time.")
    ] = None,
) -> None:
    """The system has changed: believe no longer what was observed. What was learned stays."""
    when = _time(before, "--before")
    with _study(store, name) as optimizer:
        optimizer.forget(when)
        left = optimizer.diagnostics()
    _print({"held": left.held, "told": left.told})


@live_app.command(epilog=examples("live reset kiln.jsonl", "live reset sqlite:///studies.db kiln"))
def reset(store: Store, name: Name = None) -> None:
    """Start again from nothing; only the numbers of suggestions go on."""
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
    """All rewards told since the start, or the last reset, as JSON, with what was foretold of each.

    In the order of telling. Nothing is computed, however long the study is. Rewards dated before an
    earlier forget have "used": false.
    """
    with busy("loading"):
        from driftpeak.live.study.storage import open_store, rewards as told

    _print(
        [
            {
                "id": one.id,
                "time": one.time,
                "parameters": one.parameters,
                "reward": one.reward,
                "expected": one.expected,
                **({"context": one.context} if one.context else {}),
                **({"constraints": one.constraints} if one.constraints else {}),
                **({} if one.used else {"used": False}),
            }
            for one in told(open_store(store, name))
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
    output: Annotated[Path, typer.Option(help="Directory for the pictures.")],
    name: Name = None,
    context: Context = None,
) -> None:
    """Write track.png, belief.png and reward.png; print their paths."""
    said = _context(context)
    with _study(store, name) as optimizer:
        from driftpeak.live.views.plots import belief_figure, reward_figure, track_figure

        figures = {
            "track": track_figure(optimizer, context=said),
            "belief": belief_figure(optimizer, context=said),
            "reward": reward_figure(optimizer),
        }
        try:
            output.mkdir(parents=True, exist_ok=True)
            for kind, figure in figures.items():
                figure.savefig(output / f"{kind}.png", dpi=150)
        except OSError as error:
            raise DriftpeakError(f"cannot write into {output}: {error.strerror}") from None
    _print([str(output / f"{kind}.png") for kind in figures])


@contextmanager
def _study(store: str, name: str | None) -> "Iterator[Optimizer]":
    """The study, loaded; what is done with it in the block may compile, which takes its time."""
    with busy("loading") as say:
        keep_programs()
        from driftpeak.live import Optimizer

        def read(done: int, total: int) -> None:
            say(f"reading the study, {done:,} of {total:,} events")

        optimizer = Optimizer.load(store, name, progress=read)
        say("computing")
        yield optimizer


def _content(given: str) -> str:
    """JSON itself, or that of a file or of the input."""
    if given.lstrip().startswith("{"):
        return given
    try:
        with sys.stdin if given == "-" else TextIOWrapper(open_regular(given), "utf-8") as file:
            text = file.read(MOST_TEXT + 1)
    except (OSError, ValueError) as error:  # no UTF-8, or a path with NUL
        why = getattr(error, "strerror", None) or error
        raise DriftpeakError(f"cannot read the space from {shown(given)}: {why}") from None
    if len(text) > MOST_TEXT:
        raise DriftpeakError(
            f"{shown(given)} holds more than {MOST_TEXT:,} characters, which is no space"
        )
    return text


def _json(text: str, what: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise DriftpeakError(f"{what} is no JSON: {error}") from None
    except RecursionError:
        raise DriftpeakError(f"{what} is nested too deeply") from None


def _object(text: str, what: str) -> dict[str, Any]:
    found = _json(text, what)
    if not isinstance(found, dict):
        raise DriftpeakError(f"{what} must be a JSON object; got {shown(text)}")
    return found


def _context(given: list[str] | None) -> dict[str, Any] | None:
    """What the options say together; a value is JSON if it can be read so, else text."""
    found: dict[str, Any] = {}
    for text in given or ():
        if text.lstrip().startswith("{"):
            found |= _object(text, "--context")
            continue
        name, equals, value = text.partition("=")
        if not equals:
            raise DriftpeakError(
                f"--context is NAME=VALUE, as weekday=monday, or a JSON object; got {shown(text)}"
            )
        try:
            found[name] = json.loads(value)
        except (ValueError, RecursionError):
            found[name] = value
    return found if given else None


def _time(text: str | None, option: str = "--time") -> Any:
    """A time as the optimiser takes it."""
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
            f"{option} must be a number, a date as 2026-03-01T08:00, or now; got {shown(text)}"
        ) from None


def _counts(optimizer: "Optimizer") -> dict[str, int]:
    return {"told": optimizer.diagnostics().told, "pending": len(optimizer.pending())}


def _suggestion(one: "Suggestion") -> dict[str, Any]:
    chances = {"chances": one.chances, "feasible": one.feasible} if one.chances else {}
    return {"id": one.id, **_setting(one), "hold": one.hold, **chances}


def _setting(one: "Suggestion | EstimatedPeak") -> dict[str, Any]:
    context = {"context": one.context} if one.context else {}
    return {"time": one.time, "parameters": dict(one), **context}


def _print(content: Any) -> None:
    print(json.dumps(_plain(content), indent=2, allow_nan=False))


def _plain(content: Any) -> Any:
    """With dates as text, and null where there is no number."""
    if isinstance(content, dict):
        return {str(key): _plain(value) for key, value in content.items()}
    if isinstance(content, list | tuple):
        return [_plain(one) for one in content]
    if isinstance(content, datetime):
        return content.isoformat()
    return json_number(content) if isinstance(content, float) else content
