"""`{papers-table} B16`: the items of a paper, with functions, tests and experiments."""

import re
from functools import cache
from pathlib import Path

from docutils.parsers.rst import Directive
from mdit_py_plugins.anchors.index import slugify
from sphinx import addnodes
from sphinx.util import logging

from extensions.sources import coverage
from extensions.tables import table

logger = logging.getLogger(__name__)
VERDICTS = Path(__file__).parents[1] / "verdicts.md"
covered = cache(coverage)


def section(experiment):
    """Return a link to the verdicts of an experiment, or else to the page of the experiments."""
    heading = re.search(rf"^## ({experiment}: .+)$", VERDICTS.read_text(), re.M)
    place = f"verdicts.html#{slugify(heading[1])}" if heading else "reproduce.html"
    return f"`{experiment} <{place}>`__"


class PapersTable(Directive):
    """A row for every item; links of functions must lead to the reference."""

    required_arguments = 1
    has_content = False

    def run(self):
        rows = [("item", "content", "functions", "tests", "experiments")]
        for item in covered()[0][self.arguments[0]].items:
            functions = [f":py:obj:`~{name}`" for name in item.functions]
            tests = [f"``{name}``" for name in item.tests]
            experiments = [section(name) for name in item.experiments]
            cells = [", ".join(cell) for cell in (functions, tests, experiments)]
            if item.status:
                cells[0] = f"*{item.status}*"
            rows.append((item.label, item.content, *cells))
        found = table(self, rows, "papers.toml", "12 24 26 26 12")
        for node in found:
            node["classes"].append("papers")
            for link in node.findall(addnodes.pending_xref):
                link["refwarn"] = True
        return found


def setup(app):
    """Registers the directive; every error of the coverage is a warning of the build."""

    def check(app):
        for error in covered()[1]:
            logger.warning("papers: %s", error)

    app.connect("builder-inited", check)
    app.add_directive("papers-table", PapersTable)
    return {"parallel_read_safe": True}
