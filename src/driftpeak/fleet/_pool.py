"""Pooling: the groups of members that share a prior, and the newest prior of each group."""

from typing import Any, NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from attrs import evolve

from driftpeak._core.arguments import arguments_of, parameters_of
from driftpeak._core.errors import DriftpeakError, UnsupportedError, shown
from driftpeak._core.numerics.precision import double_precision
from driftpeak._core.times import Horizon
from driftpeak._core.types import Integers, Matrix
from driftpeak.fleet import _columns as columns
from driftpeak.fleet._engine import Engine
from driftpeak.fleet._likelihood import HARMONICS, Observations
from driftpeak.fleet._population import Population, fit
from driftpeak.fleet._programs import TELL
from driftpeak.fleet._rows import Rows
from driftpeak.gp.features import Features
from driftpeak.gp.kernels import Table
from driftpeak.gp.means import PeriodicMean
from driftpeak.gp.priors import Prior
from driftpeak.policies import Auto, Policy

FIRST = 32
"""Number of observations of a group at which its prior is fitted first; then at each doubling."""
MEMBERS = 256
"""Largest number of members whose observations a fit uses."""
NEWEST = 16
"""Largest number of observations of a member that a fit uses."""
MOST_FEATURES = 64
MOST_GROUPS = 100
GOLDEN = (np.sqrt(5) - 1) / 2
PSEUDO = 16
"""Weight of the policy's own probabilities of motions, in members."""


