"""B16's recorded sensors (section 5.2, figure 3): temperature of a laboratory, highway speed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from driftpeak._core.errors import DriftpeakError
from driftpeak.environments import RecordedRewards
from driftpeak.experiments.bootstrap import Array
from driftpeak.experiments.claims import (
    Claim,
    Column,
    Comparison,
    Comparisons,
    lower,
    majority,
    weighted,
)
from driftpeak.experiments.experiment import Case, Setup, described, recorded
from driftpeak.experiments.figures import regret_panels
from driftpeak.experiments.recorded_figures import by_case, every_point, tracks
from driftpeak.gp.priors import Prior
from driftpeak.inference.fitting import cross_validate, fit
from driftpeak.offline.data import RewardTable, read_speeds, read_table, split_days
from driftpeak.offline.replay import prior_from_history
from driftpeak.policies import GPUCB, RGPUCB, TVGPUCB, Policy, RandomStart, RExp3, UniformRandom
from driftpeak.policies.widths import ScaledLog

TV, R, STATIC, RANDOM = "TV-GP-UCB", "R-GP-UCB", "GP-UCB", "random"
TV_LEARNED, R_LEARNED = "TV-GP-UCB, learned", "R-GP-UCB, learned"
EXP3, EXP3_TOLD = "RExp3", "RExp3, V_T known"
LAB, DAY = "sensors", 144  # steps of ten minutes
LAB_TRAINING = 3 * DAY
ASSUMED = "TV-GP-UCB, drift 0.04"
PERIODS = (10, 20, 42)
DAYS, FOLDS, SENSORS = 7, 3, 50
STEPS_A_DAY, MORNING = 288, 72  # 5-minute steps; those before 6:00
FALLS, RECOVERY = (5.0, 10.0), 6  # mph; steps, half an hour
VARIANTS = {  # steps a day, and the seed of the draw of sensors
    "": (84, 0),
    ", 6 to 11": (60, 0),
    ", second draw": (84, 1),
    ", third draw": (84, 2),
}


def _restarted(period: int) -> str:
    return f"{R}, N = {period}"


def sensors(path: Path) -> Setup:
    """Return the setup of figure 3a: a prior from three days of sensors, and a run on two."""
    table = read_table(path)
    history, rest = table.values[:LAB_TRAINING], table.rows(LAB_TRAINING)
    steps = len(rest.values)
    belief = _lab_prior(history, table.arms)
    width = ScaledLog(0.8, 0.4)
    learned = fit(history, belief, learn="drift")
    period = cross_validate(history, "period", lambda rows: _lab_prior(rows, table.arms))
    farthest = 2 * float(abs(history - history.mean(axis=0)).max())
    moved = steps / (LAB_TRAINING - 1) * float(abs(np.diff(history, axis=0)).max(axis=1).sum())
    policies: dict[str, Policy] = {
        TV: TVGPUCB(belief, drift=0.03, width=width),
        R: RGPUCB(belief, period=15, width=width),
        STATIC: GPUCB(belief, width=width),
        RANDOM: UniformRandom(belief),
        TV_LEARNED: TVGPUCB(belief, drift=learned.drift, width=width),
        R_LEARNED: RGPUCB(belief, period=period.value, width=width),
        EXP3: RExp3(belief, horizon=steps, reward_bound=farthest),
        EXP3_TOLD: RExp3(belief, horizon=steps, reward_bound=farthest, variation=moved),
    }
    estimate = learned.estimates["drift"]
    settings = {
        "drift": 0.03,
        "period": 15,
        "noise_variance": 0.5,
        "width": "0.8, 0.4",
        "drift learned": learned.drift,
        "its interval": [estimate.low, estimate.high],
        "period learned": period.value,
        "its scores": period.scores,
        "V_T as on the training days": moved,
    }
    return Setup(RecordedRewards(rest.values), policies, steps, settings, recorded(rest))


def _lab_prior(rows: Array, arms: Sequence[str]) -> Prior:
    return prior_from_history(rows, arms, noise_variance=0.5)


def days_of_traffic(path: Path, steps: int, draw: int) -> list[RewardTable]:
    """Read the mornings of `DAYS` days of 50 random sensors, `steps` rows from 6:00 on.

    Raises:
        DriftpeakError: the file has fewer days or sensors.
    """
    table = read_speeds(path, outliers="keep")  # as in the paper
    days = split_days(table, STEPS_A_DAY, first=MORNING, last=MORNING + steps)[:DAYS]
    if len(days) < DAYS or len(table.arms) < SENSORS:
        raise DriftpeakError(
            f"{path} must hold {DAYS} whole days at 5 minutes of {SENSORS} sensors for b16-fig3c; "
            f"got {len(days)} days of {len(table.arms)} sensors. Use the whole data set"
        )
    generator = np.random.default_rng(draw)
    chosen = np.sort(generator.choice(len(table.arms), SENSORS, replace=False))
    return [day.columns(chosen) for day in days]


def traffic(day: int, variant: str, path: Path) -> Setup:
    """Return the setup of figure 3c: a run on one morning, and a prior from other days."""
    days = days_of_traffic(path, *VARIANTS[variant])
    folds = np.array_split(np.arange(DAYS), FOLDS)
    tested = next(fold for fold in folds if day in fold)
    training = [days[other].values for other in range(DAYS) if other not in tested]
    prior = prior_from_history(np.concatenate(training), days[0].arms, noise_variance=5.0)
    learned = fit(training, prior, learn="drift")
    width = ScaledLog(0.2, 0.4)
    made: dict[str, Policy] = {
        TV: TVGPUCB(prior, drift=learned.drift, width=width),
        ASSUMED: TVGPUCB(prior, drift=0.04, width=width),
        STATIC: GPUCB(prior, width=width),
        **{_restarted(period): RGPUCB(prior, period=period, width=width) for period in PERIODS},
    }
    policies = {name: RandomStart(policy) for name, policy in made.items()}
    estimate = learned.estimates["drift"]
    settings = {
        "drift": learned.drift,
        "its interval": [estimate.low, estimate.high],
        "training days": [other + 1 for other in range(DAYS) if other not in tested],
        "noise_variance": 5.0,
        "share of the sensors' mean variance": 5.0 / float(prior.variance.mean()),
        "width": "0.2, 0.4",
        "sensors": list(days[0].arms),
    }
    rewards = days[day]
    world = RecordedRewards(rewards.values)
    return Setup(world, policies | {RANDOM: UniformRandom(prior)}, len(rewards.values), settings,
                 recorded(rewards))  # fmt: skip


def _days(variant: str = "") -> tuple[str, ...]:
    return tuple(f"day {number + 1}{variant}" for number in range(DAYS))


def _most_days(policy: str = TV, variant: str = "") -> Comparisons:
    """Return the comparison that `policy` has no more regret than GP-UCB on most days."""
    columns = tuple(Column(_days(variant), name) for name in (STATIC, policy))
    label = f"share of the days on which {policy} has no more regret than {STATIC}, less one half"
    return (Comparison(label, columns, majority),)


def _ends_near_random(first: int) -> Comparisons:
    columns = tuple(Column(LAB, name, first=first) for name in (STATIC, RANDOM))
    label = "GP-UCB minus 0.8 times random, regret per step"
    return (Comparison(label, columns, weighted(1, -0.8)),)


def _comparable(other: str) -> Comparisons:
    """Return the comparisons that neither policy has over 1.25 times the regret of the other."""
    return tuple(
        Comparison(
            f"1.25 times {first} minus {second}, regret per step",
            (Column(LAB, first), Column(LAB, second)),
            weighted(1.25, -1),
        )
        for first, second in ((STATIC, other), (other, STATIC))
    )


def _later(steps: int) -> Comparisons:
    """Return the comparison that GP-UCB has less regret in its first steps than in its last."""
    columns = (Column(LAB, STATIC, first=2 * DAY - steps + 1), Column(LAB, STATIC, last=steps))
    return (Comparison(f"GP-UCB: last {steps} steps minus first, regret per step", columns),)


def _growing(tv: str, r: str) -> Comparisons:
    """Return the comparison that the gap per step is larger on the second day."""
    columns = (
        Column(LAB, r, first=DAY + 1), Column(LAB, tv, first=DAY + 1),
        Column(LAB, r, last=DAY), Column(LAB, tv, last=DAY),
    )  # fmt: skip
    label = f"{r} minus {tv}, second day minus first, regret per step"
    return (Comparison(label, columns, weighted(1, -1, -1, 1)),)


def _second_day(tv: str, r: str) -> Comparisons:
    """Return the comparison that the cumulative gap grows on the second day."""
    return (lower((LAB, tv), (LAB, r), first=DAY + 1),)


def _less_regret(policies: tuple[str, str], others: tuple[str, str]) -> dict[str, Comparisons]:
    """Return the comparisons with the paper's drift and period, and with learned ones."""
    settings = zip((PAPERS, LEARNED), policies, others, strict=True)
    return {words: (lower((LAB, policy), (LAB, other)),) for words, policy, other in settings}


