"""
The posterior of the optimiser, and its calibration
===================================================

The figure shows slices of the posterior through the estimated peak, one parameter at a time: the
mean, and a 95 % band of the function without noise. The calibration is the coverage of the
one-step predictive intervals.
"""

import numpy as np

import driftpeak as dp
from driftpeak.live.plots import belief_figure

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

figure = belief_figure(optimizer, title="Posterior of a machine after 60 steps")
figure.set_size_inches(7, 3.4)

# %%
# About 95 % of the one-step 95 % predictive intervals should contain the reward.

calibration = optimizer.calibration()
print({f"{level:.0%}": f"{share:.0%}" for level, share in calibration.coverage.items()})
estimates = optimizer.diagnostics()
print(f"noise {estimates.noise:.2f}; half-life {estimates.half_life:.0f} steps")
assert calibration.coverage[0.95] > 0.8
