"""What all pictures share. Colours are Okabe and Ito's, which the colour-blind can tell apart."""

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from driftpeak._core.argument_types import checked
from driftpeak._core.errors import positive

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#8C6D31", "#666666")
"""Eight that can be told apart; the last two, brown and grey, are for yardsticks."""
STYLES = ("-", "--", "-.", ":")
"""Of lines that have one colour."""
BAND = 0.2
"""How opaque a band around a line is."""


@checked
def new_figure(width: float, height: float) -> Figure:
    """An empty figure.

    Arguments:
        width, height: in inches.

    Raises:
        DriftpeakError: a number that is not positive.
    """
    width, height = positive("width", width), positive("height", height)
    return Figure(figsize=(width, height), layout="constrained")


@checked
def tidy(axes: Axes) -> None:
    """No frame above and at the right, a faint grid behind.

    Arguments:
        axes: to change.
    """
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(alpha=0.25)
    axes.set_axisbelow(True)


@checked
def with_unit(words: str, unit: str) -> str:
    """An axis label: `words (unit)`, or the words alone where no unit is known.

    Arguments:
        words: what is drawn.
        unit: of it, or "".
    """
    return f"{words} ({unit})" if unit else words
