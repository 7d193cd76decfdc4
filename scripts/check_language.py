"""Report long sentences and words to avoid in pages.

python scripts/check_language.py [PAGE ...]      # all findings of these pages
python scripts/check_language.py                 # the number of findings of every page
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
LONGEST = 30  # words of a sentence
AVOIDED = (
    "anew", "but for", "as far as", "goes on", "brought", "the world says", "foretold",
    "comes round", "anybody", "nobody", "is told", "are told", "believes", "doubts", "looks at how",
    "in both", "such a one", "had no say", "house rules", "knobs",
)  # fmt: skip
GENERATED = {
    "tournament-cases.md", "simple-bandits.md", "field-cases.md", "verdicts.md", "changelog.md",
}  # fmt: skip
FENCE = re.compile(r"^(`{3,}|~{3,}|:{3,}|\$\$).*?^\1\s*$", re.M | re.S)
COMMENT = re.compile(r"<!--.*?-->", re.S)
SKIPPED = re.compile(r"^\s*(\||#|!\[|\(.*\)=|:|\[.*\]:)")
MATH, CODE = re.compile(r"\$[^$]+\$"), re.compile(r"`[^`]*`")
LINK = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")
ITEM = re.compile(r"^\s*([-*]|\d+\.)\s+")
END = re.compile(r"(?<=[.!?:;])\**\s+(?=[\"'*({A-Z0-9`])")


def pages() -> list[Path]:
    """Return all pages that are not generated."""
    files = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
    return [page for page in files if page.name not in GENERATED and "_build" not in page.parts]


def sentences(text: str) -> Iterator[str]:
    """Yield the sentences of a page, without code, formulas, tables and headings."""
    text = COMMENT.sub("", FENCE.sub("\n\n", text))
    for block in re.split(r"\n\s*\n", text):
        paragraphs = [""]
        for line in block.splitlines():
            if SKIPPED.match(line):
                continue
            if ITEM.match(line):
                paragraphs.append("")
            paragraphs[-1] += " " + ITEM.sub("", line)
        for paragraph in paragraphs:
            plain = LINK.sub(r"\1", MATH.sub("X", CODE.sub("X", paragraph)))
            yield from (part.strip() for part in END.split(plain) if part.strip())


def findings(page: Path) -> list[str]:
    """Return the findings of a page, one line each."""
    lines = []
    for sentence in sentences(page.read_text(encoding="utf-8")):
        words = len(re.findall(r"[\w'-]+", sentence))
        if words > LONGEST:
            lines.append(f"{words} words: {sentence}")
        lower = f" {sentence.lower()} "
        lines += [f"avoid '{word}': {sentence}" for word in AVOIDED if f" {word} " in lower]
    return lines


if __name__ == "__main__":
    if sys.argv[1:]:
        for name in sys.argv[1:]:
            for line in findings(Path(name)):
                print(f"{name}: {line}")
    else:
        counts = {page: len(findings(page)) for page in pages()}
        for page, number in counts.items():
            if number:
                print(f"{number:4}  {page.relative_to(ROOT)}")
        print(f"{sum(counts.values())} sentences of pages to improve")
