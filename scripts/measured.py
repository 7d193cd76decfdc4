"""Write src/driftpeak/theory/measured.csv from the regrets in tournament-cases.md.

    python scripts/measured.py

Run it after each update of that page: `driftpeak plan` reports these numbers.
"""

import math
from pathlib import Path

from driftpeak.theory.measured import NO_BETTER

HERE = Path(__file__).parents[1] / "docs"
FILE = HERE.parent / "src" / "driftpeak" / "theory" / "measured.csv"
NAMES = {
    "auto": "auto", "GP-UCB": "gp-ucb", "IGP-UCB": "igp-ucb", "R-GP-UCB": "r-gp-ucb",
    "SW-GP-UCB": "sw-gp-ucb", "TV-GP-UCB": "tv-gp-ucb", "WGP-UCB": "w-gp-ucb",
    "UI-GP-UCB": "ui-gp-ucb", "R-PERP": "r-perp", "OPKB with restarts": "opkb",
    "ADA-OPKB": "ada-opkb", "RExp3": "rexp3",
    "ET-GP-UCB": "et-gp-ucb", "ABO": "abo",
}  # fmt: skip


def table(page: str) -> str:
    """Return the CSV file from the text of the page; theory's value precedes the slash."""
    heading = "### Regret per step: theory's parameter / best parameter in hindsight"
    lines = page.split(heading)[1].split("###")[0].splitlines()
    rows = [
        [cell.strip() for cell in line.strip("| ").split("|")]
        for line in lines
        if line.startswith("|")
    ]
    head, cases = rows[0], rows[2:]
    random = [float(case[head.index("random")]) for case in cases]
    text = "policy,share,no_better,cases\n"
    for name, policy in NAMES.items():
        column = head.index(name)
        ratios = [
            float(case[column].split("/")[0]) / chance
            for case, chance in zip(cases, random, strict=True)
        ]
        share = math.exp(sum(map(math.log, ratios)) / len(ratios))
        no_better = sum(ratio >= NO_BETTER for ratio in ratios)
        text += f"{policy},{share:.3f},{no_better},{len(ratios)}\n"
    return text


if __name__ == "__main__":
    FILE.write_text(table((HERE / "tournament-cases.md").read_text()))
