"""
Four parameters with a largest step
===================================

The operator of a laser keeps four parameters at their best values while the optics warm up. Each
parameter may move by at most a tenth of its range at a time.

``max_step`` states this limit, and ``start`` the current setting. Every suggestion is within reach
of the last setting, so a long move takes several steps. If the operator sets a parameter by hand,
``tell(..., actual=...)`` reports the setting.
"""

import numpy as np

import driftpeak as dp
from driftpeak.plots import COLOURS, new_figure, tidy

KNOBS = ("mirror_x", "mirror_y", "lens", "pump")
LARGEST_STEP = 0.1  # of a range of 1

space = dp.Box({name: dp.Float(0, 1, max_step=LARGEST_STEP) for name in KNOBS})
optimizer = dp.Optimizer(space, maximize=True, start=dict.fromkeys(KNOBS, 0.5))
generator = np.random.default_rng(0)


def best_setting(minute):
    """Return the best setting, which drifts as the optics warm up."""
    warm = 1 - np.exp(-minute / 60)
    return np.array([0.4 + 0.25 * warm, 0.6 - 0.2 * warm, 0.5 + 0.15 * warm, 0.7])


def power(setting, minute):
    """Return the power of the beam in watts, with noise."""
    away = np.array([setting[name] for name in KNOBS]) - best_setting(minute)
    return 10 - 8 * float(away @ away) + 0.05 * generator.normal()


# %%
# Run the control loop.

track, lost = [], []
for minute in range(90):
    suggestion = optimizer.ask(time=minute)
    setting = dict(suggestion)
    if minute == 30:  # set by hand: the pump does not move
        setting["pump"] = track[-1][KNOBS.index("pump")]
        optimizer.tell(suggestion, power(setting, minute), actual=setting)
    else:
        optimizer.tell(suggestion, power(setting, minute))
    track.append([setting[name] for name in KNOBS])
    away = track[-1] - best_setting(minute)
    lost.append(8 * float(away @ away))

steps = np.abs(np.diff(np.array(track), axis=0))
assert steps.max() <= LARGEST_STEP + 1e-9
assert not optimizer.pending()
print(f"largest step {steps.max():.2f}")
print(f"power lost in the last 45 minutes: {np.mean(lost[45:]):.2f} of 10 watts")
best = optimizer.best()
print("current best:", {name: round(float(best[name]), 2) for name in KNOBS})

# %%
# Draw the figure.

figure = new_figure(5.5, 6.0)
panels = figure.subplots(len(KNOBS), 1, sharex=True)
minutes = np.arange(90)
ideal = np.array([best_setting(minute) for minute in minutes])
for number, (name, axes) in enumerate(zip(KNOBS, panels, strict=True)):
    axes.plot(minutes, ideal[:, number], "--", color="black", label="true best setting")
    values = np.array(track)[:, number]
    axes.plot(minutes, values, ".-", color=COLOURS[0], linewidth=0.7, label="setting")
    axes.set(ylabel=name.replace("_", " "), ylim=(-0.05, 1.05))
    tidy(axes)
panels[-1].set_xlabel("minute")
panels[0].legend(loc="upper right", ncols=2, frameon=False)
figure.suptitle(f"Four parameters, steps of at most {LARGEST_STEP:.0%} of the range")
