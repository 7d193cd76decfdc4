"""Write `names.json`, from which the command line's help is generated."""

from pathlib import Path

from driftpeak.offline._policy_specs.lines import FILE, as_text
from driftpeak.offline._policy_specs.policies import tables

if __name__ == "__main__":
    Path(__file__).with_name(FILE).write_text(as_text(tables()), encoding="utf-8")
