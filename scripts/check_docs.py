"""Check built pages without a network: `python scripts/check_docs.py docs/_build`.

- Every internal link has a page, and every anchor a target on it.
- No page loads scripts, styles or images from other sites.
- Names in `backticks` that look like code exist in driftpeak, or are in `OTHERS`.
- The reference has every public name.

`make links` checks links to other sites.
"""

import ast
import builtins
import importlib
import keyword
import re
import sys
from collections.abc import Iterator, Set as AbstractSet
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

from sphinx.util.inventory import InventoryFile

ROOT = Path(__file__).parents[1]
SOURCES = ("src", "benchmarks", "examples", "scripts", "tests")
OTHERS = Path(__file__).parent / "names-of-others.txt"
PACKAGES = (
    "driftpeak",
    "driftpeak.inference.imm",
    "driftpeak.inference.beliefs",
    "driftpeak.offline.data",
    "driftpeak.environments",
    "driftpeak.offline.history",
    "driftpeak.inference.fitting",
    "driftpeak.live",
    "driftpeak.offline.logs",
    "driftpeak.plots",
    "driftpeak.policies",
    "driftpeak.offline.replay",
)
"""Packages whose `__all__` lists public names."""
BY_MACHINE = ("_modules", "_static", "genindex", "search", "py-modindex", "gallery/backreferences")
"""Generated pages: source code and indices."""
DOTTED = re.compile(r"(?:dp|driftpeak)(?:\.[A-Za-z]\w*)+")
NAME = re.compile(r"[A-Za-z_]\w*")


