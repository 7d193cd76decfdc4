"""Check built pages, without a network: `python scripts/check_docs.py docs/_build`.

- Every link within the pages leads to a page, and every anchor to a place on it.
- No page needs anything from elsewhere: scripts, styles, pictures.
- Names in `backticks` that look like names of code exist in driftpeak, or are among `OTHERS`.
- The reference has every public name.

Links to other sites are checked on request: `make links`.
"""

import ast
import builtins
import importlib
import keyword
import re
import sys
from collections.abc import Iterator
from collections.abc import Set as AbstractSet
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
    "driftpeak.plots",
    "driftpeak.policies",
    "driftpeak.offline.replay",
)
"""Whose `__all__` says what is public."""
BY_MACHINE = ("_modules", "_static", "genindex", "search", "py-modindex", "gallery/backreferences")
"""Pages that nobody wrote: source code, indices."""
DOTTED = re.compile(r"(?:dp|driftpeak)(?:\.[A-Za-z]\w*)+")
NAME = re.compile(r"[A-Za-z_]\w*")


class Page(HTMLParser):
    """What a page links to, can be linked at, loads, and shows as code within its text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.anchors: set[str] = set()
        self.loaded: list[str] = []
        self.code: list[str] = []
        self.blocks = ""
        self._inside = 0  # of code in a line
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
    """Every page below a folder, by its full path."""
    return {path.resolve(): Page(path.read_text()) for path in sorted(folder.rglob("*.html"))}


def broken_links(found: dict[Path, Page]) -> Iterator[str]:
    """Links within the pages that lead nowhere."""
    for path, page in found.items():
        if "_modules" in path.parts:  # viewcode's: where a name has two modules, it errs
            continue
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            place = unquote(parts.path)
            target = (path.parent / place).resolve() if place else path
            anchor = unquote(parts.fragment)
            if not target.exists():
                yield f"{path.name}: {link} leads to no file"
            elif anchor and target in found and anchor not in found[target].anchors:
                yield f"{path.name}: {link} leads to no place on its page"


def loaded_from_elsewhere(found: dict[Path, Page]) -> Iterator[str]:
    """What a page cannot show without a network, or does not find."""
    for path, page in found.items():
        for address in page.loaded:
            parts = urlsplit(address)
            if parts.scheme == "data":
                continue
            if parts.scheme or parts.netloc:
                yield f"{path.name}: loads {address} from elsewhere"
            elif not (path.parent / unquote(parts.path)).exists():
                yield f"{path.name}: {address} is missing"


def unknown_names(found: dict[Path, Page], folder: Path) -> Iterator[str]:
    """Code within the text that names what does not exist."""
    known = vocabulary()
    for path, page in found.items():
        if str(path.relative_to(folder.resolve())).startswith(BY_MACHINE):
            continue
        own = set(NAME.findall(page.blocks))  # a page may speak of its example's names
        for text in page.code:
            for name in misspelt(text, known | own):
                yield f"{path.name}: `{text}`: there is no {name}"


def misspelt(text: str, known: AbstractSet[str]) -> list[str]:
    """Names in a piece of code that look like names of driftpeak's, and are none.

    `dp.` and `driftpeak.` must lead to something that can be imported. Of other code, words with
    capitals inside or with underscores, and words that are called, must be known.
    """
    wrong = [name for name in DOTTED.findall(text) if not importable(name)]
    for one in re.finditer(r"(?<![\w/\\-])[A-Za-z_]\w*(?![\w/-]|\.\w+/)", text):
        name = one.group()
        telling = re.search(r"[a-z][A-Z]|[A-Za-z]_[A-Za-z]", name) or text[one.end() :][:1] == "("
        if telling and name not in known:
            wrong.append(name)
    return wrong


def importable(dotted: str) -> bool:
    """Whether `dp.a.b` is something."""
    first, *names = dotted.split(".")
    assert first in ("dp", "driftpeak")
    found, path = importlib.import_module("driftpeak"), "driftpeak"
    for name in names:
        path += f".{name}"
        if hasattr(found, name):
            found = getattr(found, name)
            continue
        try:
            found = importlib.import_module(path)
        except ImportError:
            return False
    return True


@cache
def vocabulary() -> frozenset[str]:
    """Every name that our code gives to something, Python's own, and those of others."""
    known = {*dir(builtins), *keyword.kwlist, *OTHERS.read_text().split()}
    for path in (one for folder in SOURCES for one in (ROOT / folder).rglob("*.py")):
        known |= {path.stem, path.parent.name}
        texts = "tests" not in path.parts  # there are wrong names there, on purpose
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
    """Public names of which the reference says nothing."""
    inventory = InventoryFile.loads((folder / "objects.inv").read_bytes(), uri="")
    written = {
        name for kind in inventory.data if kind.startswith("py:") for name in inventory.data[kind]
    }
    known = {id(one) for name in written if (one := resolved(name)) is not None}
    for package in PACKAGES:
        module = importlib.import_module(package)
        for name in module.__all__:
            one = getattr(module, name)
            if f"{package}.{name}" not in written and id(one) not in known:
                yield f"the reference lacks {package}.{name}"


def resolved(dotted: str) -> object | None:
    """What a full name means; None for what no attribute leads to."""
    parts = dotted.split(".")
    for cut in range(len(parts), 0, -1):
        module = sys.modules.get(".".join(parts[:cut]))
        if module is None:
            continue
        found: object = module
        for name in parts[cut:]:
            if not hasattr(found, name):
                return None
            found = getattr(found, name)
        return found
    return None


def main(folder: Path) -> int:
    """Prints what is wrong; returns how much."""
    found = pages(folder)
    wrong = [
        *broken_links(found),
        *loaded_from_elsewhere(found),
        *unknown_names(found, folder),
        *missing_in_reference(folder),
    ]
    for line in dict.fromkeys(wrong):
        print(line)
    print(f"{len(found)} pages checked: {len(set(wrong)) or 'nothing'} wrong")
    return len(wrong)


if __name__ == "__main__":
    sys.exit(bool(main(Path(sys.argv[1]))))