class BestFixed(Column):
    """Regret of the sensor with the highest mean over the run, which is known in hindsight."""

    def _values(self, runs: xr.Dataset) -> Array:
        rewards = np.asarray(runs["rewards"].values)
        best = rewards.mean(axis=0).argmax()
        regret = rewards.max(axis=1) - rewards[:, best]
        return np.asarray(regret[None, self.first - 1 : self.last])


@dataclass(frozen=True)
class AfterFalls(Column):
    """Regret in the `RECOVERY` steps from each step at which the best sensor falls behind.

    It falls behind if the sensor that was best one step before is `margin` mph below the maximum.
    The value of a day without such a step is 0.
    """

    margin: float = FALLS[0]

    def _values(self, runs: xr.Dataset) -> Array:
        selected = after_falls(np.asarray(runs["rewards"].values), self.margin)
        regret = np.asarray(runs["regret"].sel(policy=self.policy).values, dtype=float)
        return regret[:, selected] if selected.any() else np.zeros((1, 1))


def after_falls(rewards: Array, margin: float) -> Any:
    """Return a mask of the `RECOVERY` steps from each fall of the best sensor on."""
    best = rewards.argmax(axis=1)
    behind = rewards[1:].max(axis=1) - rewards[np.arange(1, len(rewards)), best[:-1]]
    selected = np.zeros(len(rewards), bool)
    for step in np.flatnonzero(behind >= margin) + 1:
        selected[step : step + RECOVERY] = True
    return selected


