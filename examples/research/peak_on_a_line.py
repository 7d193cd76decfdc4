"""
A drifting function as a map, with the samples of two policies
==============================================================

The function is on [0, 1] and has Markov drift. Time is on the horizontal axis, and colours are
values. GP-UCB weights old and new data equally and stays at an old peak. TV-GP-UCB tracks the peak.
"""

import driftpeak as dp
from driftpeak.plots import map_figure

line = dp.Grid([0, 1], size=100)
prior = dp.Prior(line, dp.SE(lengthscale=0.15), noise_variance=0.01)
world = dp.MarkovDrift(prior, drift=0.01)
policies = {"GP-UCB": dp.GPUCB(prior), "TV-GP-UCB": dp.TVGPUCB(prior, drift=0.01)}
runs = dp.simulate(policies, world, steps=250, seed=7, progress=False)
values = dp.true_functions(world, steps=250, seed=7)[0]  # the functions of the simulation

regret = runs["regret"].mean(["trial", "step"])
print({name: f"{float(regret.sel(policy=name)):.2f}" for name in policies})
assert regret.sel(policy="TV-GP-UCB") < regret.sel(policy="GP-UCB")

choices = {name: runs["action"].sel(policy=name, trial=0).values for name in policies}
figure = map_figure(values, line.points[:, 0], choices)
figure.set_size_inches(6.5, 3.6)
