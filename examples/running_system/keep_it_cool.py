"""
Maximise output with a temperature limit
========================================

The output of a machine increases with its speed and feed, and so does its temperature, which also
drifts with the cooling. The temperature is measured with every reward. Three methods are compared:
no limit; a ``Limit`` that is learned from settings spread over the space; and a ``Limit`` with a
``safe_start``, for machines that must not be run at unknown settings. Pump and fan share a fuse,
which is a known constraint on a sum of settings and is never violated.
"""

import numpy as np

import driftpeak as dp
from driftpeak.plots import COLOURS, new_figure, tidy

STEPS = 80
space = dp.Box(speed=dp.Float(0, 1), feed=dp.Float(0, 1))
fuse = {"fuse": dp.WeightedSum({"speed": 1, "feed": 1}, at_most=1.6)}
limit = {"temperature": dp.Limit(at_most=75, probability=0.95)}
WAYS = {
    "no limit": {"constraints": fuse},
    "a limit": {"constraints": fuse | limit},
    "a limit and a safe start": {
        "constraints": fuse | limit,
        "safe_start": [{"speed": 0.2, "feed": 0.2}],
    },
}


def heating(step):
    """Return the heating in degrees; the cooling gets worse and better again."""
    return 40 + 12 * np.sin(step / 16)


def temperature(speed, feed, step):
    return 35 + heating(step) * (speed**2 + 0.7 * feed)


def output(speed, feed):
    """Return the output in kilograms per hour."""
    return 30 * speed + 20 * feed - 10 * (feed - 0.6) ** 2


# %%
# Run the same loop for all three methods.


def play(options):
    """Return the optimiser, and temperature and output at every step."""
    generator = np.random.default_rng(1)
    optimizer = dp.Optimizer(space, maximize=True, **options)
    track = []
    for step in range(STEPS):
        setting = optimizer.ask()
        assert setting["speed"] + setting["feed"] <= 1.6
        heat = temperature(**setting, step=step) + 0.5 * generator.normal()
        made = output(**setting) + 0.5 * generator.normal()
        measured = {"temperature": heat} if "temperature" in options["constraints"] else None
        optimizer.tell(setting, made, constraints=measured)
        track.append((heat, output(**setting)))
    return optimizer, np.array(track).T


played = {name: play(options) for name, options in WAYS.items()}
for name, (optimizer, (heat, made)) in played.items():
    print(f"{name}: above 75 degrees in {np.mean(heat > 75):.0%}, {made[20:].mean():.1f} kg/h")
    for report in optimizer.violations().values():
        low, high = report.interval
        print(
            f"    suggestions expected to satisfy the limit: violated in {report.rate:.1%} "
            f"({low:.1%} to {high:.1%}), allowed {report.promised:.0%}"
        )
        assert low <= report.promised
assert np.mean(played["a limit and a safe start"][1][0] > 75) <= 0.05
optimizer = played["a limit and a safe start"][0]
print(optimizer.ask().chances)  # probabilities of satisfying each limit

# %%
# Draw the temperatures, and the largest output that satisfies the limit.

grid = np.linspace(0, 1, 201)
speeds, feeds = np.meshgrid(grid, grid)
possible = [
    output(speeds, feeds)[(temperature(speeds, feeds, step) <= 75) & (speeds + feeds <= 1.6)].max()
    for step in range(STEPS)
]
figure = new_figure(6.4, 5.2)
top, bottom = figure.subplots(2, 1, sharex=True)
steps = np.arange(STEPS)
for (name, (_, (heat, made))), colour, mark in zip(
    played.items(), (COLOURS[7], COLOURS[1], COLOURS[0]), ("x", "^", "o"), strict=True
):
    top.plot(steps, heat, mark, color=colour, markersize=4, label=name)
    bottom.plot(steps, made, mark, color=colour, markersize=4)
top.axhline(75, color="black", linewidth=1.2, linestyle="--")
top.text(STEPS - 1, 76, "limit", ha="right", va="bottom")
bottom.plot(steps, possible, color="black", linewidth=1.2, label="largest output within the limit")
top.set(ylabel="temperature (degrees)")
bottom.set(ylabel="output (kg/h)", xlabel="step")
bottom.legend(loc="lower right", frameon=False)
for axes in (top, bottom):
    tidy(axes)
figure.legend(*top.get_legend_handles_labels(), loc="outside lower center", ncols=3, frameon=False)
