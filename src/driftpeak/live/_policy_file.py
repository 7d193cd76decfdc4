"""Policies in files, with the space and the direction that a live study needs."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from driftpeak._core.argument_types import checked
from driftpeak._core.errors import DriftpeakError, at_least_integer, shown
from driftpeak._core.files import new_file, read_regular, writing
from driftpeak.gp.domains import Arms, Grid
from driftpeak.live._engines.setup import LivePolicy, is_policy
from driftpeak.live._optimizer import Optimizer
from driftpeak.live._space.encoding import Space
from driftpeak.live._space.serialization import space_from_data, space_to_data
from driftpeak.live._study.policy_data import NotOursError, policy_from_data, policy_to_data
from driftpeak.policies import Policy

FORMAT = 1
HORIZON = 100_000
MOST_BYTES = 2**28
"""Largest size of a file; a table of 2,000 arms has 4 million covariances."""


@dataclass(frozen=True)
class StoredPolicy:
    """A stored policy with the arguments of a live study.

    Attributes:
        policy: policy for `Optimizer`.
        space: space of the policy.
        maximize: whether rewards are maximised; if not, the policy gets negated rewards.
        horizon: maximum of decisions.
        name: name of the policy for display.
    """

    policy: LivePolicy
    space: Space
    maximize: bool
    horizon: int
    name: str

    @classmethod
    def of(cls, policy: Policy, space: Arms | Grid, *, maximize: bool, name: str) -> "StoredPolicy":
        """Return a stored policy with the policy's own horizon, or 100,000 without one.

        Raises:
            DriftpeakError: the policy cannot be stored or cannot run live.
        """
        try:
            policy_from_data(policy_to_data(policy))
        except NotOursError as error:
            raise DriftpeakError(f"{name} cannot be stored: {error}") from None
        planned = getattr(policy, "horizon", HORIZON)
        stored = cls(policy, space, maximize, int(planned), name)
        stored.optimizer()  # raises if the policy cannot run live
        return stored

    def optimizer(self, **options: Any) -> Optimizer:
        """Create a study with the policy; options as for `Optimizer` (seed, storage, name).

        Raises:
            DriftpeakError: as `Optimizer`.
        """
        own = {"maximize": self.maximize, "policy": self.policy, "horizon": self.horizon}
        return Optimizer(self.space, **own, **options)  # type: ignore[arg-type]


@checked
def write_policy(path: Path, stored: StoredPolicy) -> None:
    """Write a file for `read_policy` and `driftpeak live create --policy-file`.

    Arguments:
        path: a new file, or a file with a stored policy, which is replaced.
        stored: the policy, its space and its direction.

    Raises:
        DriftpeakError: the path is another file than a stored policy, or cannot be written.
    """
    check_policy_path(path)
    content = {
        "driftpeak_policy": FORMAT,
        "name": stored.name,
        "maximize": stored.maximize,
        "horizon": stored.horizon,
        "space": space_to_data(stored.space),
        "policy": policy_to_data(stored.policy),
    }
    with new_file(path) as part:
        part.write_text(json.dumps(content) + "\n", encoding="utf-8")


def check_policy_path(path: Path) -> None:
    """Check, before any computation, that a policy may be written to a path.

    Raises:
        DriftpeakError: the directory is missing, or the path is another file than a stored policy.
    """
    with writing(path):
        if not path.parent.is_dir():
            raise DriftpeakError(f"{path}: there is no directory {path.parent}. Create it first")
        if not path.exists():
            return
    try:
        _content(path)
    except DriftpeakError:
        raise DriftpeakError(
            f"{path} must be a new file or a stored policy; got another file. Give another path, "
            "or remove the file"
        ) from None


@checked
def read_policy(path: Path) -> StoredPolicy:
    """Read a file that `write_policy` wrote.

    Arguments:
        path: the file. Stored data never runs code.

    Raises:
        DriftpeakError: the file cannot be read, is not a stored policy, or has another format.
    """
    content = _content(path)
    if content["driftpeak_policy"] != FORMAT:
        raise DriftpeakError(
            f"{path} must be a stored policy of format {FORMAT}; got format "
            f"{shown(content['driftpeak_policy'])}. Use a newer driftpeak"
        )
    missing = [key for key in ("maximize", "horizon", "space", "policy") if key not in content]
    if missing:
        raise DriftpeakError(f"{path} must have {', '.join(missing)}, as stored policies do")
    try:
        if not isinstance(content["maximize"], bool):
            raise DriftpeakError(f"maximize must be true or false; got {content['maximize']!r}")
        policy = policy_from_data(content["policy"])
        if not is_policy(policy):
            raise DriftpeakError(f"policy must be a policy of driftpeak; got {shown(policy)}")
        return StoredPolicy(
            policy,
            space_from_data(content["space"]),
            content["maximize"],
            at_least_integer("horizon", content["horizon"], 1),
            str(content.get("name", "")),
        )
    except DriftpeakError as error:
        raise DriftpeakError(f"{path}: {error}") from None


def _content(path: Path) -> dict[str, Any]:
    try:
        if path.stat().st_size > MOST_BYTES:
            raise DriftpeakError(
                f"{path} must be a stored policy of at most {MOST_BYTES >> 20} MiB; got a larger "
                "file"
            )
        content = json.loads(read_regular(path).decode())
    except DriftpeakError:
        raise  # it is a ValueError too
    except (ValueError, RecursionError):
        content = None
    except OSError as error:
        raise DriftpeakError(f"{path} cannot be read: {error.strerror or error}") from None
    if not isinstance(content, dict) or "driftpeak_policy" not in content:
        raise DriftpeakError(
            f"{path} must be a stored policy; got another file. Create one with "
            "`driftpeak replay --save FILE`"
        )
    return content
