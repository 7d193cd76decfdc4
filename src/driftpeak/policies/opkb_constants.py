"""The constants of OPKB: those of its analysis, and those its authors ran."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from driftpeak.errors import DriftpeakError, at_least, at_least_integer, positive, unit_interval


@dataclass(frozen=True)
class Constants:
    r"""The constants of H23; the defaults are those of its analysis (Appendix D.1).

    With \(\alpha = c_4 \sigma / \log(C_0 n / \delta)\), \(C_0 = 8 T \log_2 T\) and the gain
    \(\gamma = \max_P \log\det(I + \frac{T}{\sigma} \sum_x P(x) \phi(x)\phi(x)^\top)\):

    - block 0 has \(E = \lceil c_3 \gamma \log(C_0 n / \delta) \rceil\) steps;
    - \(\mu_j = c_1 2^{-j/2}\), \(\beta_j = \frac{c_2}{10 + 4\sqrt\alpha} \gamma\,2^{j/2}\);
    - a replay of index m contradicts block k where a gap exceeds four times the other by more than
      \(4 c_0 (40 + 16 \sqrt\alpha) \mu_{\min(m, k)}\);
    - A holds the gaps up to `threshold` \(\cdot 2 \alpha \gamma / \beta_j\), and q is `mixture`;
    - replays and tests concern indices of at least `first_index`.

    Raises:
        DriftpeakError: a number out of range.
    """

    sigma: float = 1.0
    delta: float = 0.1
    c0: float = 1.0
    c1: float = 0.5
    c2: float = 1.0
    c3: float = 4.0
    c4: float = 0.25
    threshold: float = 1.0
    mixture: float = 0.5
    first_index: int = 0

    def __post_init__(self) -> None:
        for name in ("sigma", "c0", "c2", "c3", "c4"):
            positive(name, getattr(self, name))
        unit_interval("delta", self.delta, low_open=True, high_open=True)
        unit_interval("c1", self.c1, low_open=True)
        unit_interval("mixture", self.mixture)
        at_least("threshold", self.threshold, 0)
        at_least_integer("first_index", self.first_index, 0)


THEORY = Constants()
TUNED = Constants(
    sigma=100.0,
    delta=1e-4,
    c0=0.025,  # 0.005 in H23's program, whose test has c1 = 1/2 where play has 0.1
    c1=0.1,
    c2=50.0,
    c3=0.04,
    threshold=2.5,
    mixture=0.2,
    first_index=4,
)
PRESETS = {"tuned": TUNED, "theory": THEORY}


def preset_constants(preset: str, given: Mapping[str, Any]) -> Constants:
    """The constants of a preset, with some replaced.

    Raises:
        DriftpeakError: an unknown preset or constant, a number out of range.
    """
    if preset not in PRESETS:
        raise DriftpeakError(f"preset must be one of {', '.join(PRESETS)}; got {preset!r}")
    try:
        return replace(PRESETS[preset], **given)
    except TypeError:
        known = ", ".join(Constants.__dataclass_fields__)
        unknown = ", ".join(set(given) - set(Constants.__dataclass_fields__))
        raise DriftpeakError(f"{unknown} is no constant of H23; known: {known}") from None
