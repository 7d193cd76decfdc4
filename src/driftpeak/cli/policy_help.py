"""`--help` of the commands that play policies: it ends with all of them, as they are now."""

from typing import Any

from typer.core import TyperCommand


class CommandWithPolicies(TyperCommand):
    """A command whose help lists policies and widths, which are loaded only then."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the usual help, then the tables."""
        from driftpeak.named.policies import policy_lines, width_lines

        super().format_help(ctx, formatter)
        for title, lines in (("Policies", policy_lines()), ("Widths", width_lines())):
            with formatter.section(title):
                rows = [
                    (line.name, f"{line.summary} [{', '.join(line.parameters)}]".replace(" []", ""))
                    for line in lines
                ]
                formatter.write_dl(rows)
