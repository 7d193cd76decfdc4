"""Storage of plays in a file with one line of JSON each, so that a benchmark can be resumed."""

import json
from pathlib import Path
from typing import Any

Key = tuple[str | int | float, ...]


class Kept:
    """Completed plays by key; without a file they are held only in memory."""

    def __init__(self, file: Path | None) -> None:
        self._file, self._found = file, dict[Key, dict[str, Any]]()
        if file is None or not file.exists():
            return
        text = file.read_text()
        whole = text[: text.rfind("\n") + 1]  # an incomplete last line is ignored
        if whole != text:
            file.write_text(whole)
        for line in whole.splitlines():
            row = json.loads(line)
            self._found[tuple(row["key"])] = row

    def get(self, key: Key) -> dict[str, Any] | None:
        return self._found.get(key)

    def keep(self, key: Key, row: dict[str, Any]) -> dict[str, Any]:
        row = {"key": list(key), **row}
        if self._file is not None:
            with self._file.open("a") as target:
                target.write(json.dumps(row) + "\n")
        self._found[key] = row
        return row
