"""Draw the figures of README.md and the docs: `python scripts/pictures.py`.

The figures of the tournament are drawn from stored results if their folder is given:
`python scripts/pictures.py results` after `driftpeak reproduce tournament --output results`.
"""

import json
import os
import runpy
import sys
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np
from matplotlib.ticker import NullLocator

import driftpeak as dp
from driftpeak.experiments.running.runner import read_results
from driftpeak.experiments.tournament.figures import heat_map, overview
from driftpeak.live.plots import track_figure
from driftpeak.plots import BAND, COLOURS, map_figure, new_figure, tidy

sys.path.insert(0, str(Path(__file__).parents[1]))
from benchmarks.rivals import FIELD
from standings import NAMES

IMAGES = Path(__file__).parents[1] / "docs" / "images"
MEASURED = Path(__file__).parents[1] / "benchmarks" / "measured"
PLAYED, GROWTH = MEASURED / "field.jsonl", MEASURED / "scaling.jsonl"
STARTS = MEASURED / "warm_start.jsonl"
CONTESTS = {
    "50 evaluations": "50 evaluations, computing time ignored",
    "0.1 s, at most 500 calls in 60 s": "60 seconds, computing time included",
}
EXAMPLES = Path(__file__).parents[1] / "examples"


def tracks() -> None:
    """Draw a peak that moves along a line, and the samples of three policies."""
    drift, steps, seed = 0.01, 300, 7
    line = dp.Grid([0, 1], size=200)
    prior = dp.Prior(line, dp.SE(lengthscale=0.15), noise_variance=0.01)
    world = dp.MarkovDrift(prior, drift=drift)
    policies = {
        "GP-UCB": dp.GPUCB(prior),
        "R-GP-UCB, period 38": dp.RGPUCB(prior, period=38),
        "TV-GP-UCB": dp.TVGPUCB(prior, drift=drift),
        "clairvoyant": dp.Clairvoyant(prior),
    }
    runs = dp.simulate(policies, world, steps=steps, seed=seed)
    values = dp.true_functions(world, steps=steps, seed=seed)[0]
    peak = runs["action"].sel(policy="clairvoyant", trial=0).values
    assert (values.argmax(axis=1) == peak).all(), "the map must show the simulated function"
    shown = {
        f"{name}: mean regret {float(runs['regret'].sel(policy=name).mean()):.2f}": runs["action"]
        .sel(policy=name, trial=0)
        .values
        for name in policies
        if name != "clairvoyant"
    }
    map_figure(values, line.points[:, 0], shown).savefig(IMAGES / "tracks.png", dpi=110)


def tournament(results: Path) -> None:
    """Draw the tournament: an overview by family, and a heat map of all results."""
    cases, _ = read_results(results / "tournament.nc")
    brief = overview(cases, f"All policies in {len(cases)} simulated and recorded cases")
    brief.savefig(IMAGES / "tournament.png", dpi=110)
    heat_map(cases, "").savefig(IMAGES / "tournament-cases.png", dpi=80)


def live() -> None:
    """Draw a machine whose best setting drifts, tracked for 40 hours."""
    space = dp.Box(
        speed=dp.Float(0, 10),
        gain=dp.Float(1e-3, 1, log=True),
        stages=dp.Integer(1, 6),
        coolant=dp.Categorical("water", "oil", "air"),
    )
    optimizer = dp.Optimizer(space, maximize=True)
    generator, start = np.random.default_rng(0), datetime(2026, 3, 1, 8)
    for i in range(160):
        setting = optimizer.ask(start + timedelta(minutes=15 * i))
        value = 10 - 0.15 * (setting["speed"] - 5 - 3 * np.sin(i / 30)) ** 2
        value -= 1.5 * (np.log10(setting["gain"]) + 1.5 - 0.5 * np.cos(i / 40)) ** 2
        value -= 0.2 * (setting["stages"] - 3) ** 2
        value += {"water": 1, "oil": 0, "air": -1}[setting["coolant"]]
        optimizer.tell(setting, value + 0.3 * generator.normal())
    track_figure(optimizer).savefig(IMAGES / "live-track.png", dpi=110)


