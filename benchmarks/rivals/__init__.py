"""The field: optimisers, each in a process, if need be in a Python environment, of its own.

One file per rival. It has a class `Rival(dimension, seed, clock)`: points of the unit cube, rewards
to be maximised, times as shares of `clock` seconds. `ask(time)` answers with a point,
`tell(point, reward, time)` with nothing; `PACKAGES` names what its version is told by. A file
imports what it needs and nothing else of this repository, so that an environment with a rival alone
can run it.
"""

FIELD = (
    "driftpeak",
    "wdbo",
    "xopt",
    "ax",
    "botorch",
    "bayes_opt",
    "optuna_gp",
    "optuna_cmaes",
    "stay",
    "random",
)
"""Those that are played unless others are named."""
RIVALS = {name: f"benchmarks.rivals.{name}" for name in (*FIELD, "wdbo_minutes")}
"""Modules, by name."""
