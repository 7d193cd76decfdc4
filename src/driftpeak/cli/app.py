"""The command line, but for `data` and `live`. Thin: parse, call, print."""

import json
import sys
import warnings
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any

import typer

from driftpeak.cli.data import data_app
from driftpeak.cli.live import live_app
from driftpeak.cli.printing import note, print_claims, print_experiments, report
from driftpeak.errors import DriftpeakError, DriftpeakWarning

# The rest of the package is imported where it is used: `--help` and mistakes answer at once.

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
app.add_typer(data_app, name="data")
app.add_typer(live_app, name="live")

POLICY_HELP = (
    "A policy, NAME[:key=value,...]; repeat for more. Names: auto (which needs no parameters), "
    "random, gp-ucb, igp-ucb, "
    "r-gp-ucb:period=15, sw-gp-ucb:window=50, tv-gp-ucb:drift=0.03, w-gp-ucb:discount=0.9, "
    "ui-gp-ucb:exponent=1, sparq, w-sparq:exponent=1, adaptive-sparq, pe, r-perp:period=100, "
    "opkb:preset=theory, r-opkb, ada-opkb, rexp3, best-fixed-arm, clairvoyant. The sparq policies "
    "make side queries. Every gp and sparq policy also takes acquisition=thompson and "
    "form=feature-space or function-space."
)
WIDTH_HELP = (
    "Exploration width, NAME[:key=value,...]: scaled-log:c1=0.8,c2=4, constant:value=1, "
    "finite-domain:delta=0.1, igp, confidence, sliding-confidence, heteroscedastic."
)
Policies = Annotated[list[str] | None, typer.Option("--policy", help=POLICY_HELP)]
Width = Annotated[str, typer.Option(help=WIDTH_HELP)]
Output = Annotated[Path | None, typer.Option(help="Directory for results, summary and pictures.")]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace whatever is in --output.")]
Json = Annotated[bool, typer.Option("--json", help="Print the summary as JSON, nothing else.")]
Trials = Annotated[int, typer.Option(help="Independent repetitions.")]
Seed = Annotated[int, typer.Option(help="Of everything random.")]
DEFAULT_WORKERS = 2


def main() -> None:
    """Entry point: a mistake in the input is one line on the error output, and exit code 2."""
    warnings.showwarning = _show_warning
    try:
        app()
    except DriftpeakError as error:
        print(f"driftpeak: {error}", file=sys.stderr)
        sys.exit(2)


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


@app.command()
def demo(
    output: Annotated[Path, typer.Option(help="Directory for the picture and the numbers.")] = Path(
        "driftpeak-demo"
    ),
    trials: Trials = 20,
    seed: Seed = 0,
    overwrite: Overwrite = False,
) -> None:
    """A first look: four policies on 2,500 points of a drifting function (B16, section 5.1)."""
    import driftpeak as dp
    from driftpeak.theory.schedules import markov_restart_period

    _prepare_output(output, "demo", overwrite)
    drift, steps, kernel = 0.01, 200, dp.SE(lengthscale=0.2)
    prior = dp.Prior(dp.Grid([0, 1], [0, 1], size=50), kernel, noise_variance=0.01)
    period = markov_restart_period(kernel, drift=drift, horizon=steps, dimension=2)
    note(f"2,500 points, SE kernel, drift {drift:g}, {steps} steps, {trials} trials.")
    runs = dp.simulate(
        {
            "random": dp.UniformRandom(prior),
            "GP-UCB": dp.GPUCB(prior),
            f"R-GP-UCB (period {period})": dp.RGPUCB(prior, period=period),
            f"TV-GP-UCB (drift {drift:g})": dp.TVGPUCB(prior, drift=drift),
        },
        dp.MarkovDrift(prior, drift=drift),
        steps=steps,
        trials=trials,
        seed=seed,
    )
    title = f"A function that drifts: SE kernel, drift {drift:g}, {trials} trials"
    report("demo", runs, {"drift": drift}, output, as_json=False, title=title, table_data=False)


