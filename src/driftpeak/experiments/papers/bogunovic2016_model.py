"""B16's figure 1: functions under Markov drift, and the distance that their maximum moves."""

from collections.abc import Mapping
from functools import partial

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from driftpeak.environments import MarkovDrift
from driftpeak.experiments.bootstrap import Array
from driftpeak.experiments.claims import Claim, Column, Comparison
from driftpeak.experiments.experiment import Case, Results, Setup, described
from driftpeak.gp.domains import Grid
from driftpeak.gp.kernels import SE, Kernel, Matern
from driftpeak.gp.priors import Prior
from driftpeak.plots import COLOURS, STYLES, tidy
from driftpeak.policies import Clairvoyant
from driftpeak.simulation._simulator import true_functions

STEPS, TRIALS, DRIFT, LENGTHSCALE, POINTS = 200, 200, 0.01, 0.2, 101
SHOWN = (1, 11, 101, 200)
APART = (100, 199)
PEAK = "peak"
CASES: dict[str, Kernel] = {"SE": SE(LENGTHSCALE), "Matern-3/2": Matern(1.5, LENGTHSCALE)}


def setup(kernel: Kernel) -> Setup:
    """Return a setup with a clairvoyant policy, whose actions are the maximum."""
    prior = Prior(Grid([0, 1], size=POINTS), kernel, 0.01)
    world = MarkovDrift(prior, drift=DRIFT)
    functions = xr.Dataset(
        {"function": (("shown", "point"), true_functions(world, times=SHOWN)[0])},
        coords={"shown": list(SHOWN), "position": ("point", np.linspace(0, 1, POINTS))},
    )
    settings = {"kernel": str(kernel), "drift": DRIFT, "points": POINTS}
    return Setup(world, {PEAK: Clairvoyant(prior)}, STEPS, settings, functions)  # type: ignore[arg-type]


class Moved(Column):
    """Distance between the maxima of the steps `first` and `last`, by trial."""

    def samples(self, results: Mapping[str, xr.Dataset]) -> Array:
        [case] = self.cases
        runs = results[case]
        action = runs["action"].sel(policy=self.policy, step=[self.first, self.last])
        position = runs["position"].values[action.transpose("trial", "step").values]
        return np.asarray(abs(position[:, 1] - position[:, 0]), dtype=float)


def _beyond_lengthscale(samples: Array) -> Array:
    return np.asarray(samples[..., 0].mean(axis=-1) - LENGTHSCALE)


def picture(results: Results, title: str) -> Figure:
    """Draw a function of each kernel at four times with its maximum."""
    figure = Figure(figsize=(9.6, 4.2), layout="constrained")
    panels = figure.subplots(1, len(results), sharey=True)
    for axes, (case, runs) in zip(panels, results.items(), strict=True):
        position = runs["position"].values
        for number, time in enumerate(runs["shown"].values):
            values = runs["function"].sel(shown=time).values
            look = {"color": COLOURS[number], "linestyle": STYLES[number]}
            axes.plot(position, values, label=f"t = {time}", linewidth=1.6, **look)
            best = values.argmax()
            axes.plot(position[best], values[best], "o", color=COLOURS[number], markersize=6)
        axes.set(title=f"{case}, l = {LENGTHSCALE:g}", xlabel="x")
        tidy(axes)
    panels[0].set_ylabel("$f_t(x)$; dots: maximum")
    lines, names = panels[0].get_legend_handles_labels()
    figure.legend(lines, names, loc="outside lower center", ncols=len(names), frameon=False)
    figure.suptitle(title, fontsize=11)
    return figure


EXPERIMENTS = (
    described(
        "b16-fig1",
        tuple(Case(case, partial(setup, kernel), TRIALS, chunk=TRIALS)
              for case, kernel in CASES.items()),
        (
            Claim("The location of the maximum changes significantly at distant times: by more "
                  "than the lengthscale, on average", {
                f"{case}, {apart} steps apart": (Comparison(
                    f"mean distance of the maxima minus {LENGTHSCALE:g}",
                    (Moved(case, PEAK, "action", 1, 1 + apart),), _beyond_lengthscale),)
                for case in CASES for apart in APART
            }),
        ),
        picture,
    ),
)  # fmt: skip