class Changes(Column):
    """Number of steps at which another sensor is best than one step before, by case."""

    def samples(self, results: Mapping[str, xr.Dataset]) -> Array:
        best = [results[case]["rewards"].values.argmax(axis=1) for case in self.cases]
        return np.array([(np.diff(each) != 0).sum() for each in best], dtype=float)


def _with_changes(samples: Array) -> Array:
    """Return the covariance of the first column with the distance of the two others."""
    changes, gap = samples[..., 0], abs(samples[..., 1] - samples[..., 2])
    centred = changes - changes.mean(axis=-1, keepdims=True)
    return np.asarray((centred * gap).mean(axis=-1))


def _best_fixed(tv: str) -> Comparisons:
    """Return the comparison that the best fixed sensor has more regret than a policy."""
    label = f"best fixed sensor minus {tv}, regret per step"
    return (Comparison(label, (BestFixed(LAB, tv), Column(LAB, tv))),)


def _recovers(margin: float) -> Comparisons:
    columns = tuple(AfterFalls(_days(), name, margin=margin) for name in (STATIC, TV))
    return (Comparison(f"{STATIC} minus {TV} after falls, regret per step", columns),)


def _more_than_both(period: int) -> Comparisons:
    """Return the comparisons that R-GP-UCB has more regret than both other policies."""
    mine = Column(_days(), _restarted(period))
    return tuple(
        Comparison(f"{_restarted(period)} minus {other}, regret per step",
                   (mine, Column(_days(), other)))
        for other in (TV, STATIC)
    )  # fmt: skip