class Pool:
    """Groups of members, and the population prior of each group.

    The prior of a group is fitted again whenever its number of observations has doubled, to the
    newest observations of at most `MEMBERS` members. The cost of pooling for each observation is
    therefore bounded, and decreases.

    Arguments:
        policy: the policy of the fleet.
        horizon: maximum of decisions of a member.

    Attributes:
        labels: names of the groups.
        seen: number of observations of each group.
        due: number of observations at which the prior of each group is fitted next.
        newest: number of the newest player of each group.
        populations: population of each player; None for the first player.

    Raises:
        UnsupportedError: the policy is not `Auto`, or has other lengthscales, a profile, recorded
            rows, or too many features.
    """

    def __init__(self, policy: Policy, horizon: int) -> None:
        if not isinstance(policy, Auto) or len(policy.banks) != 1 or policy.resumed is not None:
            raise UnsupportedError(
                "share must be 'none' for this policy; other values need Auto with one lengthscale "
                f"and without recorded rows; got {type(policy).__name__}. Set share='none', or "
                "another policy"
            )
        self.policy, self.horizon = policy, Horizon(horizon)
        self.features: Matrix = np.asarray(policy.banks[0].loadings.matrix)
        if policy.profile is not None or self.features.shape[1] > MOST_FEATURES:
            raise UnsupportedError(
                f"share must be 'none' for a policy with a profile or more than {MOST_FEATURES} "
                f"features; got {self.features.shape[1]} features. Set share='none', or use fewer "
                "arms or a smoother kernel"
            )
        self.labels: list[Any] = []
        self.seen: list[int] = []
        self.due: list[int] = []
        self.newest: list[int] = []
        self.populations: list[Population | None] = [None]
        variance = np.asarray(policy.banks[0].variance)
        self.flat = bool(np.ptp(policy.mean) == 0 and np.ptp(variance) <= 1e-9 * variance.max())

    def codes(self, labels: list[Any]) -> Integers:
        """Return the numbers of groups, which are made if they are new."""
        known = {label: number for number, label in enumerate(self.labels)}
        for label in labels:
            if label not in known:
                known[label] = len(self.labels)
                self.labels.append(label)
                self.seen.append(0)
                self.due.append(FIRST)
                self.newest.append(0)
        return np.array([known[label] for label in labels], np.int64)

    def labels_of(self, table: Any, share: str, count: int) -> list[Any] | None:
        """Return the group of each new member; None if all members are in one group.

        Raises:
            DriftpeakError: the table has no such column, or other values, or there would be too
                many groups.
        """
        if share == "all" or not count:
            return None
        if not columns.is_table(table):
            raise DriftpeakError(
                f"members must be a table with the columns 'member' and {share!r}, as share is "
                f"{share!r}; got {shown(table)}. Give a table, or share='all'"
            )
        labels = columns.array(share, columns.of_table(table, share)).tolist()
        if len(labels) != count or not all(isinstance(x, str | int) for x in labels):
            raise DriftpeakError(
                f"the column {share!r} must have one string or integer for each member; got "
                f"{shown(labels)}"
            )
        groups = len({*self.labels, *labels})
        if groups > MOST_GROUPS:
            raise DriftpeakError(
                f"share must be a column with at most {MOST_GROUPS} values in all; got {groups}. "
                "Use a coarser column"
            )
        return labels

    def count(self, groups: Integers) -> None:
        """Count observations of members of these groups."""
        for group, count in enumerate(np.bincount(groups, minlength=len(self.labels))):
            self.seen[group] += int(count)

    def overdue(self) -> list[int]:
        """Return the groups whose prior is to be fitted again."""
        return [group for group in range(len(self.labels)) if self.seen[group] >= self.due[group]]

    def spread(self, groups: Integers, serials: Integers, tells: Any, among: Any) -> Any:
        """Return the points that members may choose: one for members without observations.

        Before the first fit all members of a group would choose the same arm, if all arms have the
        same prior. Their first choices are divided among the arms instead, so that the first
        observations determine the mean of the population.
        """
        fitted = np.array([number > 0 for number in self.newest], bool)
        first = ~fitted[groups] & (tells == 0)
        if not (self.flat and first.any()):
            return among
        allowed = np.ones((len(groups), len(self.features)), bool) if among is None else among
        shares = serials * GOLDEN % 1.0  # evenly spread, also over every k-th member
        place = (shares * allowed.sum(axis=1)).astype(int)
        single = allowed & (np.cumsum(allowed, axis=1) - 1 == place[:, None])
        return np.where(first[:, None], single, allowed)

    def sample(self, rows: Rows, engine: Engine, most: int = MEMBERS) -> "Sample | None":
        """Return what a fit uses of the members of a group; None without observations.

        Arguments:
            rows: the members.
            engine: their players.
            most: largest number of members whose observations are used.
        """
        rows = rows[engine.tells[rows] > 0]
        if not len(rows):
            return None
        rows = rows[np.unique(np.linspace(0, len(rows) - 1, most).astype(int))]
        several = rows[engine.tells[rows] >= 3]
        weights = self._weights(several, engine).sum(axis=0) if len(several) else 0.0
        return Sample(newest_observations(rows, engine), weights)

    def fitted(self, group: int, samples: "list[Sample]") -> Population | None:
        """Return the population prior of a group from samples of at most `MEMBERS` members."""
        before = self.populations[self.newest[group]]
        found = fit(
            self.features,
            _joined([sample.observations for sample in samples]),
            start=None if before is None else before.parameters,
        )
        if found is None:
            return before
        total = PSEUDO * np.asarray(self.policy.start) + sum(sample.weights for sample in samples)
        return evolve(found, weights=total / total.sum())

    @double_precision
    def _weights(self, rows: Rows, engine: Engine) -> Any:
        return np.asarray(engine.layout.unpack(jnp.asarray(engine.now[rows])).weights)

    def adopt(self, group: int, population: Population, engine: Engine) -> None:
        """Take a new prior of a group; members that start later get it."""
        engine.players.append(engine.prepared(self.player(population)))
        self.populations.append(population)
        self.newest[group] = len(engine.players) - 1
        self.due[group] = 2 * self.seen[group]

    def save(self) -> dict[str, Any]:
        """Return groups and populations in JSON-compatible data."""
        populations = [one and one.to_dict() for one in self.populations]
        lists = {name: getattr(self, name) for name in ("labels", "seen", "due", "newest")}
        return lists | {"populations": populations}

    def load(self, written: dict[str, Any], engine: Engine) -> None:
        """Take what `save` returned."""
        for name in ("labels", "seen", "due", "newest"):
            setattr(self, name, list(written[name]))
        found = [one and Population.from_dict(one) for one in written["populations"]]
        self.populations = found
        engine.players[1:] = [engine.prepared(self.player(one)) for one in found if one is not None]

    def merge(self, written: list[dict[str, Any]], engine: Engine) -> None:
        """Take the groups of several shards from what `save` returned for each."""
        for one in written:
            self.codes(one["labels"])
        for group, label in enumerate(self.labels):
            has = [(one, one["labels"].index(label)) for one in written if label in one["labels"]]
            self.seen[group] = sum(one["seen"][place] for one, place in has)
            newest = [(one, place) for one, place in has if one["newest"][place]]
            found = [one["populations"][one["newest"][place]] for one, place in newest]
            if found:
                best = max(found, key=lambda each: each["observations"])
                self.adopt(group, Population.from_dict(best), engine)
                # each shard has twice its observations at the newest estimate
                self.due[group] = sum(one["due"][place] for one, place in newest)

    def first(self) -> Auto:
        """Return the player before the first fit; it has the structure of the later ones."""
        zeros = np.zeros((HARMONICS, len(self.features)))
        prior = self._arguments["prior"]
        return self._made(prior, self.features, _profile(None, zeros, zeros))

    def player(self, population: Population) -> Auto:
        """Return the player of a population."""
        domain = self._arguments["prior"].domain
        covariance = population.covariance
        prior = Prior(domain, Table(covariance), population.noise_variance, population.mean)
        profile = _profile(population.period, population.cosines, population.sines)
        made = self._made(prior, population.factor, profile)
        return eqx.tree_at(lambda player: player.start, made, population.weights)

    @property
    def _arguments(self) -> dict[str, Any]:
        found = arguments_of(self.policy, parameters_of(Auto))
        assert found is not None  # policies are not changed copies
        return found

    def _made(self, prior: Prior, factor: Matrix, profile: PeriodicMean) -> Auto:
        features = Features(factor, None, "population")
        given = self._arguments | {"prior": prior, "features": features, "profile": profile}
        return Auto(**given).prepare(self.horizon)


