"""`driftpeak replay` and `driftpeak compare`: run policies; write tables, summary and figures."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from driftpeak._core.errors import DriftpeakError, one_of
from driftpeak._core.files import check_apart
from driftpeak.cli.executor_options import Workers
from driftpeak.cli.option_groups import bundled
from driftpeak.cli.options import (
    MOST_TRIALS,
    Results,
    Seed,
    Steps,
    Trials,
    next_context_of,
)
from driftpeak.cli.printing import note, report
from driftpeak.cli.program_cache import keep_programs
from driftpeak.cli.spinner import busy
from driftpeak.cli.table_options import TableOptions, in_options, read
from driftpeak.offline._policy_specs.lines import check_texts, lines

Policies = Annotated[
    list[str] | None,
    typer.Option("--policy", help="NAME[:key=value,...] from the list below; may be repeated."),
]
ENVIRONMENTS = [line.name for line in lines("environments")]
Width = Annotated[str, typer.Option(help="Exploration width, NAME[:key=value,...]; see below.")]


@dataclass(frozen=True)
class Meaning:
    """The direction and the unit of a table's values."""

    minimize: Annotated[
        bool, typer.Option("--minimize", help="Minimise the values: the table contains costs.")
    ] = False
    unit: Annotated[
        str | None,
        typer.Option(
            help="Unit of the rewards, such as 'degrees C'; by default read from brackets in the "
            "header."
        ),
    ] = None


@dataclass(frozen=True)
class Training:
    """The use of the training rows."""

    train: Annotated[
        float, typer.Option(help="Fraction of the rows from which the prior is estimated.")
    ] = 0.6
    noise_variance: Annotated[
        float | None,
        typer.Option(
            help="Noise variance, in squared units of the data; default 5 % of the arms' variance."
        ),
    ] = None
    mean: Annotated[str, typer.Option(help="Prior mean: per-arm, common or zero.")] = "per-arm"
    fit: Annotated[
        bool,
        typer.Option(
            "--fit",
            help="Estimate omitted parameters from the training rows: noise variance, and the "
            "drift, window, period, discount or exponent of the policies.",
        ),
    ] = False


@bundled
def replay(
    data: Annotated[
        Path, typer.Argument(help="CSV, plain or .gz, .xlsx, .ods or Parquet: time x arms.")
    ],
    reading: TableOptions,
    training: Training,
    meaning: Meaning,
    policy: Policies = None,
    width: Width = "scaled-log:c1=0.8,c2=0.4",
    next_context: Annotated[
        list[str] | None,
        typer.Option(
            help="Context of the row after the last, for the recommendation: NAME=VALUE for each "
            "--context-column."
        ),
    ] = None,
    trials: Annotated[
        int, typer.Option(help="Number of trials, for randomised policies.", max=MOST_TRIALS)
    ] = 20,
    seed: Seed = 0,
    save: Annotated[
        Path | None,
        typer.Option(
            help="File for the recommended policy, for `driftpeak live create --policy-file`."
        ),
    ] = None,
    *,
    workers: Workers,
    results: Results,
) -> None:
    """Evaluate policies on recorded data, and recommend the arm to use next.

    The first rows determine the prior's covariance and mean. The policies run on the other rows.
    """
    results.prepare("replay")
    check_texts(policy or (), width)
    coming = next_context_of(next_context)
    if save is not None and reading.context_columns:
        raise DriftpeakError(
            "--save does not support policies that use contexts. Replay without --context-column "
            "to save one, or create a live study on a space with a context."
        )
    with busy(f"reading {data.name}"):
        table = read(data, reading)
    with busy("loading"):
        keep_programs()
        from driftpeak.live._policy_file import check_policy_path
        from driftpeak.offline._policy_specs.policies import DEFAULT_POLICIES, HISTORIC
        from driftpeak.offline.replay import replay as play
    if save is not None:
        check_policy_path(save)
    for text in table.notes:
        note(in_options(text))
    texts = policy or (*DEFAULT_POLICIES, *HISTORIC)
    with workers.start() as executor:
        runs = play(
            table,
            texts,
            **asdict(training),
            **asdict(meaning),
            width=width,
            next_context=coming,
            trials=trials,
            seed=seed,
            executor=executor,
        )
    rows = runs.attrs["train_rows"]
    given_contexts = runs.attrs.get("noise_variance_told")
    without = "" if given_contexts is None else f", {given_contexts:.4g} given the contexts"
    note(
        f"{data.name}: {len(table.arms)} arms; prior from the first {rows} rows, policies run on "
        f"{runs.sizes['step']}; noise variance {runs.attrs['noise_variance']:.4g}{without}."
    )
    for line in runs.attrs.get("contexts", "").splitlines():
        note(f"{line}.")
    for line in runs.attrs["learned"].splitlines():
        note(f"auto: {line}.")
    fitted = json.loads(runs.attrs["fitted"])
    fitted_told = json.loads(runs.attrs.get("fitted_told", "{}"))
    for name, fit in fitted.items():
        note(f"{name} {fit['value']:.4g}: {fit['how']}.")
    for name, fit in fitted_told.items():
        note(f"{name} given the contexts {fit['value']:.4g}: {fit['how']}.")
    settings = {
        "fitted": fitted,
        "fitted_told": fitted_told,
        "policies": runs.attrs["policies"].split("\n"),
        "data": str(data),
        "arms": len(table.arms),
        "train": training.train,
        "train_rows": rows,
        "played_rows": runs.sizes["step"],
        "time_column": table.time_name,
        "noise_variance": runs.attrs["noise_variance"],
        "noise_variance_told": given_contexts,
        "mean": training.mean,
        "width": width,
        "missing": reading.missing,
        "minimize": meaning.minimize,
        "unit": runs.attrs["unit"],
        "notes": list(table.notes),
        "contexts": runs.attrs.get("contexts", "").splitlines(),
        "next_context": runs.attrs.get("next_context", ""),
    }
    title = f"{data.name}, rows {rows + 1} to {rows + runs.sizes['step']}"
    judged = report("replay", runs, settings, results, title=title, table_data=True)
    if save is not None:
        _save(save, table, runs, judged)


