"""A figure of the arms' forecasts for the next step, and of the arms chosen before."""

from textwrap import fill

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from driftpeak._core.argument_types import checked
from driftpeak.offline.replay._arms import check_played
from driftpeak.offline.replay._recommendation import Advice
from driftpeak.plots import looks, new_figure, tidy, time_axis, with_unit, write_dates

MOST_ARMS = 14
"""Number of arms with a line; the others are only counted."""
TITLE = 58
"""Width of the left panel's title in letters."""
BEST = "#000000"
OTHERS = "#666666"


@checked
def follow_figure(
    runs: xr.Dataset, policy: str, advice: Advice | None = None, *, title: str = ""
) -> Figure:
    """Draw the recommendation for the next step, and a policy's choices with the best arms.

    The left panel has the forecasts with bars of one standard deviation, the best on top. The right
    panel has the choices of the first trial, and small black marks at the best arms. Both panels
    have the same line for an arm.

    Arguments:
        runs: the result of `driftpeak.offline.replay.replay`.
        policy: the policy whose choices are drawn; usually the policy of the advice.
        advice: the recommendation of the same run; without it there is no left panel.
        title: a title above the text of the advice.

    Raises:
        DriftpeakError: the runs are not of a replay, or the policy is not in them.
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
    panels[-1].set_title(f"arms chosen by {policy}", loc="left", fontsize=10)
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
    """Return the indices of the drawn arms, top first: best forecasts, then most chosen."""
    followed = np.bincount(actions, minlength=len(arms))
    use = followed + 0.5 * np.bincount(best, minlength=len(arms))
    by_use = [int(arm) for arm in np.argsort(-use, kind="stable")]
    if advice is None:
        return [arm for arm in by_use if use[arm] > 0][:MOST_ARMS]
    number = {name: arm for arm, name in enumerate(arms)}
    ranked = [number[forecast.arm] for forecast in advice.arms]
    kept = list(dict.fromkeys((*ranked[: MOST_ARMS // 2], *by_use)))[:MOST_ARMS]
    return sorted(kept, key=ranked.index)


def _expectations(axes: Axes, advice: Advice, place: dict[str, int]) -> None:
    colour = looks([advice.policy])[advice.policy].colour
    tied = {forecast.arm for forecast in advice.equal}
    for forecast in advice.arms:
        if forecast.arm not in place:
            continue
        height, first = place[forecast.arm], forecast.arm in tied
        mean, deviation = forecast.mean, forecast.deviation
        reach = [mean - deviation, mean + deviation]
        axes.plot(reach, [height, height], color=colour if first else OTHERS, linewidth=2)
        axes.plot(mean, height, "o", color=colour if first else OTHERS, markersize=7)
    axes.set_xlabel(
        with_unit("expected cost" if advice.minimize else "expected reward", advice.unit)
    )
    title = fill(f"{advice.when}: forecast by {advice.policy}", TITLE)  # a context may be long
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
