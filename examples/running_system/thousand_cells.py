"""
A thousand optimisers at once: antenna tilts
============================================

A mobile network has 1,000 cells. Each has its own best antenna tilt, which drifts as the crowd of a
city moves from the suburbs in the west to the centre in the east. A `Fleet` advances all cells in
one call. Each member learns only from its own rewards. In its first three hours it tries several
tilts, which loses up to 80 per cent of the rate; the lower panel is cut there.
"""

import numpy as np

import driftpeak as dp
from driftpeak.plots import COLOURS, new_figure, tidy

ROWS, COLUMNS, HOURS = 25, 40, 60
CELLS = ROWS * COLUMNS
TILTS = np.arange(0.0, 12.5, 2.0)
random = np.random.default_rng(0)
north, east = (
    axis.ravel() for axis in np.meshgrid(np.arange(ROWS), np.arange(COLUMNS), indexing="ij")
)
own = random.normal(size=CELLS)


def best_tilt(hour):
    """Return the best tilt of each cell in degrees: large where the crowd is."""
    centre = 5 + 30 * hour / HOURS
    crowd = np.exp(-((east - centre) ** 2) / 100 - (north - 12) ** 2 / 120)
    return 2 + 8 * crowd + 0.5 * own


def rate(tilts, hour):
    """Return the data rate of each cell, in per cent of its largest."""
    return 100 - 2 * (tilts - best_tilt(hour)) ** 2


# %%
# Ask and tell all cells once an hour.

space = dp.Arms(TILTS)
prior = dp.Prior(space, 400 * dp.SE(lengthscale=4.0), noise_variance=9.0, mean=80.0)
network = dp.Fleet(space, CELLS, policy=dp.TVGPUCB(prior, drift=0.03))
largest = 100 - 2 * np.array(
    [np.min((TILTS[:, None] - best_tilt(h)) ** 2, axis=0) for h in range(HOURS)]
)
lost = np.zeros(HOURS)
for hour in range(HOURS):
    tilts = network.ask(time=float(hour))
    rates = rate(TILTS[tilts.choices], hour)
    network.tell(tilts.ids, rates + 3 * random.normal(size=CELLS))
    lost[hour] = (largest[hour] - rates).mean()

fixed = np.array([[largest[h] - rate(tilt, h) for tilt in TILTS] for h in range(HOURS)])
constant = fixed.mean(axis=0).min(axis=0).mean()
print(f"rate lost in the last 40 hours: {lost[20:].mean():.1f} per cent")
print(f"with the best constant tilt of each cell: {constant:.1f} per cent")
assert lost[20:].mean() < constant

# %%
# Draw the true best tilts and the estimated ones, and the rate lost in each hour.

estimate = TILTS[network.predict(time=HOURS - 1.0)[0].argmax(axis=1)]
figure = new_figure(7.0, 5.4)
panels = figure.subplot_mosaic([["truth", "estimate"], ["lost", "lost"]])
for name, values in (("truth", best_tilt(HOURS - 1.0)), ("estimate", estimate)):
    grid = values.reshape(ROWS, COLUMNS)
    image = panels[name].imshow(grid, origin="lower", cmap="cividis", vmin=0, vmax=12)
    panels[name].set_xlabel("cell, west to east")
panels["truth"].set(title="true best tilt, hour 59", ylabel="cell, south to north")
panels["estimate"].set(title="estimated best tilt, hour 59")
figure.colorbar(image, ax=[panels["truth"], panels["estimate"]], label="tilt (degrees)")
axes = panels["lost"]
axes.plot(lost, color=COLOURS[0], label="fleet")
axes.axhline(constant, color=COLOURS[1], linestyle="--", label="best constant tilt of each cell")
axes.set(xlabel="hour", ylabel="data rate lost (%)", ylim=(0, 16))
axes.legend(frameon=False, loc="upper right")
tidy(axes)