PAPERS, LEARNED = "drift 0.03 and period 15, the paper's", "drift and period as learned here"
EXPERIMENTS = (
    described(
        "b16-fig3a",
        (Case(LAB, sensors, 20, data="intel-lab-table"),),
        (
            Claim("TV-GP-UCB has less regret than R-GP-UCB",
                  _less_regret((TV, TV_LEARNED), (R, R_LEARNED))),
            Claim("The gap between them generally increases", {
                f"{words}; {what}": make(tv, r)
                for words, make in (("per step", _growing), ("in all", _second_day))
                for what, tv, r in ((PAPERS, TV, R), (LEARNED, TV_LEARNED, R_LEARNED))
            }),
            Claim("R-GP-UCB has less regret than GP-UCB",
                  _less_regret((R, R_LEARNED), (STATIC, STATIC))),
            Claim("TV-GP-UCB has less regret than GP-UCB",
                  _less_regret((TV, TV_LEARNED), (STATIC, STATIC))),
            Claim("GP-UCB performs well for a short time, then suffers", {
                "six hours": _later(36), "twelve hours": _later(72),
            }),
            Claim("GP-UCB ends barely better than random: above 80 % of its regret", {
                "on the second day": _ends_near_random(DAY + 1),
                "in the last twelve hours": _ends_near_random(3 * DAY // 2 + 1),
            }),
            Claim("RExp3 performs comparably to GP-UCB: by a factor of at most 1.25", {
                "V_T unknown": _comparable(EXP3),
                "V_T as on the training days": _comparable(EXP3_TOLD),
            }),
            Claim("All fixed strategies perform poorly: the best fixed sensor in hindsight has "
                  "more regret than TV-GP-UCB", {
                PAPERS: _best_fixed(TV), LEARNED: _best_fixed(TV_LEARNED),
            }, whose="ours"),
        ),
        partial(regret_panels, average=True, unit="degrees C"),
        further={"tracks": partial(tracks, case=LAB, ylabel="temperature, degrees C",
                                   policies=(TV, R, STATIC, RANDOM)),
                 "sensors": partial(every_point, case=LAB, ylabel="temperature, degrees C")},
    ),
    described(
        "b16-fig3c",
        tuple(
            Case(name, partial(traffic, day, variant), 20, data="pems-speed")
            for variant in VARIANTS
            for day, name in enumerate(_days(variant))
        ),
        (
            Claim("On another highway: TV-GP-UCB has no more regret than GP-UCB on most days", {
                "drift learned": _most_days(),
                "drift 0.04, the paper's": _most_days(ASSUMED),
                **{f"drift learned{variant}": _most_days(variant=variant)
                   for variant in VARIANTS if variant},
            }, whose="ours"),
            Claim("On another highway: TV-GP-UCB has less regret than GP-UCB, mean over days", (
                Comparison("GP-UCB minus TV-GP-UCB, regret per step",
                           (Column(_days(), STATIC), Column(_days(), TV))),), whose="ours"),
            Claim("On another highway: TV-GP-UCB recovers more quickly after the best sensor falls "
                  "behind", {
                f"by {margin:g} mph, {RECOVERY} steps": _recovers(margin) for margin in FALLS
            }, whose="ours"),
            Claim("On another highway: the policies are closer on days on which the best sensor "
                  "changes less often", (Comparison(
                      "covariance over days of changes and distance in regret per step, mph",
                      (Changes(_days(), TV), Column(_days(), STATIC), Column(_days(), TV)),
                      _with_changes),), whose="ours"),
            Claim("On another highway: R-GP-UCB is unsuitable for 84 steps: it has more regret "
                  "than TV-GP-UCB and GP-UCB, mean over days", {
                f"N = {period}": _more_than_both(period) for period in PERIODS
            }, whose="ours"),
        ),
        partial(by_case, cases=_days(), ylabel="regret per step, $R_T/T$, mph",
                policies=(TV, ASSUMED, STATIC, RANDOM)),
        further={
            "tracks": partial(tracks, case=_days()[0], ylabel="speed, mph",
                              policies=(TV, STATIC, RANDOM)),
        },
    ),
)  # fmt: skip
