"""Evaluation of policies on the later rows of a table, with a prior from the earlier ones."""

import dataclasses
import json
import math
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from driftpeak._core.argument_types import checked
from driftpeak._core.errors import DriftpeakError, at_least_integer, shown, unit_interval
from driftpeak.environments import RecordedRewards
from driftpeak.offline._policy_specs.fitted import Finding
from driftpeak.offline._policy_specs.policies import DEFAULT_POLICIES, HISTORIC
from driftpeak.offline.data import RewardTable
from driftpeak.offline.history import learn_contexts
from driftpeak.offline.replay._contexts import contexts_of
from driftpeak.offline.replay._players import Setting, make_players, with_contexts
from driftpeak.offline.replay._prior import Mean
from driftpeak.simulation._simulator import simulate

if TYPE_CHECKING:
    from distributed import Client

SENSOR_WIDTH = "scaled-log:c1=0.8,c2=0.4"
LONGEST_UNIT = 40
EXPECTED = ("expected_mean", "expected_deviation", "expected_noise")


@checked
def replay(
    table: RewardTable,
    policies: Sequence[str] = (*DEFAULT_POLICIES, *HISTORIC),
    *,
    train: float = 0.6,
    noise_variance: float | None = None,
    mean: Mean = "per-arm",
    fit: bool = False,
    width: str = SENSOR_WIDTH,
    trials: int = 20,
    seed: int = 0,
    minimize: bool = False,
    unit: str | None = None,
    next_context: Mapping[str, Any] | None = None,
    progress: bool | None = None,
    executor: "Executor | Client | None" = None,
) -> xr.Dataset:
    """Run policies on the later rows of a table, with a prior from the earlier rows.

    The reward of every arm is known at every step, so that the reward of any choice is known. Steps
    are the rows, at times 1, 2, ...; rewards are used as recorded.

    If the table has contexts (`read_table(..., context_columns=)`), the policies of the GP-UCB
    family, `auto` and `best-of-history` run twice: with the context of every row (`InContext`, with
    the effects that `driftpeak.offline.history.learn_contexts` estimates from the training rows),
    and as "NAME (without contexts)".

    Arguments:
        table: rewards, one row per step and one column per arm
            (`driftpeak.offline.data.read_table`).
        policies: as for `driftpeak.offline._policy_specs.policies.make_policies`. `auto` starts
            from the estimates of `driftpeak.fit_history` on the training rows.
        train: fraction of the rows from which the prior is estimated (rounded down).
        noise_variance, mean: see `prior_from_history`.
        fit: whether to estimate omitted parameters from the training rows: the noise variance and
            the policies' drift, window, period, discount or exponent
            (`driftpeak.offline._policy_specs.fitted`).
        width: exploration width of the policies without a width of their own; by default B16's for
            sensors.
        trials: number of trials of randomised policies. Other policies run once, and their trial is
            repeated in the result.
        seed: random seed of the policies.
        minimize: whether the table contains costs. Policies maximise, so they and the prior use the
            negated values; the result has the table's signs.
        unit: the unit of the rewards, such as "degrees C", for texts and figures; by default the
            table's unit, which `read_table` reads from the header.
        next_context: the context of the row after the last, by name, for the forecasts. Without it,
            the forecasts are mixtures over all contexts, weighted by their frequencies.
        progress: whether to show a progress bar; by default if the error output is a terminal.
        executor: runs the policies in parallel, as for `driftpeak.simulate`.

    Returns:
        As `driftpeak.simulate`, with `rewards` (step x arm), the policies' forecasts for the row
        after the last (`expected_mean` and `expected_deviation`, policy x trial x arm, NaN for
        policies without predictions), coordinates `arm` and, if the table has a time column,
        `label`. Rewards, regrets and forecasts have the attribute `units`.

    Raises:
        DriftpeakError: there is only one arm, train is outside (0, 1) or leaves fewer than two
            training or test rows (four training rows with contexts), there are more than 1,000 arms
            times contexts, the next context is not in the table, or the training rows are constant
            and a policy needs them; and as the functions named above and `driftpeak.simulate`.
    """
    if len(table.arms) < 2:
        raise DriftpeakError(
            f"the table must have at least 2 arms, one column each; got only {shown(table.arms[0])}"
        )
    if not isinstance(minimize, bool):
        raise DriftpeakError(f"minimize must be True or False; got {shown(minimize)}")
    unit = _unit(table, unit)
    # policies maximise: they see costs negated (adding 0 leaves no -0)
    sign = -1.0 if minimize else 1.0
    table = dataclasses.replace(table, values=sign * table.values + 0.0)
    share = unit_interval("train", train, low_open=True, high_open=True)
    first = math.floor(share * len(table.values) + 1e-9)
    if first < 2 or len(table.values) - first < 2:
        raise DriftpeakError(
            "train must leave at least 2 training rows and 2 other rows; got "
            f"{share:g}, which leaves {first} and {len(table.values) - first} of "
            f"{len(table.values)}"
        )
    contexts, words = contexts_of(table, first, next_context)
    trials = at_least_integer("trials", trials, 1)
    steps = len(table.values) - first
    setting = Setting(noise_variance, mean, fit, width, steps)
    plain = players = make_players(policies, table.rows(0, first), setting)
    if contexts is not None:
        effects = learn_contexts(table.values[:first], contexts)
        words = [effects.report(), *words]
        players = with_contexts(policies, table.rows(0, first), setting, plain, effects)
    made, texts = players.policies, players.texts
    rewards, learned = table.values[first:], players.learned
    # on a single history, all trials of a deterministic policy are equal
    once = {name: policy for name, policy in made.items() if policy.deterministic}
    often = {name: policy for name, policy in made.items() if not policy.deterministic}
    played = [
        simulate(
            part,
            RecordedRewards(rewards),
            steps=len(rewards),
            trials=count,
            seed=seed,
            progress=progress,
            executor=executor,
            readings=True,
            forecast=True,
        )
        for part, count in ((once, 1), (often, trials))
        if part
    ]
    most = max(part.sizes["trial"] for part in played)
    repeated = [part.isel(trial=np.arange(most) % part.sizes["trial"]) for part in played]
    runs = xr.concat(
        [part.assign_coords(trial=np.arange(most)) for part in repeated], "policy"
    ).sel(policy=list(made))
    runs = runs.rename(point="arm").assign_coords(arm=list(table.arms))
    meaning = "cost" if minimize else "reward"
    runs["rewards"] = (("step", "arm"), rewards, {"long_name": f"{meaning} of every arm"})
    for name in ("reward", "rewards", "expected_mean"):
        runs[name] = (runs[name].dims, sign * runs[name].values + 0.0, runs[name].attrs)
    if unit:
        for name in ("reward", "rewards", "regret", *EXPECTED):
            runs[name].attrs["units"] = unit
    if table.times is not None:
        label = ("step", list(table.times[first:]), {"long_name": table.time_name or "time"})
        runs = runs.assign_coords(label=label)
    if contexts is not None:
        labels = [contexts.labels[number] for number in contexts.numbers[first : first + steps]]
        runs = runs.assign_coords(context=("step", labels, {"long_name": "context"}))
        coming = "" if next_context is None else contexts.labels[contexts.numbers[-1]]
        runs = runs.assign_attrs(
            contexts="\n".join(words),
            next_context=coming,
            noise_variance_told=players.prior.noise_variance,
            fitted_told=_as_json(players.estimates),
        )
    return runs.assign_attrs(
        train_rows=first,
        noise_variance=plain.prior.noise_variance,
        noise_given=int(noise_variance is not None),
        mean=mean,
        learned="" if learned is None else _lines_beside(learned.report(), words),
        width=width,
        minimize=int(minimize),
        unit=unit,
        policies="\n".join(texts),
        fitted=_as_json(plain.estimates),
    )


def _as_json(findings: Mapping[str, Finding]) -> str:
    return json.dumps({name: dataclasses.asdict(finding) for name, finding in findings.items()})


def _lines_beside(text: str, notes: Sequence[str]) -> str:
    """Return the lines of the text that are not in `notes`."""
    return "\n".join(line for line in text.splitlines() if line not in notes)


def _unit(table: RewardTable, given: str | None) -> str:
    """Return the given unit, or else the table's; "" if not known."""
    if given is None:
        return table.unit or ""
    if not (isinstance(given, str) and len(given) <= LONGEST_UNIT and given.isprintable()):
        raise DriftpeakError(
            f"unit must be a printable string of at most {LONGEST_UNIT} characters on one line; "
            f"got {shown(given)}"
        )
    return given.strip()