@app.command()
def replay(
    data: Annotated[Path, typer.Argument(help="CSV, plain or .gz: time x arms, with a header.")],
    time_column: Annotated[
        str | None, typer.Option(help="Column that holds the times; by default found by its name.")
    ] = None,
    train: Annotated[
        float, typer.Option(help="Share of the rows that the prior comes from.")
    ] = 0.6,
    policy: Policies = None,
    noise_variance: Annotated[
        float | None,
        typer.Option(help="In squared units of the data; default 5 % of the arms' variance."),
    ] = None,
    mean: Annotated[str, typer.Option(help="Prior mean: per-arm, common or zero.")] = "per-arm",
    fit: Annotated[
        bool,
        typer.Option(
            "--fit",
            help="Learn from the training rows what is not given: noise variance, and the drift, "
            "window, period, discount or exponent of the policies.",
        ),
    ] = False,
    width: Width = "scaled-log:c1=0.8,c2=0.4",
    missing: Annotated[
        str, typer.Option(help="What to do about blanks: error, drop-arm or interpolate.")
    ] = "error",
    trials: Annotated[int, typer.Option(help="Repetitions, for policies that act at random.")] = 20,
    seed: Seed = 0,
    output: Output = None,
    overwrite: Overwrite = False,
    as_json: Json = False,
) -> None:
    """Which policy would have followed the peak of recorded data best?

    The first rows give the empirical covariance and mean; the policies play the rest.
    """
    from driftpeak.data import read_table
    from driftpeak.named.policies import DEFAULT_POLICIES, YARDSTICKS
    from driftpeak.replay import replay as play

    _prepare_output(output, "replay", overwrite)
    table = read_table(data, time_column=time_column, missing=missing)  # type: ignore[arg-type]
    runs = play(
        table,
        policy or (*DEFAULT_POLICIES, *YARDSTICKS),
        train=train,
        noise_variance=noise_variance,
        mean=mean,  # type: ignore[arg-type]
        fit=fit,
        width=width,
        trials=trials,
        seed=seed,
    )
    for text in table.notes:
        note(text)
    rows = runs.attrs["train_rows"]
    note(
        f"{data.name}: {len(table.arms)} arms; prior from the first {rows} rows, "
        f"{runs.sizes['step']} played; noise variance {runs.attrs['noise_variance']:.4g}."
    )
    for line in runs.attrs["learned"].splitlines():
        note(line)
    fitted = json.loads(runs.attrs["fitted"])
    for name, found in fitted.items():
        note(f"{name} {found['value']:.4g}: {found['how']}.")
    settings = {
        "fitted": fitted,
        "policies": runs.attrs["policies"].split(" "),
        "data": str(data),
        "arms": len(table.arms),
        "train": train,
        "train_rows": rows,
        "played_rows": runs.sizes["step"],
        "time_column": table.time_name,
        "noise_variance": runs.attrs["noise_variance"],
        "mean": mean,
        "width": width,
        "missing": missing,
        "notes": list(table.notes),
    }
    title = f"{data.name}, rows {rows + 1} to {rows + runs.sizes['step']}"
    report("replay", runs, settings, output, as_json=as_json, title=title, table_data=True)


@app.command()
def compare(
    environment: Annotated[
        str, typer.Option(help="How the function moves: markov, abrupt, slow, sign or cosine.")
    ] = "markov",
    kernel: Annotated[str, typer.Option(help="se or matern.")] = "se",
    nu: Annotated[float, typer.Option(help="Smoothness of the Matern kernel.")] = 2.5,
    lengthscale: Annotated[float, typer.Option(help="In units of the unit cube.")] = 0.2,
    dimension: Annotated[int, typer.Option(help="Of the unit cube.")] = 1,
    size: Annotated[int, typer.Option(help="Grid points per dimension.")] = 100,
    noise_variance: Annotated[float, typer.Option(help="Of one observation.")] = 0.01,
    drift: Annotated[float, typer.Option(help="Of the markov environment.")] = 0.01,
    steps: Annotated[int, typer.Option(help="Length of a trial.")] = 500,
    policy: Policies = None,
    width: Width = "scaled-log:c1=0.8,c2=4",
    trials: Trials = 50,
    seed: Seed = 0,
    output: Output = None,
    overwrite: Overwrite = False,
    as_json: Json = False,
) -> None:
    """Play policies on a synthetic environment, all on the same worlds and noise.

    Without --policy: the policies of `replay`, with the memory that theory gives for the drift.
    """
    import driftpeak as dp
    from driftpeak.named.policies import make_policies
    from driftpeak.named.settings import default_policies, make_environment, make_prior

    _prepare_output(output, "compare", overwrite)
    prior = make_prior(kernel, nu, lengthscale, dimension, size, noise_variance)
    world = make_environment(environment, prior, drift, steps)
    texts = policy or default_policies(prior, drift, steps)
    policies = make_policies(texts, prior, steps, width=width)
    runs = dp.simulate(policies, world, steps=steps, trials=trials, seed=seed, readings=True)
    settings: dict[str, Any] = {
        "environment": environment,
        "kernel": kernel if kernel == "se" else f"{kernel}, nu={nu:g}",
        "lengthscale": lengthscale,
        "dimension": dimension,
        "size": size,
        "noise_variance": noise_variance,
        "drift": drift if environment == "markov" else None,
        "width": width,
        "policies": list(texts),
    }
    runs = runs.assign_attrs({key: str(value) for key, value in settings.items()})
    title = f"Environment {environment}, kernel {settings['kernel']}, {trials} trials"
    report("compare", runs, settings, output, as_json=as_json, title=title, table_data=False)


