"""
Detect an abrupt change without a drift parameter
=================================================

``auto`` needs no drift parameter. In this example the function changes after step 100. The figure
shows the estimates of ``auto``: medians and 10 % to 90 % quantiles over twenty trials.
"""

import driftpeak as dp
from driftpeak.plots import belief_figure

prior = dp.Prior(dp.Grid([0, 1], size=50), dp.SE(lengthscale=0.2), noise_variance=0.01)
world = dp.AbruptSwitches(prior, changes=[100])
runs = dp.simulate(
    {"auto": dp.Auto(prior)}, world, steps=200, trials=20, readings=True, progress=False
)

change = runs["change_probability"].sel(policy="auto").mean("trial")
before, after = change.isel(step=slice(60, 99)).mean(), change.isel(step=slice(102, 112)).mean()
print(f"probability of a recent change: {float(before):.2f} before, {float(after):.2f} just after")
assert after > 3 * before

figure = belief_figure(runs, title="another function after step 100; 20 trials")
figure.set_size_inches(6.0, 6.0)
