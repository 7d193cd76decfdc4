"""Figure 2a of Bogunovic, Scarlett, Cevher 2016 through Kronecker features, world and policies.

As `figure_2a`, which takes the features that priors have by default on so few points: the same law,
other functions. A product with these takes one axis after the other.
"""

from benchmarks.figure_2a import played

TARGETS = {"total without import (s)": "<= 45", "peak memory (GiB)": "<= 4"}


def run() -> dict[str, float]:
    """Seconds, and mean regrets with their standard errors."""
    return played(by_axis=True)
