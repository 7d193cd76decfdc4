"""Tables written from the source: names of the command line, families of the tournament."""

import re

from docutils import nodes
from docutils.parsers.rst import Directive
from docutils.statemachine import StringList


def table(directive, rows, source, widths="auto"):
    """Return the nodes of a table, whose first row is the header."""
    lines = [".. list-table::", "   :header-rows: 1", f"   :widths: {widths}", ""]
    for row in rows:
        for number, cell in enumerate(row):
            cell = re.sub(r"\\\((.+?)\\\)", r":math:`\1`", cell)
            lines.append(("   * - " if number == 0 else "     - ") + cell)
    node = nodes.container()
    directive.state.nested_parse(StringList(lines, source=source), 0, node)
    return node.children


class LinesTable(Directive):
    """`{lines-table} policies` or `widths`: a row for every name of the command line."""

    required_arguments = 1
    has_content = False

    def run(self):
        from driftpeak.offline._policy_specs.policies import tables

        rows = [("name", "parameters, with defaults", "description")]
        for line in tables()[self.arguments[0]]:
            given = ", ".join(f"``{one}``" for one in line.parameters)
            rows.append((f"``{line.name}``", given, line.summary))
        return table(self, rows, "names of the command line", "15 35 50")


class EnvironmentsTable(Directive):
    """`{environments-table}`: a row for every environment of the catalogue."""

    has_content = False

    def run(self):
        import driftpeak
        from driftpeak.environments.catalogue import entries

        rows = [("the function", "environment", "``driftpeak compare --environment``")]
        for entry in sorted(entries(), key=lambda entry: entry.make.__name__):
            name = entry.make.__name__
            module = "driftpeak" if hasattr(driftpeak, name) else "driftpeak.environments"
            given = f"``{entry.name}``" if entry.name else ""
            rows.append((entry.change, f":class:`~{module}.{name}`", given))
        return table(self, rows, "catalogue of environments")


class PoliciesTable(Directive):
    """`{policies-table}`: a row for every policy of the catalogue."""

    has_content = False

    def run(self):
        import driftpeak
        from driftpeak.policies.catalogue import entries

        rows = [("policy", "observations that it keeps", "published width", "parameter by theory")]
        for entry in sorted(entries(), key=lambda entry: entry.make.__name__.casefold()):
            name = entry.make.__name__
            assert getattr(driftpeak, name) is entry.make, f"{name} is not exported"
            role = "class" if isinstance(entry.make, type) else "func"
            rows.append((f":{role}:`~driftpeak.{name}`", entry.memory, entry.width, entry.schedule))
        return table(self, rows, "catalogue of policies")


class FamiliesTable(Directive):
    """`{families-table}`: the grid of every family of the tournament, from its source."""

    has_content = False

    def run(self):
        from driftpeak.experiments.tournament.players import PUBLISHED

        rows = [("family", "parameter", "values", "widths", "settings")]
        for family in PUBLISHED.families:
            own = "of the policy" if family.wide_only or not family.values else "wide, narrow"
            values = ", ".join(f"{value:g}" for value in family.values)
            rows.append((family.name, family.parameter, values, own, str(len(family.settings))))
        rows.append(
            ("all", "", "", "", str(sum(len(family.settings) for family in PUBLISHED.families)))
        )
        return table(self, rows, "tournament families")


def setup(app):
    """Registers the directives."""
    app.add_directive("lines-table", LinesTable)
    app.add_directive("environments-table", EnvironmentsTable)
    app.add_directive("policies-table", PoliciesTable)
    app.add_directive("families-table", FamiliesTable)
    return {"parallel_read_safe": True}