class Page(HTMLParser):
    """Parser that collects a page's links, anchors, loaded files and inline code."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.anchors: set[str] = set()
        self.loaded: list[str] = []
        self.code: list[str] = []
        self.blocks = ""
        self._inside = 0  # depth of inline code
        self._block = 0
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.anchors |= {given[name] for name in ("id", "name") if name in given}
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        elif tag == "link" and given.get("rel") in ("stylesheet", "icon", "preload"):
            self.loaded.append(given["href"])
        elif "src" in given:
            self.loaded.append(given["src"])
        self._block += tag == "pre"
        if tag == "code" and "literal" in given.get("class", ""):
            self._inside += 1
            self.code.append("")

    def handle_endtag(self, tag: str) -> None:
        if tag == "code" and self._inside:
            self._inside -= 1
        self._block -= tag == "pre"

    def handle_data(self, data: str) -> None:
        if self._inside:
            self.code[-1] += data
        if self._block:
            self.blocks += data


def pages(folder: Path) -> dict[Path, Page]:
    """Return every page below a folder by its full path."""
    return {path.resolve(): Page(path.read_text()) for path in sorted(folder.rglob("*.html"))}


def broken_links(found: dict[Path, Page]) -> Iterator[str]:
    """Yield internal links without a target."""
    for path, page in found.items():
        if "_modules" in path.parts:  # viewcode's links are wrong for a name with two modules
            continue
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            place = unquote(parts.path)
            target = (path.parent / place).resolve() if place else path
            anchor = unquote(parts.fragment)
            if not target.exists():
                yield f"{path.name}: {link} has no file"
            elif anchor and target in found and anchor not in found[target].anchors:
                yield f"{path.name}: {link} has no anchor on its page"


def loaded_from_elsewhere(found: dict[Path, Page]) -> Iterator[str]:
    """Yield files that a page loads from other sites, or that are missing."""
    for path, page in found.items():
        for address in page.loaded:
            parts = urlsplit(address)
            if parts.scheme == "data":
                continue
            if parts.scheme or parts.netloc:
                yield f"{path.name}: loads {address} from another site"
            elif not (path.parent / unquote(parts.path)).exists():
                yield f"{path.name}: {address} is missing"


def unknown_names(found: dict[Path, Page], folder: Path) -> Iterator[str]:
    """Yield names in inline code that do not exist."""
    known = vocabulary()
    for path, page in found.items():
        if str(path.relative_to(folder.resolve())).startswith(BY_MACHINE):
            continue
        own = set(NAME.findall(page.blocks))  # names of the page's examples
        for text in page.code:
            for name in misspelt(text, known | own):
                yield f"{path.name}: `{text}`: there is no {name}"


def misspelt(text: str, known: AbstractSet[str]) -> list[str]:
    """Return names in a piece of code that look like names of driftpeak but do not exist.

    Names after `dp.` and `driftpeak.` must be importable. In other code, words with inner capitals
    or underscores, and words that are called, must be known.
    """
    wrong = [name for name in DOTTED.findall(text) if not importable(name)]
    for match in re.finditer(r"(?<![\w/\\-])[A-Za-z_]\w*(?![\w/-]|\.\w+/)", text):
        name, called = match.group(), text[match.end() :][:1] == "("
        is_code = re.search(r"[a-z][A-Z]|[A-Za-z]_[A-Za-z]", name) or called
        if is_code and name not in known:
            wrong.append(name)
    return wrong


def importable(dotted: str) -> bool:
    """Return whether `dp.a.b` can be imported."""
    first, *names = dotted.split(".")
    assert first in ("dp", "driftpeak")
    value, path = importlib.import_module("driftpeak"), "driftpeak"
    for name in names:
        path += f".{name}"
        if hasattr(value, name):
            value = getattr(value, name)
            continue
        try:
            value = importlib.import_module(path)
        except ImportError:
            return False
    return True


@cache
def vocabulary() -> frozenset[str]:
    """Return all names defined in our code, names of Python, and names of other packages."""
    known = {*dir(builtins), *keyword.kwlist, *OTHERS.read_text().split()}
    for path in (file for folder in SOURCES for file in (ROOT / folder).rglob("*.py")):
        known |= {path.stem, path.parent.name}
        texts = "tests" not in path.parts  # tests contain intentionally wrong names
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef | ast.FunctionDef):
                known.add(node.name)
            elif isinstance(node, ast.arg):
                known.add(node.arg)
            elif isinstance(node, ast.Name):
                known.add(node.id)
            elif isinstance(node, ast.Attribute):
                known.add(node.attr)
            elif isinstance(node, ast.alias):
                known |= set((node.asname or node.name).split("."))
            elif isinstance(node, ast.keyword) and node.arg:
                known.add(node.arg)
            elif isinstance(node, ast.Constant) and texts and NAME.fullmatch(str(node.value)):
                known.add(str(node.value))  # variables of datasets, keys of summaries
    return frozenset(known)


def missing_in_reference(folder: Path) -> Iterator[str]:
    """Yield public names that are not in the reference."""
    inventory = InventoryFile.loads((folder / "objects.inv").read_bytes(), uri="")
    written = {
        name for kind in inventory.data if kind.startswith("py:") for name in inventory.data[kind]
    }
    known = {id(value) for name in written if (value := resolved(name)) is not None}
    for package in PACKAGES:
        module = importlib.import_module(package)
        for name in module.__all__:
            value = getattr(module, name)
            if f"{package}.{name}" not in written and id(value) not in known:
                yield f"the reference lacks {package}.{name}"


def resolved(dotted: str) -> object | None:
    """Return the object of a full name, or None."""
    parts = dotted.split(".")
    for cut in range(len(parts), 0, -1):
        module = sys.modules.get(".".join(parts[:cut]))
        if module is None:
            continue
        value: object = module
        for name in parts[cut:]:
            if not hasattr(value, name):
                return None
            value = getattr(value, name)
        return value
    return None


def main(folder: Path) -> int:
    """Print all errors, and return their number."""
    found = pages(folder)
    wrong = [
        *broken_links(found),
        *loaded_from_elsewhere(found),
        *unknown_names(found, folder),
        *missing_in_reference(folder),
    ]
    for line in dict.fromkeys(wrong):
        print(line)
    print(f"{len(found)} pages checked: {len(set(wrong)) or 'no'} errors")
    return len(wrong)


if __name__ == "__main__":
    sys.exit(bool(main(Path(sys.argv[1]))))
