"""`demo`: what driftpeak is, in one picture and one table."""

import shlex
from pathlib import Path
from typing import Annotated

import typer

from driftpeak.cli.options import Overwrite, Results, Seed, Trials, prepare_output
from driftpeak.cli.printing import note, report
from driftpeak.cli.program_cache import keep_programs
from driftpeak.cli.spinner import busy

DRIFT, STEPS, POINTS = 0.01, 300, 200


def demo(
    output: Annotated[
        Path, typer.Option(help="Directory for the pictures and the numbers.")
    ] = Path("driftpeak-demo"),
    trials: Trials = 20,
    seed: Seed = 0,
    overwrite: Overwrite = False,
) -> None:
    """A first look: a function on a line that drifts, its peak, and who follows it.

    `auto`, which is told nothing, beside GP-UCB, which forgets nothing, and TV-GP-UCB, which is
    told how fast the function drifts.
    """
    prepare_output(output, "demo", overwrite)
    with busy("loading"):
        keep_programs()
        import driftpeak as dp
        from driftpeak.plots import map_figure
        from driftpeak.simulation.simulator import simulate, true_functions
    line = dp.Grid([0, 1], size=POINTS)
    prior = dp.Prior(line, dp.SE(lengthscale=0.15), noise_variance=0.01)
    world = dp.MarkovDrift(prior, drift=DRIFT)
    note(
        f"A function on [0, 1] that forgets {100 * DRIFT:g} % of itself at every step: "
        f"{STEPS} steps, {trials} such worlds."
    )
    policies = {
        "GP-UCB (forgets nothing)": dp.GPUCB(prior),
        "auto (told nothing)": dp.Auto(prior),
        "TV-GP-UCB (told the drift)": dp.TVGPUCB(prior, drift=DRIFT),
    }
    runs = simulate(policies, world, steps=STEPS, trials=trials, seed=seed)
    with busy("looking at the first world"):
        values = true_functions(world, steps=STEPS, trials=1, seed=seed)[0]
    first = runs.isel(trial=0)
    tracks = {
        f"{name}\nregret {float(first['regret'].sel(policy=name).mean()):.2f}": first["action"]
        .sel(policy=name)
        .values.tolist()
        for name in policies
    }
    report(
        "demo",
        runs,
        {"drift": DRIFT},
        Results(output),
        title=f"A function that drifts by {100 * DRIFT:g} % a step, {trials} worlds",
        table_data=False,
        further={
            "peak.png": lambda: map_figure(
                values, line.points[:, 0], tracks, title="The first world: who follows its peak?"
            )
        },
    )
    note(
        f"Look at {shlex.quote(str(output / 'peak.png'))}. Now yours, a table with a row per step "
        "and a column per arm: driftpeak replay YOUR.csv --output results"
    )
