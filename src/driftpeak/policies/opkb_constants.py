"""The constants of OPKB, from its analysis and from its authors' program."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from driftpeak._core.errors import (
    DriftpeakError,
    at_least,
    at_least_integer,
    one_of,
    positive,
    unit_interval,
)
from driftpeak.policies.catalogue import stored


@stored("opkb-constants")
@dataclass(frozen=True)
class Constants:
    r"""The constants of H23; the defaults are those of its analysis (Appendix D.1).

    With \(\alpha = c_4 \sigma / L\), \(L = \log(8 n T \log_2 T / \delta)\), the gain
    \(\gamma = g \max_P \log\det(I + \frac{T}{\sigma} \sum_x P(x) \phi(x)\phi(x)^\top)\) and
    \(\epsilon_j = (40 + 16 \sqrt\alpha)\, 2^{-j/2} / 2\):

    - block 0 has \(E = \lceil c_3 \gamma L \rceil\) steps;
    - \(\mu_j = c_1 2^{-j/2}\), \(\beta_j = 2 c_2 \gamma / \epsilon_j\);
    - A holds the points with gaps up to `threshold` \(\cdot 2 \alpha \gamma / \beta_j\), and q is
      `mixture`;
    - replays and tests use indices of at least `first_index`;
    - a replay of index m contradicts block k if a gap exceeds four times the other by more than
      \(4 c_0 \epsilon_{\min(m, k)}\), or, with `averaged`, \(4 c_0 (\epsilon_m + \epsilon_k) / 2\);
    - with `blocks_tested`, a block is tested like a replay when it ends.

    Attributes:
        gain_share: g; 1 in the analysis, 1/2 in the published program.

    Raises:
        DriftpeakError: a number out of range.

    Source: H23 Appendix D.1, published program.
    """

    sigma: float = 1.0
    delta: float = 0.1
    gain_share: float = 1.0
    c0: float = 1.0
    c1: float = 0.5
    c2: float = 1.0
    c3: float = 4.0
    c4: float = 0.25
    threshold: float = 1.0
    mixture: float = 0.5
    first_index: int = 0
    averaged: bool = False
    blocks_tested: bool = True

    def __post_init__(self) -> None:
        for name in ("sigma", "gain_share", "c0", "c2", "c3", "c4"):
            positive(name, getattr(self, name))
        unit_interval("delta", self.delta, low_open=True, high_open=True)
        unit_interval("c1", self.c1, low_open=True)
        unit_interval("mixture", self.mixture)
        at_least("threshold", self.threshold, 0)
        at_least_integer("first_index", self.first_index, 0)


THEORY = Constants()
PUBLISHED = Constants(
    sigma=100.0,
    delta=1e-4,
    gain_share=0.5,
    c0=0.005,
    c1=0.1,
    c2=50.0,
    c3=0.04,
    threshold=2.5,
    mixture=0.2,
    first_index=4,
    averaged=True,
    blocks_tested=False,
)
"""The constants of H23's figures (the configurations of its program)."""
PRESETS = {"published": PUBLISHED, "theory": THEORY}


def preset_constants(preset: str, given: Mapping[str, Any]) -> Constants:
    """Return the constants of a preset, with some replaced.

    Raises:
        DriftpeakError: an unknown preset or constant, or a number out of range.
    """
    constants = PRESETS[one_of("preset", preset, tuple(PRESETS))]
    try:
        return replace(constants, **given)
    except TypeError:
        known = ", ".join(Constants.__dataclass_fields__)
        unknown = ", ".join(set(given) - set(Constants.__dataclass_fields__))
        raise DriftpeakError(f"constants must be fields of H23: {known}; got {unknown}") from None
