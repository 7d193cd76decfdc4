"""`{lines-table} policies` or `widths`: the table of the command line's names, as they are."""

import re

from docutils import nodes
from docutils.parsers.rst import Directive
from docutils.statemachine import StringList


class LinesTable(Directive):
    """A row for every name, with what can be told and what it is."""

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
    """Registers the directive."""
    app.add_directive("lines-table", LinesTable)
    return {"parallel_read_safe": True}
