"""Stored studies of every format; `python tests/helpers/golden_studies.py` writes the present one.

Only for a new format: the files of an older one are never written again.
"""

import sqlite3
import sys
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np

import driftpeak as dp
from driftpeak.gp.forgetting import Window
from driftpeak.live._study.storage.study import FORMAT

FOLDER = Path(__file__).parents[1] / "golden"


def prior() -> dp.Prior:
    kernel = 2.0 * dp.SE(lengthscale=[0.2, 0.3]) + dp.Matern(nu=1.5, lengthscale=0.4)
    return dp.Prior(dp.Grid([0, 1], [0, 2], size=[3, 4]), kernel, noise_variance=0.01)


def make(storage: str | Path, kind: str) -> dp.Optimizer:
    """One of the studies, as new."""
    box = dp.Box(
        speed=dp.Float(0, 10),
        gain=dp.Float(1e-3, 1, log=True),
        stages=dp.Integer(1, 6),
        coolant=dp.Categorical("water", "oil", 3, True),
    )
    match kind:
        case "box":
            return dp.Optimizer(box, maximize=True, seed=5, storage=storage, name="kiln")
        case "rule":
            policy = dp.DriftingGP(
                forgetting=Window(9), capacity=64, width=dp.widths.Constant(1.5), learn=False
            )
            return dp.Optimizer(box, maximize=False, policy=policy, storage=storage, name="pump")
    if kind == "machine":
        machine = dp.Box(
            speed=dp.Float(0, 10, step=0.5, max_step=2, max_rate=3),
            size=dp.Integer(1, 1024, log=True, max_step=4),
            load=dp.Integer(0, 60, step=15),
            grade=dp.Categorical("low", None, "high", ordered=True),
            valve=dp.Boolean(),
            flow=dp.Float(1e-3, 1, log=True, when={"valve": True, "load": [15, 30]}),
        )
        start = {"speed": 5, "size": 8, "load": 30, "grade": None, "valve": False}
        moves = {"start": start, "max_travel": {"load": 0.25}, "moving_cost": {"grade": 0.1}}
        return dp.Optimizer(machine, maximize=True, **moves, storage=storage, name="mill")
    if kind == "limits":
        space = dp.Box(speed=dp.Float(0, 10), feed=dp.Integer(0, 5))
        rules = {
            "heat": dp.Limit(at_most=75, probability=0.9),
            "flow": dp.Limit(at_least=-1, at_most=1),
            "power": dp.WeightedSum({"speed": 1, "feed": 2}, at_most=15),
        }
        return dp.Optimizer(
            space.context(day=dp.Categorical("work", "rest"), load=dp.Float(0, 4)),
            maximize=True,
            constraints=rules,
            safe_start=[{"speed": 2, "feed": 1}, {"speed": 3, "feed": 0}],
            storage=storage,
            name="press",
        )
    known = prior()
    policies = {
        "belief": dp.RandomStart(
            dp.TVGPUCB(
                known, drift=0.02, width=dp.widths.IGP(gain=dp.TabulatedGain(np.arange(99.0)))
            ),
            steps=2,
        ),
        "auto": dp.Auto(known, drifts=(0.0, 0.1), outlier=np.inf),
        "elimination": dp.RPERP(known, horizon=60, period=20),
        "opkb": dp.OPKB(known, horizon=60, c1=0.2),
    }
    options = {"maximize": True, "horizon": 60, "storage": storage, "name": kind}
    return dp.Optimizer(known.domain, policy=policies[kind], **options)


def said(kind: str) -> dict[str, object] | None:
    """What the world says."""
    return {"day": "work", "load": 1} if kind == "limits" else None


def play(optimizer: dp.Optimizer, kind: str) -> None:
    """A dozen made-up events of every sort; none for a policy that takes long to compile."""
    if kind == "opkb":
        return
    start = datetime(2026, 3, 1, 8)
    for step in range(6):
        when = start + timedelta(hours=step) if kind == "box" else None
        one = optimizer.ask(when, context=said(kind))
        measured = {"heat": 60.0 + one.id, "flow": None} if kind == "limits" else None
        optimizer.tell(one, float(np.cos(one.id)), constraints=measured)
    when = start + timedelta(hours=9) if kind == "box" else None
    optimizer.cancel(optimizer.ask(when, context=said(kind)))
    last = {"heat": 76.0, "flow": 0.5} if kind == "limits" else None
    optimizer.tell(dict(optimizer.ask(when, context=said(kind))), 0.25, when, constraints=last)
    if kind == "rule":
        optimizer.forget(3)
    if kind == "machine":
        optimizer.tell(optimizer.ask(), 0.25, actual=optimizer.start)
    if kind == "belief":
        optimizer.reset()
        optimizer.tell(optimizer.ask(), 1.0)


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    for kind in ("box", "rule", "machine", "limits", "belief", "auto", "elimination", "opkb"):
        path = FOLDER / f"format-{FORMAT}-{kind}.jsonl"
        if path.exists():
            continue
        play(make(path, kind), kind)
    database = FOLDER / "studies.db"
    dumped = FOLDER / f"format-{FORMAT}.sql"
    if dumped.exists():
        return
    for kind in ("box", "belief"):
        play(make(f"sqlite:///{database}", kind), kind)
    connection = sqlite3.connect(database)
    dump = "\n".join(connection.iterdump()) + "\n"
    connection.close()
    dumped.write_text(dump)
    database.unlink()


if __name__ == "__main__":
    sys.exit(main())