def field() -> None:
    """Draw the regret of optimisers on ten functions of time, from stored plays."""
    plays: dict[str, dict[str, dict[str, list[float]]]] = {contest: {} for contest in CONTESTS}
    for line in PLAYED.read_text().splitlines():
        row = json.loads(line)
        contest, function, rival, _ = row["key"]
        if contest in plays and rival in FIELD:
            plays[contest].setdefault(rival, {}).setdefault(function, []).append(row["regret"])
    logs = {
        contest: {
            rival: np.array(
                [np.log(np.divide(by[f], rivals["random"][f])).mean() for f in rivals["random"]]
            )
            for rival, by in rivals.items()
            if rival != "random"
        }
        for contest, rivals in plays.items()
    }
    first = next(iter(logs.values()))
    order = sorted(first, key=lambda rival: -first[rival].mean())
    figure = new_figure(9.0, 4.0)
    panels = figure.subplots(1, 2, sharey=True, sharex=True)
    for axes, (contest, words) in zip(panels, CONTESTS.items(), strict=True):
        for height, rival in enumerate(order):
            ratios, colour = np.exp(logs[contest][rival]), COLOURS[rival == "driftpeak"]
            axes.plot(ratios, np.full(len(ratios), height), "o", color=colour, alpha=0.3,
                      markersize=5, markeredgewidth=0)  # fmt: skip
            middle = np.exp(np.log(ratios).mean())
            axes.plot(middle, height, "D", color=colour, markersize=8)
            axes.annotate(f"{middle:.2f}", (middle, height), (0, 7), textcoords="offset points",
                          ha="center", fontsize=8, color=colour)  # fmt: skip
        axes.axvline(1, color="black", linewidth=0.8, zorder=0)
        axes.set_title(words, fontsize=10)
        axes.set_xscale("log")
        axes.set_xticks([0.1, 0.2, 0.5, 1, 2], ["0.1", "0.2", "0.5", "1", "2"])
        axes.xaxis.set_minor_locator(NullLocator())
        axes.grid(axis="x", alpha=0.25)
        axes.spines[["top", "right", "left"]].set_visible(False)
        axes.tick_params(axis="y", length=0)
    names = [NAMES.get(rival, rival) for rival in order]
    panels[0].set_yticks(range(len(order)), names)
    panels[0].set_ylim(-0.6, len(order) - 0.2)
    panels[0].get_yticklabels()[order.index("driftpeak")].set(fontweight="bold", color=COLOURS[1])
    figure.supxlabel("regret relative to random points; dots: functions, "
                     "diamonds: geometric means", fontsize=9)  # fmt: skip
    figure.savefig(IMAGES / "field.png", dpi=110)


