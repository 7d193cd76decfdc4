"""Sphinx settings: Markdown pages by MyST, the reference from the docstrings."""

import re
from importlib.metadata import version as installed_version

from docutils import nodes
from docutils.parsers.rst import Directive
from docutils.statemachine import StringList

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


class LinesTable(Directive):
    """`{lines-table} policies` or `widths`: the table of the command line's names, as they are."""

    required_arguments = 1
    has_content = False

    def run(self):
        from driftpeak.named.policies import tables

        rows = [("name", "what can be told, with defaults", "what it is")]
        for line in tables()[self.arguments[0]]:
            given = ", ".join(f"``{one}``" for one in line.parameters)
            rows.append((f"``{line.name}``", given, line.summary))
        table = [".. list-table::", "   :header-rows: 1", "   :widths: 15 35 50", ""]
        for row in rows:
            for number, cell in enumerate(row):
                cell = re.sub(r"\\\((.+?)\\\)", r":math:`\1`", cell)
                table.append(("   * - " if number == 0 else "     - ") + cell)
        node = nodes.container()
        self.state.nested_parse(StringList(table, source="named policies"), 0, node)
        return node.children


def setup(app):
    """Docstrings write formulas as \\( ... \\), which reads well in plain text too."""

    def to_math_role(app, what, name, obj, options, lines):
        text = "\n".join(lines)
        lines[:] = re.sub(r"\\\((.+?)\\\)", r":math:`\1`", text, flags=re.S).split("\n")

    app.connect("autodoc-process-docstring", to_math_role)
    app.add_directive("lines-table", LinesTable)
