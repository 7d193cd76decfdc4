"""The gallery's pictures: driftpeak's figures are not pyplot's, for which others look."""

from textwrap import indent

from matplotlib.figure import Figure
from sphinx_gallery.scrapers import figure_rst

SAVED = "figures that stand on the page already"


def save_figures(block, block_vars, gallery_conf):
    """Saves the figures that a block made, and places them below it."""
    names = block_vars["example_globals"]
    seen = names.setdefault(SAVED, [])
    made = [one for one in names.values() if isinstance(one, Figure) and one not in seen]
    paths = []
    for figure, path in zip(made, block_vars["image_path_iterator"], strict=False):
        figure.savefig(path, dpi=110)
        paths.append(path)
        seen.append(figure)
    pictures = figure_rst(paths, gallery_conf["src_dir"], _title(made))
    return ".. container:: picture\n\n" + indent(pictures, "   ") if paths else ""


def _title(figures):
    """What is read aloud: the figure's own title."""
    return "; ".join(one.get_suptitle() for one in figures if one.get_suptitle())
