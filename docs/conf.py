"""Sphinx settings: Markdown pages by MyST, the reference from the docstrings."""

import re
from importlib.metadata import version as installed_version

project = "driftpeak"
author = "the driftpeak developers"
copyright = author
version = release = installed_version("driftpeak")

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "sphinx.ext.mathjax",
]
exclude_patterns = ["_build"]
myst_enable_extensions = ["amsmath", "colon_fence", "dollarmath"]
myst_heading_anchors = 3  # pages may link to each other's headings

autodoc_member_order = "bysource"
autodoc_typehints = "description"  # shapes make signatures too long to read
napoleon_numpy_docstring = False

html_theme = "furo"
html_title = "driftpeak"


def setup(app):
    """Docstrings write formulas as \\( ... \\), which reads well in plain text too."""

    def to_math_role(app, what, name, obj, options, lines):
        text = "\n".join(lines)
        lines[:] = re.sub(r"\\\((.+?)\\\)", r":math:`\1`", text, flags=re.S).split("\n")

    app.connect("autodoc-process-docstring", to_math_role)