def _save(path: Path, table: Any, runs: Any, judged: Any) -> None:
    """Write the recommended policy, with a prior from all rows."""
    from driftpeak.live._policy_file import write_policy
    from driftpeak.offline.replay import chosen_policy, policy_for_live

    if judged is None:
        raise DriftpeakError(
            "--save needs a policy that does not see the true function; add one by --policy"
        )
    name, why = chosen_policy(judged)
    write_policy(path, policy_for_live(table, runs, name))
    note(
        f"{name} ({why}) is saved in {path}. Create a study by `driftpeak live create STORE NAME "
        f"--policy-file {path}`. Time 1 is the row after the last and each ask is one step, so "
        "omit --time."
    )


@dataclass(frozen=True)
class World:
    """A synthetic environment on a grid over the unit cube."""

    environment: Annotated[str, typer.Option(help=f"Type of drift: {', '.join(ENVIRONMENTS)}.")] = (
        "markov"
    )
    kernel: Annotated[str, typer.Option(help="Kernel: se or matern.")] = "se"
    nu: Annotated[float, typer.Option(help="Smoothness of the Matern kernel.")] = 2.5
    lengthscale: Annotated[
        float, typer.Option(help="Lengthscale, relative to the sides of the unit cube.")
    ] = 0.2
    dimension: Annotated[int, typer.Option(help="Dimension of the unit cube.")] = 1
    size: Annotated[int, typer.Option(help="Grid points per dimension.")] = 100
    noise_variance: Annotated[float, typer.Option(help="Noise variance of one observation.")] = 0.01
    drift: Annotated[float, typer.Option(help="Drift per step of the markov environment.")] = 0.01

    def summary(self) -> dict[str, object]:
        """Return the settings that have an effect, for the summary."""
        kernel = self.kernel if self.kernel == "se" else f"{self.kernel}, nu={self.nu:g}"
        drift = self.drift if self.environment == "markov" else None
        given = asdict(self) | {"kernel": kernel, "drift": drift}
        return {name: value for name, value in given.items() if name != "nu"}


@dataclass(frozen=True)
class Keeping:
    """The stored results of a long run, and their folder."""

    keep: Annotated[
        str,
        typer.Option(
            help="everything, or summaries: the mean of each step and the totals of each trial, so "
            "that memory does not grow with trials x steps."
        ),
    ] = "everything"
    folder: Annotated[
        Path | None,
        typer.Option(help="Folder for finished parts; the same command resumes from it."),
    ] = None


@bundled
def compare(
    world: World,
    steps: Steps = 500,
    policy: Policies = None,
    width: Width = "scaled-log:c1=0.8,c2=4",
    trials: Trials = 50,
    seed: Seed = 0,
    *,
    keeping: Keeping,
    workers: Workers,
    results: Results,
) -> None:
    """Compare policies on a synthetic environment, on equal functions and noise.

    The default policies are those of `replay`, with parameters from theory for the drift.
    """
    if results.output is not None and keeping.folder is not None:
        check_apart(results.output, keeping.folder)
    results.prepare("compare")
    check_texts(policy or (), width)
    with busy("loading"):
        keep_programs()
        from driftpeak.offline._policy_specs.policies import make_policies
        from driftpeak.offline._policy_specs.settings import (
            default_policies,
            make_environment,
            make_kernel,
            make_prior,
        )
        from driftpeak.simulation._aggregation import KEEPS
        from driftpeak.simulation._simulator import simulate

        one_of("keep", keeping.keep, KEEPS)
        kernel = make_kernel(world.kernel, world.nu, world.lengthscale)
        prior = make_prior(kernel, world.dimension, world.size, world.noise_variance)
        environment = make_environment(world.environment, prior, world.drift, steps)
        texts = policy or default_policies(prior, world.drift, steps)
        policies = make_policies(texts, prior, steps, width=width)
    try:
        with workers.start() as executor:
            runs = simulate(
                policies,
                environment,
                steps=steps,
                trials=trials,
                seed=seed,
                **asdict(keeping),
                readings=keeping.keep == "everything",
                executor=executor,
            )
    except KeyboardInterrupt as stop:
        if keeping.folder is None:
            raise
        raise DriftpeakError(f"interrupted: {stop}") from None
    settings = world.summary() | {"width": width, "policies": list(texts)}
    runs = runs.assign_attrs({key: str(value) for key, value in settings.items()})
    title = f"Environment {world.environment}, kernel {settings['kernel']}, {trials} trials"
    report("compare", runs, settings, results, title=title, table_data=False)
