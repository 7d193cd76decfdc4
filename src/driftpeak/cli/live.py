"""`driftpeak live create | ask | tell | best | show | ...`: stored studies, for any language.

The output is JSON. Warnings and errors go to the error output.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from driftpeak._core.errors import DriftpeakError
from driftpeak.cli.examples import examples
from driftpeak.cli.live_arguments import (
    json_of,
    named_values,
    object_of,
    schedule_of,
    space_text,
    time_of,
)
from driftpeak.cli.live_results import print_json, setting_data, suggestion_data
from driftpeak.cli.option_groups import bundled
from driftpeak.cli.options import Seed
from driftpeak.cli.program_cache import keep_programs
from driftpeak.cli.spinner import busy, compilation_shown

if TYPE_CHECKING:
    from driftpeak.live import Optimizer

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


@dataclass(frozen=True)
class StudyOptions:
    """The space, the direction and the model of a new study."""

    space: Annotated[
        str | None,
        typer.Option(
            help="The search space: a JSON file, - for standard input, or JSON such as "
            '{"box": {...}}; see the documentation.'
        ),
    ] = None
    maximize: Annotated[bool, typer.Option("--maximize", help="Maximise the reward.")] = False
    minimize: Annotated[bool, typer.Option("--minimize", help="Minimise the reward.")] = False
    capacity: Annotated[
        int | None,
        typer.Option(
            help="Maximum number of observations in the model; default 512.", max=MOST_HELD
        ),
    ] = None
    likelihood: Annotated[
        str,
        typer.Option(
            help="Distribution of rewards: gaussian, bernoulli (0 and 1) or poisson (counts)."
        ),
    ] = "gaussian"
    start: Annotated[
        str | None,
        typer.Option(help="The system's present setting, as JSON; it is suggested first."),
    ] = None
    max_travel: Annotated[
        str | None,
        typer.Option(
            help="Largest change per step, as a fraction of each range, or as JSON by parameter."
        ),
    ] = None
    moving_cost: Annotated[
        str | None,
        typer.Option(
            help="Cost of a change across a parameter's full range, in units of the reward, or as "
            "JSON by parameter."
        ),
    ] = None
    constraints: Annotated[
        str | None,
        typer.Option(
            help='Constraints as JSON, such as {"heat": {"at_most": 75}}; see the documentation.'
        ),
    ] = None
    safe_start: Annotated[
        str | None,
        typer.Option(help="Settings that are known to meet all constraints, as a JSON list."),
    ] = None
    schedule: Annotated[
        str | None,
        typer.Option(
            help="Settings by which the system is run today: a table with a line for each hour of "
            'the day (CSV, .xlsx, .ods or Parquet), or JSON such as {"settings": [...], "period": '
            '"1 day"}.'
        ),
    ] = None


@live_app.command(
    epilog=examples(
        "live create kiln.jsonl kiln --space space.json --maximize",
        "live create shop.jsonl shop --space '{\"arms\": 3}' --minimize",
    )
)
@bundled
def create(
    store: Store,
    name: Annotated[str, typer.Argument(help="Name of the study.")],
    study: StudyOptions,
    policy_file: Annotated[
        Path | None,
        typer.Option(help="A file of `replay --save`: a policy with its space and direction."),
    ] = None,
    seed: Seed = 0,
) -> None:
    """Create a study; an existing study with equal arguments is left unchanged."""
    if policy_file is not None:
        if study != StudyOptions():
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
    if study.maximize == study.minimize:
        raise DriftpeakError("exactly one of --maximize and --minimize is required")
    if study.space is None:
        raise DriftpeakError("--space is required, or --policy-file, which contains a space")
    data = json_of(space_text(study.space), "--space")
    with busy("loading"):
        keep_programs()
        from driftpeak.live import DriftingGP, Optimizer
        from driftpeak.live._model.likelihoods import check_likelihood
        from driftpeak.live._space.constraint_data import constraints_from_data
        from driftpeak.live._space.serialization import space_from_data

        rules = object_of(study.constraints, "--constraints")
        made = Optimizer(
            space_from_data(data),
            maximize=study.maximize,
            policy=DriftingGP(
                capacity=512 if study.capacity is None else study.capacity,
                likelihood=check_likelihood(study.likelihood),
            ),
            seed=seed,
            start=object_of(study.start, "--start"),
            max_travel=json_of(study.max_travel, "--max-travel"),
            moving_cost=json_of(study.moving_cost, "--moving-cost"),
            constraints=None if rules is None else constraints_from_data(rules),
            safe_start=json_of(study.safe_start, "--safe-start"),
            schedule=schedule_of(study.schedule),
            storage=store,
            name=name,
        )
    _created(made)


def _created(optimizer: "Optimizer") -> None:
    print_json({"name": optimizer.name, "told": optimizer.diagnostics().told})


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
    when, values, held = (
        time_of(time),
        named_values(context, "--context"),
        named_values(fixed, "--fixed"),
    )
    with _study(store, name) as optimizer:
        number = 1 if count is None else count
        suggestions = optimizer.ask(when, number, context=values, fixed=held)
    shown = [suggestion_data(suggestion) for suggestion in suggestions]
    print_json(shown[0] if count is None else shown)


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
    setting: Any = number if parameters is None else object_of(parameters, "--parameters")
    instead = object_of(actual, "--actual")
    measured = object_of(constraints, "--constraints")
    when, values = time_of(time), named_values(context, "--context")
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
    print_json(counts)


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
            help="A CSV, .xlsx, .ods or Parquet file with columns for the parameters, the "
            "reward, the measured quantities and, optionally, time, noise, trials and key."
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
    print_json(counts)


@live_app.command(
    epilog=examples("live best kiln.jsonl", "live best kiln.jsonl --time 2026-03-01T08:00")
)
def best(store: Store, name: Name = None, time: Time = None, context: Context = None) -> None:
    """Print the estimated best setting now or at a later time, with mean and standard deviation."""
    when, values = time_of(time), named_values(context, "--context")
    with _study(store, name) as optimizer:
        peak = optimizer.best(when, context=values)
    print_json({**setting_data(peak), "mean": peak.mean, "deviation": peak.deviation})


@live_app.command(epilog=examples("live show kiln.jsonl", "live show sqlite:///studies.db kiln"))
def show(store: Store, name: Name = None) -> None:
    """Print a study: space, pending suggestions, diagnostics of the model and calibration."""
    with _study(store, name) as optimizer:
        history, calibration = optimizer.history(), optimizer.calibration()
        content = {
            "name": optimizer.name,
            **{key: optimizer.describe()[key] for key in ("space", "maximize", "seed")},
            "pending": [suggestion_data(pending) for pending in optimizer.pending()],
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
    print_json(content)


@live_app.command(
    epilog=examples("live verify kiln.jsonl", "live verify sqlite:///studies.db kiln")
)
def verify(store: Store, name: Name = None) -> None:
    """Check all stored data of a study against their checksums, without changing anything."""
    with busy("reading the study"):
        from driftpeak.live._study.storage import open_store, verify as check

        result = check(open_store(store, name))
    print_json(result)


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
    print_json({"cancelled": taken, "pending": left})


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
    when = time_of(before, "--before")
    with _study(store, name) as optimizer:
        optimizer.forget(when)
        left = optimizer.diagnostics()
    print_json({"held": left.held, "told": left.told})


@live_app.command(epilog=examples("live reset kiln.jsonl", "live reset sqlite:///studies.db kiln"))
def reset(store: Store, name: Name = None) -> None:
    """Restart a study without observations; the numbering of suggestions continues."""
    with _study(store, name) as optimizer:
        optimizer.reset()
        counts = _counts(optimizer)
    print_json(counts)


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

    print_json(
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
    values = named_values(context, "--context")
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
    print_json([str(output / f"{kind}.png") for kind in figures])


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


def _counts(optimizer: "Optimizer") -> dict[str, int]:
    return {"told": optimizer.diagnostics().told, "pending": len(optimizer.pending())}
