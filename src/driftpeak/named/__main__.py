"""`python -m driftpeak.named` writes `names.json`, which the command line's help is made of."""

from pathlib import Path

from driftpeak.named.lines import FILE, as_text
from driftpeak.named.policies import tables

if __name__ == "__main__":
    Path(__file__).with_name(FILE).write_text(as_text(tables()), encoding="utf-8")