def scaling() -> None:
    """Draw the time of a step by points and trials, and the memory by observations."""
    rows = [json.loads(line) for line in GROWTH.read_text().splitlines()]
    points, trials, memory = {}, {}, {}  # by policy or form, pairs of a count and a figure
    for row in rows:
        kind, name, *counts = row["key"]
        if kind == "bytes":
            memory.setdefault(name.replace("-", " "), []).append((counts[0], row["bytes"] / 2**20))
        elif counts[1] == 1:
            points.setdefault(name, []).append((counts[0], 1e3 * row["seconds"]))
        if kind == "seconds" and counts[0] == 2_500:
            trials.setdefault(name, []).append((counts[1], 1e3 * row["seconds"]))
    figure = new_figure(10.5, 3.8)
    panels = figure.subplots(1, 3)
    said = (
        (points, "points, n", "time of a step (ms)", (1,), "one trial"),
        (trials, "trials at once", "time of a step of all trials (ms)", (1,), "2,500 points"),
        (memory, "observations, w", "memory of a trial (MiB)", (0, 1), "TV-GP-UCB, 10,000 points"),
    )
    for axes, (curves, across, up, slopes, title) in zip(panels, said, strict=True):
        for (name, curve), colour, marker in zip(curves.items(), COLOURS, "osD^", strict=False):
            xs, ys = np.array(sorted(curve)).T
            axes.plot(xs, ys, marker, color=colour, markersize=6, label=name)
            # the formula's slope through the last point
            ends = np.array([xs[0], xs[-1]])
            slope = slopes[min(list(curves).index(name), len(slopes) - 1)]
            axes.plot(ends, ys[-1] * (ends / xs[-1]) ** slope, "--", color=colour, linewidth=1)
        axes.set(xscale="log", yscale="log", xlabel=across, ylabel=up)
        axes.set_title(title, fontsize=10)
        axes.legend(fontsize=8, frameon=False)
        tidy(axes)
    figure.supxlabel("markers: measured; dashed: slope of the formula, through the last point",
                     fontsize=9)  # fmt: skip
    figure.savefig(IMAGES / "scaling.png", dpi=110)


def warm_start() -> None:
    """Draw how far studies are above a schedule by hour, with and without starting from it."""
    rows = [json.loads(line) for line in STARTS.read_text().splitlines()]
    dimensions = sorted({row["key"][0] for row in rows})
    figure = new_figure(2.6 * len(dimensions), 3.2)
    panels = figure.subplots(1, len(dimensions), sharey=True)
    for axes, dimension in zip(panels, dimensions, strict=True):
        for way, colour, line in (
            ("from the schedule", COLOURS[0], "-"),
            ("without", COLOURS[1], ":"),
        ):
            plays = [row for row in rows if row["key"][:2] == [dimension, way]]
            gains = np.array([np.subtract(row["own"], row["schedule"]) for row in plays])
            mean, error = gains.mean(axis=0), gains.std(axis=0, ddof=1) / np.sqrt(len(gains))
            days = np.arange(0.25, gains.shape[1] / 2, 0.5)
            label = way if way != "without" else "without the schedule"
            axes.plot(days, mean, line, color=colour, linewidth=2.2, label=label)
            axes.fill_between(days, mean - error, mean + error, color=colour, alpha=BAND,
                              linewidth=0)  # fmt: skip
        axes.axhline(0, color="black", linewidth=0.8)
        axes.set_title(f"{dimension} parameter{'s' * (dimension > 1)}", fontsize=10)
        axes.set(xlabel="day", xlim=(0, 6), ylim=(-50, 22))
        tidy(axes)
    panels[0].set_ylabel("result minus the schedule's")
    panels[0].legend(loc="lower right", frameon=False, fontsize=8)
    figure.savefig(IMAGES / "warm-start.png", dpi=110)


def moving() -> None:
    """Draw an extruder with and without the cost of moves in the optimiser."""
    made = runpy.run_path(str(EXAMPLES / "running_system" / "moves_that_cost.py"))
    made["figure"].savefig(IMAGES / "moving.png", dpi=90)


def heater() -> None:
    """Draw a controller on ageing machines, and print the table of docs/live.md."""
    os.environ["MACHINES"] = "24"
    made = runpy.run_path(str(EXAMPLES / "running_system" / "heater.py"))
    made["figure"].savefig(IMAGES / "heater.png", dpi=110)


def log() -> None:
    """Draw what a log of random prices says."""
    made = runpy.run_path(str(EXAMPLES / "my_data" / "price_log.py"))
    made["figure"].savefig(IMAGES / "log.png", dpi=110)


if __name__ == "__main__":
    IMAGES.mkdir(exist_ok=True)
    tracks()
    field()
    scaling()
    warm_start()
    if len(sys.argv) > 1:
        tournament(Path(sys.argv[1]))
    live()
    moving()
    heater()
    log()
