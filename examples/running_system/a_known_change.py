"""
Report a known change with ``forget()``
=======================================

After step 40 a part of the machine is replaced, and its best setting changes. One optimiser
discards its observations by ``forget()``, and another does not. The learned lengthscale and noise
are kept.
"""

import numpy as np

import driftpeak as dp
from driftpeak.plots import COLOURS, new_figure, tidy

CHANGE, STEPS = 40, 70


def play(forgets):
    """Return the settings of every step."""
    generator = np.random.default_rng(0)
    optimizer = dp.Optimizer(dp.Box(x=dp.Float(0, 1)), maximize=True)
    settings = []
    for step in range(STEPS):
        if step == CHANGE and forgets:
            optimizer.forget()
        setting = optimizer.ask()
        best = 0.25 if step < CHANGE else 0.8
        optimizer.tell(setting, 1 - (setting["x"] - best) ** 2 / 0.1 + 0.05 * generator.normal())
        settings.append(setting["x"])
    return np.array(settings)


tracks = {"with forget()": play(forgets=True), "without forget()": play(forgets=False)}
best = np.where(np.arange(STEPS) < CHANGE, 0.25, 0.8)
lost = {
    name: float((((track - best) ** 2) / 0.1)[CHANGE:].mean()) for name, track in tracks.items()
}
print({name: f"{value:.3f} regret per step after the change" for name, value in lost.items()})

# %%
# Draw the figure.

figure = new_figure(5.5, 4.4)
panels = figure.subplots(2, 1, sharex=True, sharey=True)
for axes, (name, track), colour in zip(panels, tracks.items(), COLOURS, strict=False):
    axes.plot(best, drawstyle="steps-mid", color="black", linewidth=1.2, label="best setting")
    axes.plot(track, ".", color=colour, label="suggested setting", clip_on=False)
    axes.axvline(CHANGE - 0.5, color="black", linestyle=":", linewidth=1)
    axes.set(ylabel="x", title=name)
    tidy(axes)
panels[-1].set_xlabel("step")
figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
