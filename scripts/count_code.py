"""Count lines of code per package: without blank lines, comments, docstrings and top-level imports.

python scripts/count_code.py [FOLDER]      # default: src/driftpeak
"""

import ast
import sys
import tokenize
from collections import Counter
from pathlib import Path

NOT_CODE = {
    tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT,
    tokenize.ENCODING, tokenize.ENDMARKER,
}  # fmt: skip
DOCUMENTED = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def lines_of_code(path: Path) -> int:
    """Return the number of lines of a file that hold code."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    left_out = {line for node in _left_out(tree) for line in _lines(node)}
    with path.open("rb") as file:
        code = {
            line
            for token in tokenize.tokenize(file.readline)
            if token.type not in NOT_CODE
            for line in range(token.start[0], token.end[0] + 1)
        }
    return len(code - left_out)


def _left_out(tree: ast.Module) -> list[ast.stmt]:
    """Return docstrings, also those below attributes, and top-level imports."""
    left_out: list[ast.stmt] = [n for n in tree.body if isinstance(n, ast.Import | ast.ImportFrom)]
    for node in ast.walk(tree):
        if isinstance(node, DOCUMENTED):
            left_out += [
                child
                for child in node.body
                if isinstance(child, ast.Expr)
                and isinstance(child.value, ast.Constant)
                and isinstance(child.value.value, str)
            ]
    return left_out


def _lines(node: ast.stmt) -> range:
    return range(node.lineno, (node.end_lineno or node.lineno) + 1)


def count(root: Path) -> Counter[str]:
    """Return the lines of code of every package and module of a folder."""
    lines: Counter[str] = Counter()
    for path in sorted(root.rglob("*.py")):
        lines[path.relative_to(root).parts[0]] += lines_of_code(path)
    return lines


if __name__ == "__main__":
    root = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parents[1] / "src/driftpeak"
    counted = count(root)
    for name, lines in counted.most_common():
        print(f"{lines:7,}  {name}")
    print(f"{sum(counted.values()):7,}  total")
