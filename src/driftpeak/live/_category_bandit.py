"""Categories of a population by a bandit, before the Gaussian process chooses the rest."""

from collections.abc import Iterable
from typing import Literal, get_args

import numpy as np

from driftpeak._core.errors import DriftpeakError, one_of
from driftpeak.live._search.exp3 import drawn, learned
from driftpeak.live._space.box import unmet
from driftpeak.live._space.encoding import BoxCoding, Coding
from driftpeak.live._space.parameters import Parameter, ParameterValues
from driftpeak.live._study.suggestion import Observation

Categories = Literal["gp", "exp3"]


def make_bandit(categories: Categories, coding: Coding, seed: int) -> "CategoryBandit | None":
    """Return the bandit that chooses the categories; None if the Gaussian process does.

    Raises:
        DriftpeakError: `categories` has another value, or the space has no unordered parameter.
    """
    chosen = one_of("categories", categories, get_args(Categories))
    return CategoryBandit(coding, seed) if chosen == "exp3" else None


class CategoryBandit:
    """A TV.EXP3.M bandit for each unordered parameter.

    Its state is a function of the seed and of the observations, so that a resumed population makes
    the same choices. A gain is the reward between the worst (0) and the best reward so far (1).

    Arguments:
        coding: the coding of the space.
        seed: seed of the draws.

    Raises:
        DriftpeakError: the space has no unordered parameter.
    """

    def __init__(self, coding: Coding, seed: int) -> None:
        self.parameters: dict[str, Parameter] = {}
        if isinstance(coding, BoxCoding):
            each = coding.box.parameters.items()
            self.parameters = {name: one for name, one in each if one.categorical}
        if not self.parameters:
            raise DriftpeakError(
                'categories="exp3" must be used with a Box that has an unordered Categorical or a '
                f'Boolean; got parameters {", ".join(coding.names)}. Use categories="gp"'
            )
        self.seed = seed

    def choose(
        self, history: Iterable[Observation], plays: int, number: int, *, maximize: bool
    ) -> ParameterValues:
        """Return the active categories for one member.

        Categories whose condition depends on parameters that are not chosen here are left out.

        Arguments:
            history: the observations so far, in order.
            plays: number of members.
            number: number of the play in this round, from 0.
            maximize: whether high rewards are good.
        """
        used = [observation for observation in history if observation.used]
        rewards = np.array([observation.reward for observation in used])
        gains = _gains(rewards if maximize else -rewards)
        chosen: ParameterValues = {}
        for column, (name, parameter) in enumerate(self.parameters.items()):
            if unmet(parameter, chosen) is not None:
                continue
            active = [name in observation.parameters for observation in used]
            places = [
                parameter.encode(name, observation.parameters[name])
                for observation, here in zip(used, active, strict=True)
                if here
            ]
            last = parameter.levels - 1
            arms = np.rint(np.array(places) * last).astype(int)
            counts = learned(parameter.levels, arms, gains[np.array(active, bool)], plays)
            random = np.random.default_rng([self.seed, len(used), column])
            arm = drawn(counts, plays, random)[number % plays]
            chosen[name] = parameter.decode(arm / last)
        return chosen


def _gains(rewards: np.ndarray) -> np.ndarray:
    """Scale rewards to [0, 1]; equal rewards are 0."""
    if not len(rewards):
        return rewards
    low, high = rewards.min(), rewards.max()
    return (rewards - low) / (high - low) if high > low else np.zeros(len(rewards))
