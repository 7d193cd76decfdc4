"""Optimisers of the field. Each runs in a separate process, optionally in its own environment.

Each rival is a module with a class `Rival(dimension, seed, clock)`. Points are in the unit cube,
rewards are maximised, and times are shares of `clock` seconds. `ask(time)` returns a point, and
`tell(point, reward, time)` returns nothing. `PACKAGES` lists the packages whose versions are
recorded. A module imports nothing else from this repository, so that an environment with only the
rival can run it.
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
"""Rivals that run by default."""
RIVALS = {
    name: f"benchmarks.rivals.{name}"
    for name in (*FIELD, "wdbo_minutes", "xopt_second", "turbo", "turbo_windowed")
}
"""Modules of all rivals by name."""
