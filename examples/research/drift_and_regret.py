"""
The regret of a wrong drift rate
================================

TV-GP-UCB needs the drift rate of the function. With a rate that is too small it tracks the peak too
slowly, and with a rate that is too large it explores too much. ``auto`` needs no drift rate. All
policies run on the same functions, whose drift rate is 0.02.
"""

import driftpeak as dp
from driftpeak.plots import BAND, looks, new_figure, tidy

TRUE, TRIALS = 0.02, 20
drifts = [0.0005, 0.002, 0.005, 0.02, 0.05, 0.1, 0.3]
prior = dp.Prior(dp.Grid([0, 1], size=50), dp.SE(lengthscale=0.2), noise_variance=0.01)
policies = {str(drift): dp.TVGPUCB(prior, drift=drift) for drift in drifts}
policies["auto"] = dp.Auto(prior)
runs = dp.simulate(
    policies, dp.MarkovDrift(prior, drift=TRUE), steps=200, trials=TRIALS, progress=False
)

by_trial = runs["regret"].mean("step")
mean, error = by_trial.mean("trial"), by_trial.std("trial", ddof=1) / TRIALS**0.5
assert float(mean.sel(policy="0.02")) < float(mean.sel(policy="0.0005"))
assert float(mean.sel(policy="0.02")) < float(mean.sel(policy="0.3"))

figure = new_figure(5.5, 3.8)
axes = figure.subplots()
names, look = [str(drift) for drift in drifts], looks(["tv-gp-ucb", "auto"])
axes.errorbar(
    drifts, mean.sel(policy=names), error.sel(policy=names), fmt="o-", capsize=3,
    color=look["tv-gp-ucb"].colour, label="TV-GP-UCB with this drift rate",
)  # fmt: skip
level, width = float(mean.sel(policy="auto")), float(error.sel(policy="auto"))
axes.axhline(level, color=look["auto"].colour, label="auto, no drift rate")
axes.axhspan(level - width, level + width, color=look["auto"].colour, alpha=BAND, linewidth=0)
axes.axvline(TRUE, color="black", linestyle=":", label="true drift rate")
axes.set(xscale="log", xlabel="drift rate of the policy", ylabel="mean regret per step")
axes.set_ylim(0)
axes.set_xticks(drifts, names)
axes.minorticks_off()
axes.legend(frameon=False)
tidy(axes)
figure.suptitle(f"{TRIALS} trials of 200 steps; bars and band: one standard error", fontsize=11)
print(f"auto: {level:.3f}; TV-GP-UCB at the true rate: {float(mean.sel(policy='0.02')):.3f}")
