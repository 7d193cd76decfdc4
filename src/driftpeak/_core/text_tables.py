"""Tables as text, in Markdown and LaTeX."""

from collections.abc import Sequence

ESCAPES = {character: rf"\{character}" for character in "&%$#_{}"} | {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "±": r"$\pm$",
}

Cells = Sequence[Sequence[str]]


def markdown_table(cells: Cells, columns: str) -> str:
    """Return a table in Markdown.

    Arguments:
        cells: the header and the rows.
        columns: alignment of each column, "l" or "r".
    """
    head, *rows = cells
    lines = [head, ["---:" if column == "r" else "---" for column in columns], *rows]
    escaped = ([cell.replace("|", r"\|") for cell in line] for line in lines)
    return "\n".join(f"| {' | '.join(line)} |" for line in escaped)


def latex_table(cells: Cells, columns: str, caption: str) -> str:
    """Return a table in LaTeX, which needs the package booktabs; arguments as `markdown_table`."""
    head, *rows = (" & ".join(map(in_latex, line)) + r" \\" for line in cells)
    lines = [
        r"\begin{table}",
        rf"\caption{{{in_latex(caption)}}}",
        rf"\begin{{tabular}}{{{columns}}}",
        r"\toprule",
        head,
        r"\midrule",
        *rows,
        r"\bottomrule",
        r"\end{tabular}",
        r"\end{table}",
    ]
    return "\n".join(lines) + "\n"


def in_latex(text: str) -> str:
    """Return a text with the special characters of LaTeX escaped."""
    return "".join(ESCAPES.get(character, character) for character in text)
