"""
A moving function as a map, and who follows its peak
====================================================

A function on [0, 1] under Markov drift: time to the right, colour its value. GP-UCB takes stale
and fresh data for alike, and stays; TV-GP-UCB follows.
"""

import driftpeak as dp
from driftpeak.plots import map_figure

line = dp.Grid([0, 1], size=100)
prior = dp.Prior(line, dp.SE(lengthscale=0.15), noise_variance=0.01)
world = dp.MarkovDrift(prior, drift=0.01)
policies = {"GP-UCB": dp.GPUCB(prior), "TV-GP-UCB": dp.TVGPUCB(prior, drift=0.01)}
runs = dp.simulate(policies, world, steps=250, seed=7, progress=False)
values = dp.true_functions(world, steps=250, seed=7)[0]  # the very functions that were played

regret = runs["regret"].mean(["trial", "step"])
print({name: f"{float(regret.sel(policy=name)):.2f}" for name in policies})
assert regret.sel(policy="TV-GP-UCB") < regret.sel(policy="GP-UCB")

choices = {name: runs["action"].sel(policy=name, trial=0).values for name in policies}
figure = map_figure(values, line.points[:, 0], choices)
figure.set_size_inches(6.5, 3.6)
