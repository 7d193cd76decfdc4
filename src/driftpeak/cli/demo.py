"""`driftpeak demo`: a comparison of three policies in one figure and one table."""

import shlex
from pathlib import Path
from typing import Annotated

import typer

from driftpeak.cli.options import Overwrite, Results, Seed, Trials
from driftpeak.cli.printing import note, report
from driftpeak.cli.program_cache import keep_programs
from driftpeak.cli.spinner import busy

DRIFT, STEPS, POINTS = 0.01, 300, 200


def demo(
    output: Annotated[Path, typer.Option(help="Directory for the figures and the numbers.")] = Path(
        "driftpeak-demo"
    ),
    trials: Trials = 20,
    seed: Seed = 0,
    overwrite: Overwrite = False,
) -> None:
    """Compare three policies on a drifting function on a line, and draw how they track its peak.

    GP-UCB assumes a static function, TV-GP-UCB is given the drift rate, and `auto` estimates it.
    """
    results = Results(output, overwrite)
    results.prepare("demo")
    with busy("loading"):
        keep_programs()
        import driftpeak as dp
        from driftpeak.plots import map_figure
        from driftpeak.simulation._simulator import simulate, true_functions
    line = dp.Grid([0, 1], size=POINTS)
    prior = dp.Prior(line, dp.SE(lengthscale=0.15), noise_variance=0.01)
    world = dp.MarkovDrift(prior, drift=DRIFT)
    note(
        f"A function on [0, 1] with Markov drift of {100 * DRIFT:g} % per step: "
        f"{STEPS} steps, {trials} independent trials."
    )
    policies = {
        "GP-UCB (static)": dp.GPUCB(prior),
        "auto (estimates the drift)": dp.Auto(prior),
        "TV-GP-UCB (knows the drift)": dp.TVGPUCB(prior, drift=DRIFT),
    }
    runs = simulate(policies, world, steps=STEPS, trials=trials, seed=seed)
    with busy("computing the first trial's function"):
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
        results,
        title=f"Markov drift of {100 * DRIFT:g} % per step, {trials} trials",
        table_data=False,
        further={
            "peak.png": lambda: map_figure(
                values, line.points[:, 0], tracks, title="First trial: decisions and true peak"
            )
        },
    )
    note(
        f"Open {shlex.quote(str(output / 'peak.png'))}. For your own data, a table with one row "
        "per step and one column per arm: driftpeak replay YOUR.csv --output results"
    )
