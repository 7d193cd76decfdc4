"""Tables written from the source: names of the command line, families of the tournament."""

import re

from docutils import nodes
from docutils.parsers.rst import Directive
from docutils.statemachine import StringList


class LinesTable(Directive):
    """`{lines-table} policies` or `widths`: a row for every name of the command line."""

    required_arguments = 1
    has_content = False

    def run(self):
        from driftpeak.offline.policy_specs.policies import tables

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


class PoliciesTable(Directive):
    """`{policies-table}`: a row for every policy of the catalogue."""

    has_content = False

    def run(self):
        import driftpeak
        from driftpeak.policies.catalogue import ENTRIES

        rows = [("policy", "observations that it keeps", "published width", "parameter by theory")]
        for entry in sorted(ENTRIES, key=lambda entry: entry.make.__name__.casefold()):
            name = entry.make.__name__
            assert getattr(driftpeak, name) is entry.make, f"{name} is not exported"
            role = "class" if isinstance(entry.make, type) else "func"
            rows.append((f":{role}:`~driftpeak.{name}`", entry.kept, entry.width, entry.schedule))
        table = [".. list-table::", "   :header-rows: 1", ""]
        for row in rows:
            for number, cell in enumerate(row):
                table.append(("   * - " if number == 0 else "     - ") + cell)
        node = nodes.container()
        self.state.nested_parse(StringList(table, source="catalogue of policies"), 0, node)
        return node.children


class FamiliesTable(Directive):
    """`{families-table}`: the grid of every family of the tournament, from its source."""

    has_content = False

    def run(self):
        from driftpeak.experiments.tournament.players import FAMILIES

        rows = [("family", "parameter", "values", "widths", "settings")]
        for family in FAMILIES:
            own = "of the policy" if family.wide_only or not family.values else "wide, narrow"
            values = ", ".join(f"{value:g}" for value in family.values)
            rows.append((family.name, family.parameter, values, own, str(len(family.settings))))
        rows.append(("all", "", "", "", str(sum(len(family.settings) for family in FAMILIES))))
        table = [".. list-table::", "   :header-rows: 1", ""]
        for row in rows:
            for number, cell in enumerate(row):
                table.append(("   * - " if number == 0 else "     - ") + cell)
        node = nodes.container()
        self.state.nested_parse(StringList(table, source="tournament families"), 0, node)
        return node.children


def setup(app):
    """Registers the directives."""
    app.add_directive("lines-table", LinesTable)
    app.add_directive("policies-table", PoliciesTable)
    app.add_directive("families-table", FamiliesTable)
    return {"parallel_read_safe": True}
