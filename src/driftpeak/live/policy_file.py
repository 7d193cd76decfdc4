"""A policy in a file of its own, with the space and the direction that a live study needs."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from driftpeak._core.errors import DriftpeakError, at_least_integer, shown
from driftpeak._core.files import new_file, read_regular, writing
from driftpeak.gp.domains import Arms, Grid
from driftpeak.live.engines.setup import LivePolicy, is_policy
from driftpeak.live.optimizer import Optimizer
from driftpeak.live.space.encoding import Space
from driftpeak.live.space.serialization import space_from_data, space_to_data
from driftpeak.live.study.policy_data import NotOursError, policy_from_data, policy_to_data
from driftpeak.policies import Policy

FORMAT = 1
HORIZON = 100_000
MOST_BYTES = 2**28
"""Of a file: a table of 2,000 arms has 4 million covariances."""


@dataclass(frozen=True)
class StoredPolicy:
    """What a live study begins with.

    Attributes:
        policy: as `Optimizer` takes it.
        space: that it chooses from.
        maximize: whether large rewards are good; if not, the policy sees them negated.
        horizon: the most decisions.
        name: of the policy, for people.
    """

    policy: LivePolicy
    space: Space
    maximize: bool
    horizon: int
    name: str

    @classmethod
    def of(cls, policy: Policy, space: Arms | Grid, *, maximize: bool, name: str) -> "StoredPolicy":
        """A policy with the most decisions that it is planned for, 100,000 if that is open.

        Raises:
            DriftpeakError: a policy that cannot be stored, or cannot run live.
        """
        try:
            policy_from_data(policy_to_data(policy))
        except NotOursError as error:
            raise DriftpeakError(f"{name} cannot be stored: {error}") from None
        planned = getattr(policy, "horizon", HORIZON)
        found = cls(policy, space, maximize, int(planned), name)
        found.optimizer()  # it can run
        return found

    def optimizer(self, **options: Any) -> Optimizer:
        """A study that begins with the policy; options as for `Optimizer` (seed, storage, name).

        Raises:
            DriftpeakError: as `Optimizer`.
        """
        own = {"maximize": self.maximize, "policy": self.policy, "horizon": self.horizon}
        return Optimizer(self.space, **own, **options)  # type: ignore[arg-type]


def write_policy(path: Path, stored: StoredPolicy) -> None:
    """Write a file that `read_policy` and `driftpeak live create --policy-file` take.

    Raises:
        DriftpeakError: something else than a stored policy is there, or it cannot be written.
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
    """Refuse, before any work is done, a path that a policy must not be written to.

    Raises:
        DriftpeakError: its directory is missing, or something else than a stored policy is there.
    """
    with writing(path):
        if not path.parent.is_dir():
            raise DriftpeakError(f"{path}: there is no directory {path.parent}; make it first")
        if not path.exists():
            return
    try:
        _content(path)
    except DriftpeakError:
        raise DriftpeakError(
            f"{path} is there and is no stored policy; name another file, or remove it"
        ) from None


def read_policy(path: Path) -> StoredPolicy:
    """Read a file that `write_policy` wrote.

    Raises:
        DriftpeakError: it cannot be read, is no such file, or of a version not known here.
    """
    content = _content(path)
    if content["driftpeak_policy"] != FORMAT:
        raise DriftpeakError(
            f"{path} is a stored policy of format {shown(content['driftpeak_policy'])}; this "
            f"version reads {FORMAT}: take a newer driftpeak"
        )
    missing = [key for key in ("maximize", "horizon", "space", "policy") if key not in content]
    if missing:
        raise DriftpeakError(f"{path} is a stored policy without {', '.join(missing)}")
    try:
        if not isinstance(content["maximize"], bool):
            raise DriftpeakError(f"maximize must be true or false; got {content['maximize']!r}")
        policy = policy_from_data(content["policy"])
        if not is_policy(policy):
            raise DriftpeakError(f"its policy is {shown(policy)}")
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
            raise DriftpeakError(f"{path}: holds more than {MOST_BYTES >> 20} MiB, no policy does")
        content = json.loads(read_regular(path).decode())
    except DriftpeakError:
        raise  # a ValueError too
    except (ValueError, RecursionError):
        content = None
    except OSError as error:
        raise DriftpeakError(f"{path} cannot be read: {error.strerror or error}") from None
    if not isinstance(content, dict) or "driftpeak_policy" not in content:
        raise DriftpeakError(
            f"{path} is no stored policy; `driftpeak replay --save FILE` writes one"
        )
    return content