@app.command()
def plan(
    kernel: Annotated[str, typer.Option(help="se or matern.")] = "se",
    nu: Annotated[float, typer.Option(help="Smoothness of the Matern kernel.")] = 2.5,
    dimension: Annotated[int, typer.Option(help="Of the domain.")] = 1,
    horizon: Annotated[
        int | None, typer.Option(help="Steps T; with --data by default its number of rows.")
    ] = None,
    variation: Annotated[
        float | None,
        typer.Option(help="V_T: the sum over time of the largest change, in prior deviations."),
    ] = None,
    drift: Annotated[
        float | None, typer.Option(help="Epsilon of Markov drift per step, in [0, 1].")
    ] = None,
    exponent: Annotated[
        float | None,
        typer.Option(help="Alpha of uncertainty injection: noise grows as 1 + age^alpha."),
    ] = None,
    side_queries: Annotated[
        int, typer.Option(help="Re-evaluations of the present function that may be made in all.")
    ] = 0,
    data: Annotated[
        Path | None,
        typer.Option(help="CSV, time x arms: estimates horizon, variation and drift not given."),
    ] = None,
    as_json: Json = False,
) -> None:
    """What theory says before the first step: every policy, its parameters, and which to take."""
    from driftpeak.cli.plan_report import print_plan, summary
    from driftpeak.named.settings import make_kernel
    from driftpeak.theory.planner import fill_in
    from driftpeak.theory.planner import plan as make_plan
    from driftpeak.theory.rates import Setting

    made = make_kernel(kernel, nu, lengthscale=1.0)
    notes: tuple[str, ...] = ()
    if data is not None:
        from driftpeak.data import read_table

        table = read_table(data)
        horizon, variation, drift, estimated = fill_in(table.values, horizon, variation, drift)
        notes = (*table.notes, *estimated)
    if horizon is None:
        raise DriftpeakError("give --horizon T, the number of steps, or --data FILE")
    setting = Setting(made, dimension, horizon, variation, drift, exponent)
    result = make_plan(setting, side_queries=side_queries)
    if as_json:
        made_by = {"command": "plan", "driftpeak_version": version("driftpeak")}
        print(json.dumps({**made_by, **summary(result), "notes": notes}, indent=2, allow_nan=False))
        return
    for text in notes:
        note(text)
    print_plan(result)


@app.command()
def reproduce(
    ids: Annotated[
        list[str] | None,
        typer.Argument(
            help="Experiments, see --list; all: of the papers; simulated: without data.",
            metavar="ID...",
        ),
    ] = None,
    show_list: Annotated[bool, typer.Option("--list", help="List the experiments.")] = False,
    trials: Annotated[
        int | None, typer.Option(help="Of every case; by default as many as in the paper.")
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="A tenth of the trials.")] = False,
    workers: Annotated[
        int | None, typer.Option(help="Processes that share the work; 2 by default.")
    ] = None,
    cluster: Annotated[
        str | None,
        typer.Option(
            metavar="tcp://HOST:PORT",
            help="Scheduler of a dask cluster whose workers share the work instead.",
        ),
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(help="Folder of the data files, by default that of `driftpeak data`."),
    ] = None,
    source: Annotated[
        Path | None,
        typer.Option("--from", help="Judge and draw again the results kept in this folder."),
    ] = None,
    seed: Seed = 0,
    output: Output = None,
    overwrite: Overwrite = False,
    as_json: Json = False,
) -> None:
    """The papers' experiments at full size, and whether their claims hold.

    A run that was interrupted is taken up again by the same command with the same --output.
    """
    from driftpeak.experiments.running import registry, reproduce, runner
    from driftpeak.experiments.running.workers import cluster_workers, local_workers

    if show_list:
        print_experiments(registry.EXPERIMENTS.values())
        return
    tell = (lambda _: None) if as_json else print_claims
    if source is not None:
        if ids or trials or quick or output or overwrite or workers or cluster:
            raise DriftpeakError("--from DIR draws what DIR holds, there: give nothing else")
        result = reproduce.redraw(source, tell=tell)
    else:
        if not ids:
            raise DriftpeakError(
                "name an experiment, or all, or simulated (all that need no data); see "
                "driftpeak reproduce --list"
            )
        if quick and trials is not None:
            raise DriftpeakError("give either --trials or --quick")
        if overwrite and output is None:
            raise DriftpeakError("--overwrite needs --output DIR")
        if workers is not None and cluster is not None:
            raise DriftpeakError(
                "give either --workers N (processes here) or --cluster; a cluster has as many "
                "workers as were started with `dask worker`"
            )
        chosen = registry.find(ids)
        plan = runner.Plan(trials=trials, quick=quick, seed=seed, data=data)
        try:
            with (
                local_workers(DEFAULT_WORKERS if workers is None else workers)
                if cluster is None
                else cluster_workers(cluster)
            ) as executor:
                result = reproduce.reproduce(
                    chosen, plan, output=output, overwrite=overwrite, executor=executor, tell=tell
                )
        except KeyboardInterrupt:
            kept = f"; the same command goes on where it stopped ({output})" if output else ""
            raise DriftpeakError(f"interrupted{kept}") from None
    if as_json:
        print(json.dumps(result, indent=2, allow_nan=False))
    if output or source:
        note(f"Written to {output or source}/: ID.nc, ID.png, summary.json, report.html.")
    elif not as_json:
        note("Nothing written: --output DIR keeps results, pictures and report.html.")


def _prepare_output(output: Path | None, command: str, overwrite: bool) -> None:
    from driftpeak.output import check_output

    if output is not None:
        check_output(output, command, overwrite=overwrite)
    elif overwrite:
        raise DriftpeakError("--overwrite needs --output DIR")