def _profile(period: float | None, cosines: Matrix, sines: Matrix) -> PeriodicMean:
    whole = 1.0 if period is None else period
    return PeriodicMean(whole / np.arange(1, 1 + HARMONICS), cosines, sines)


class Sample(NamedTuple):
    """The newest observations of some members, and the sum of their probabilities of motions."""

    observations: Observations
    weights: Any


def newest_observations(rows: Rows, engine: Engine) -> Observations:
    """Return the newest observations of members, at most `NEWEST` of each."""
    steps = engine.steps
    columns = np.arange(steps.kinds.shape[1])
    seen = (columns < steps.counts[rows, None]) & (steps.kinds[rows] == TELL)
    places = np.argsort(np.where(seen, columns, -1), axis=1)[:, -NEWEST:]

    def taken(array: Any) -> Any:
        found = np.zeros((len(rows), NEWEST), array.dtype)
        found[:, : places.shape[1]] = np.take_along_axis(array, places, axis=1)
        return found

    arms, times, rewards = (taken(x[rows]) for x in (steps.arms, steps.times, steps.rewards))
    return Observations(arms, times, rewards, taken(seen))


def _joined(parts: list[Observations]) -> Observations:
    """Return observations of several samples, padded to one shape, so that one program is run."""

    def joined(arrays: tuple[Any, ...]) -> Any:
        rows = np.concatenate(arrays)
        return np.concatenate([rows, np.zeros((MEMBERS - len(rows), NEWEST), rows.dtype)])

    return Observations(*(joined(arrays) for arrays in zip(*parts, strict=True)))
