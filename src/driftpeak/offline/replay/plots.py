"""A picture of the answer: what is expected of the arms next, and which were followed so far."""

from textwrap import fill

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from driftpeak._core.argument_types import checked
from driftpeak.offline.replay.arms import check_played
from driftpeak.offline.replay.recommendation import Advice
from driftpeak.plots import looks, new_figure, tidy, time_axis, with_unit, write_dates

MOST_ARMS = 14
"""Arms that have a line of their own; the others are left out, and counted."""
TITLE = 58
"""Letters that the left part is wide."""
BEST = "#000000"
OTHERS = "#666666"


@checked
def follow_figure(
    runs: xr.Dataset, policy: str, advice: Advice | None = None, *, title: str = ""
) -> Figure:
    """Which arm to follow next, and which arms a policy followed beside those that were best.

    On the left the expectations with bars of one deviation, best on top; on the right the choices
    of the first trial, and small black marks where the best arm was. Arms have the same line in
    both.

    Arguments:
        runs: as `driftpeak.offline.replay.replay` gives them.
        policy: whose choices are shown: the advice's, where there is one.
        advice: of the same run; without it the left part is missing.
        title: above the picture, over the advice in words.

    Raises:
        DriftpeakError: runs that are no replay, or a policy that did not play.
    """
    check_played(runs, policy)
    arms = [str(arm) for arm in runs["arm"].values]
    actions = runs["action"].sel(policy=policy).values[0]
    rewards = runs["rewards"].values
    minimize = bool(runs.attrs.get("minimize", 0))
    best = (rewards.argmin if minimize else rewards.argmax)(axis=1)
    order = _shown_arms(arms, actions, best, advice)
    place = {arm: len(order) - 1 - line for line, arm in enumerate(order)}
    figure = new_figure(11.0 if advice else 8.5, 2.0 + 0.3 * len(order))
    panels = figure.subplots(
        1, 2 if advice else 1, sharey=True, squeeze=False, width_ratios=[2, 3] if advice else [1]
    )[0]
    if advice:
        _expectations(panels[0], advice, {arms[arm]: height for arm, height in place.items()})
    _choices(panels[-1], runs, actions, best, place, looks([policy])[policy].colour)
    panels[0].set_yticks(list(place.values()), [arms[arm] for arm in place])
    panels[0].set_ylim(-0.7, len(order) - 0.3)
    if left := len(arms) - len(order):
        panels[0].set_ylabel(f"{left} other arms are not shown", color=OTHERS)
    panels[-1].set_title(f"what {policy} followed", loc="left", fontsize=10)
    words = "lowest cost of every step" if minimize else "best arm of every step"
    panels[-1].plot([], [], "|", color=BEST, markersize=7, label=words)
    panels[-1].plot([], [], "s", color=looks([policy])[policy].colour, markersize=6, label="chosen")
    figure.legend(loc="outside lower center", ncols=2, frameon=False)
    heading = "\n".join(
        text
        for text in (title, advice.in_words().replace("+-", "\u00b1") if advice else "")
        if text
    )
    figure.suptitle(heading, fontsize=11)
    return figure


def _shown_arms(
    arms: list[str], actions: np.ndarray, best: np.ndarray, advice: Advice | None
) -> list[int]:
    """Numbers of the arms that get a line, top first: expected best, then most followed."""
    followed = np.bincount(actions, minlength=len(arms))
    use = followed + 0.5 * np.bincount(best, minlength=len(arms))
    by_use = [int(arm) for arm in np.argsort(-use, kind="stable")]
    if advice is None:
        return [arm for arm in by_use if use[arm] > 0][:MOST_ARMS]
    number = {name: arm for arm, name in enumerate(arms)}
    ranked = [number[one.arm] for one in advice.arms]
    kept = list(dict.fromkeys((*ranked[: MOST_ARMS // 2], *by_use)))[:MOST_ARMS]
    return sorted(kept, key=ranked.index)


def _expectations(axes: Axes, advice: Advice, place: dict[str, int]) -> None:
    colour = looks([advice.policy])[advice.policy].colour
    tied = {one.arm for one in advice.equal}
    for one in advice.arms:
        if one.arm not in place:
            continue
        height, first = place[one.arm], one.arm in tied
        reach = [one.mean - one.deviation, one.mean + one.deviation]
        axes.plot(reach, [height, height], color=colour if first else OTHERS, linewidth=2)
        axes.plot(one.mean, height, "o", color=colour if first else OTHERS, markersize=7)
    axes.set_xlabel(
        with_unit("expected cost" if advice.minimize else "expected reward", advice.unit)
    )
    title = fill(f"{advice.when}, as {advice.policy} expects", TITLE)  # a context may be long
    axes.set_title(title, loc="left", fontsize=10)
    tidy(axes)


def _choices(
    axes: Axes,
    runs: xr.Dataset,
    actions: np.ndarray,
    best: np.ndarray,
    place: dict[int, int],
    colour: str,
) -> None:
    x, xlabel = time_axis(runs)
    for numbers, mark, size, shade, layer in (
        (actions, "s", 5.0, colour, 2),
        (best, "|", 5.0, BEST, 3),
    ):
        seen = np.isin(numbers, list(place))
        heights = [place[int(arm)] for arm in numbers[seen]]
        axes.plot(x[seen], heights, mark, color=shade, markersize=size, zorder=layer)
    axes.set_xlabel(xlabel)
    axes.tick_params(axis="y", length=0)
    write_dates(axes, x)
    tidy(axes)
