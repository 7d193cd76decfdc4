"""
What the optimiser believes, and whether to trust it
====================================================

Slices of the belief through the estimated peak, one parameter at a time: the mean, and a 95 %
band of the function itself, without noise. Then the check: did rewards fall where they had been
foretold?
"""

import numpy as np

import driftpeak as dp
from driftpeak.live.views.plots import belief_figure

generator = np.random.default_rng(0)
space = dp.Box(
    speed=dp.Float(0, 10),
    gain=dp.Float(1e-3, 1, log=True),
    stages=dp.Integer(1, 6),
)
optimizer = dp.Optimizer(space, maximize=True)
for step in range(60):
    setting = optimizer.ask()
    value = 10 - 0.15 * (setting["speed"] - 5 - 2 * np.sin(step / 30)) ** 2
    value -= (np.log10(setting["gain"]) + 1.5) ** 2
    value -= 0.2 * (setting["stages"] - 3) ** 2
    optimizer.tell(setting, value + 0.2 * generator.normal())

figure = belief_figure(optimizer, title="Belief of a machine after 60 steps")
figure.set_size_inches(7, 3.4)

# %%
# Calibration: of the 95 % intervals, foretold one step ahead, about 95 % should hold the reward.

foretold = optimizer.calibration()
print({f"{level:.0%}": f"{share:.0%}" for level, share in foretold.coverage.items()})
thought = optimizer.diagnostics()
print(f"noise {thought.noise:.2f}; half is new after {thought.half_life:.0f} steps")
assert foretold.coverage[0.95] > 0.8
