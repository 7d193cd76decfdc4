"""Draw the pictures of README.md and the docs: `python docs/pictures.py`."""

from pathlib import Path

import driftpeak as dp
from driftpeak.plots import map_figure

IMAGES = Path(__file__).parent / "images"


def tracks() -> None:
    """A peak that moves along a line, and where three policies looked for it."""
    drift, steps, seed = 0.01, 300, 7
    line = dp.Grid([0, 1], size=200)
    prior = dp.Prior(line, dp.SE(lengthscale=0.15), noise_variance=0.01)
    world = dp.MarkovDrift(prior, drift=drift)
    policies = {
        "GP-UCB": dp.GPUCB(prior),
        "R-GP-UCB, period 38": dp.RGPUCB(prior, period=38),
        "TV-GP-UCB": dp.TVGPUCB(prior, drift=drift),
        "clairvoyant": dp.Clairvoyant(prior),
    }
    runs = dp.simulate(policies, world, steps=steps, seed=seed)
    values = dp.true_functions(world, steps=steps, seed=seed)[0]
    peak = runs["action"].sel(policy="clairvoyant", trial=0).values
    assert (values.argmax(axis=1) == peak).all(), "the map must show the world that was played"
    shown = {
        f"{name}: mean regret {float(runs['regret'].sel(policy=name).mean()):.2f}": runs["action"]
        .sel(policy=name, trial=0)
        .values
        for name in policies
        if name != "clairvoyant"
    }
    map_figure(values, line.points[:, 0], shown).savefig(IMAGES / "tracks.png", dpi=110)


if __name__ == "__main__":
    IMAGES.mkdir(exist_ok=True)
    tracks()
