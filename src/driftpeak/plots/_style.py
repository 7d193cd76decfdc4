"""Shared style of all figures. Colours are Okabe and Ito's palette for colour-blind readers."""

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from driftpeak._core.argument_types import checked
from driftpeak._core.errors import positive

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#8C6D31", "#666666")
"""Eight distinguishable colours; the last two, brown and grey, are for yardsticks."""
STYLES = ("-", "--", "-.", ":")
"""Styles of lines of one colour."""
BAND = 0.2
"""Opacity of a band around a line."""


@checked
def new_figure(width: float, height: float) -> Figure:
    """Return an empty figure.

    Arguments:
        width, height: size in inches.

    Raises:
        DriftpeakError: a number that is not positive.
    """
    width, height = positive("width", width), positive("height", height)
    return Figure(figsize=(width, height), layout="constrained")


@checked
def tidy(axes: Axes) -> None:
    """Remove the top and right spines, and draw a faint grid behind the lines.

    Arguments:
        axes: axes to change.
    """
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(alpha=0.25)
    axes.set_axisbelow(True)


@checked
def with_unit(words: str, unit: str) -> str:
    """Return an axis label: `words (unit)`, or only the words if there is no unit.

    Arguments:
        words: name of the quantity.
        unit: unit of the quantity, or "".
    """
    return f"{words} ({unit})" if unit else words
