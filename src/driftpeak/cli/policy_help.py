"""`--help` of the commands that run policies; it ends with tables of all policies and widths."""

from typing import Any

from typer.core import TyperCommand

from driftpeak.offline._policy_specs.lines import Line, lines


class CommandWithPolicies(TyperCommand):
    """A command whose help lists policies and widths."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the usual help, then the tables."""
        super().format_help(ctx, formatter)
        for title in ("policies", "widths"):
            with formatter.section(title.capitalize()):
                formatter.write_dl([(line.name, _meaning(line)) for line in lines(title)])


def _meaning(line: Line) -> str:
    parameters = ", ".join(map(str, line.parameters))
    return f"{line.summary} [{parameters}]" if parameters else line.summary
