"""The papers' items in `papers.toml`, and the docstrings and experiments that name them as source.

The last paragraph of a docstring may be `Source: B16 Theorem 4.3, (19)-(20); D22 (5), corrected.`
Parts between semicolons are references. A reference that begins with a paper's abbreviation lists
labels of that paper's items; other references are free text.
"""

import ast
import importlib
import re
import sys
import tomllib
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
STATUS = re.compile(r"proof device|data not available|not implemented: .+")
SOURCE = re.compile(r"^Source: (.+?)(?:\n\n|\Z)", re.M | re.S)
EQUATIONS = re.compile(r"\((\d+)\)-\((\d+)\)")
NUMBERS = re.compile(r"(\w+ )((?:\w+\.)?)(\d+)-\2(\d+)")
LETTERS = re.compile(r"(\w+ (\d+))([a-z])-\2([a-z])")
NUMBERED = re.compile(r"\(\d+\)|(?:Algorithm|Assumption|Claim|Corollary|Definition|Example|Figure|"
                      r"Lemma|Proposition|Remark|Table|Theorem) .+")  # fmt: skip


@dataclass
class Item:
    """An item of a paper, and the functions, tests and experiments that name it as source."""

    label: str
    content: str
    status: str = ""
    functions: list[str] = field(default_factory=list)
    tests: list[str] = field(default_factory=list)
    experiments: list[str] = field(default_factory=list)

    @property
    def targets(self):
        """All functions, tests and experiments."""
        return [*self.functions, *self.tests, *self.experiments]


@dataclass(frozen=True)
class Paper:
    """A paper: its items, and the labels that must be covered."""

    name: str
    title: str
    numbers: tuple[str, ...]
    items: tuple[Item, ...]

    def find(self, label):
        """Return the items that a label refers to.

        Raises:
            LookupError: the paper has no such item.
        """
        places = {part.lower(): item for item in self.items for part in parts(item.label)}
        wanted = parts(label)
        if unknown := [part for part in wanted if part.lower() not in places]:
            raise LookupError(f"{self.name} has no item {unknown[0]}")
        return list({id(one): one for one in (places[part.lower()] for part in wanted)}.values())


def parts(label):
    """Return the single labels in a range: `(1)-(3)`, `Lemmas 4.3-4.5` or `Figures 3c-3f`."""
    label = re.sub(r"^(\w+)s (?=\d)", r"\1 ", label)
    if found := EQUATIONS.fullmatch(label):
        return [f"({number})" for number in range(int(found[1]), int(found[2]) + 1)]
    if found := NUMBERS.fullmatch(label):
        kind, section, first, last = found.groups()
        return [f"{kind}{section}{number}" for number in range(int(first), int(last) + 1)]
    if found := LETTERS.fullmatch(label):
        return [found[1] + chr(code) for code in range(ord(found[3]), ord(found[4]) + 1)]
    return [label]


def papers(file=ROOT / "docs" / "papers.toml"):
    """Return the papers by abbreviation, without targets."""
    found = {}
    for name, table in tomllib.loads(file.read_text()).items():
        lines = ((label, [line] if isinstance(line, str) else line)
                 for label, line in table["items"].items())  # fmt: skip
        items = tuple(Item(label, *line) for label, line in lines)
        found[name] = Paper(name, table["title"], tuple(table["numbers"]), items)
    return found


def read(text, known):
    """Return the pairs (paper, label) in the text of a source.

    Raises:
        LookupError: a reference in free text that mentions a paper's abbreviation.
    """
    found = []
    for reference in " ".join(text.split()).rstrip(".").split("; "):
        name, _, labels = reference.partition(" ")
        if name in known:
            found += [(name, label) for label in labels.split(", ") if label != "corrected"]
        elif inside := set(re.findall(r"\w+", reference)) & set(known):
            raise LookupError(f"reference must begin with {inside.pop()}; got {reference!r}")
    return found


def docstrings(path):
    """Yield the qualified name and docstring of a module (name "") and of all that it defines."""

    def inside(node, name):
        if text := ast.get_docstring(node):
            yield name, text
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.ClassDef | ast.FunctionDef):
                yield from inside(child, f"{name}.{child.name}".strip("."))

    text = path.read_text()
    if "Source: " in text:
        yield from inside(ast.parse(text), "")


@cache
def public_name(module, name):
    """Return the shortest name under which an object can be imported."""
    own = importlib.import_module(module)
    if not name:
        return module
    first = name.partition(".")[0]
    packages = module.split(".")
    for length in range(1, len(packages)):
        package = ".".join(packages[:length])
        if getattr(sys.modules[package], first, None) is getattr(own, first):
            return f"{package}.{name}"
    return f"{module}.{name}"


def sources():
    """Yield the kind, name and text of every source: functions, tests, then experiments."""
    for path in sorted((ROOT / "src").rglob("*.py")):
        module = ".".join(path.relative_to(ROOT / "src").with_suffix("").parts)
        for name, text in docstrings(path):
            for found in SOURCE.findall(text):
                yield "functions", public_name(module.removesuffix(".__init__"), name), found
    for path in sorted((ROOT / "tests").rglob("*.py")):
        place = str(path.relative_to(ROOT / "tests"))
        for name, text in docstrings(path):
            for found in SOURCE.findall(text):
                yield "tests", f"{place}::{name}".removesuffix("::"), found
    from driftpeak.experiments.running.registry import EXPERIMENTS

    for experiment in EXPERIMENTS.values():
        yield "experiments", experiment.id, experiment.source


def assign(found, known):
    """Add targets to the items of the papers, and return an error for each wrong reference."""
    errors = []
    for kind, target, text in found:
        try:
            for name, label in read(text, known):
                for item in known[name].find(label):
                    if target not in getattr(item, kind):
                        getattr(item, kind).append(target)
        except LookupError as error:
            errors.append(f"{target}: {error}")
    return errors


def incomplete(paper):
    """Yield an error for each missing number, and for each item with a wrong or missing status."""
    wanted = {part for label in paper.numbers for part in parts(label)}
    here = [part for item in paper.items for part in parts(item.label)]
    for part in sorted(wanted - set(here)):
        yield f"{paper.name} {part} is missing in the items"
    for part in sorted(set(here) - wanted):
        if NUMBERED.fullmatch(part):
            yield f"{paper.name} {part} is missing in the numbers"
    for part in sorted({part for part in here if here.count(part) > 1}):
        yield f"{paper.name} {part} is listed twice"
    for item in paper.items:
        if item.targets and item.status:
            yield f"{paper.name} {item.label} has the status {item.status!r} and {item.targets[0]}"
        elif not item.targets and not STATUS.fullmatch(item.status):
            yield f"{paper.name} {item.label} has no function, test or experiment, and no status"


def coverage():
    """Return the papers with all targets, and the errors."""
    known = papers()
    errors = assign(sources(), known)
    return known, [*errors, *(error for paper in known.values() for error in incomplete(paper))]
