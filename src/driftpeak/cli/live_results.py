"""Results of `driftpeak live` as JSON."""

import json
from typing import TYPE_CHECKING, Any

from driftpeak._core.files import json_ready

if TYPE_CHECKING:
    from driftpeak.live import EstimatedPeak, Suggestion


def print_json(content: Any) -> None:
    """Print data as JSON."""
    print(json.dumps(json_ready(content), indent=2, allow_nan=False))


def suggestion_data(suggestion: "Suggestion") -> dict[str, Any]:
    """Return the data of a suggestion."""
    chances: dict[str, Any] = {}
    if suggestion.chances:
        chances = {"chances": suggestion.chances, "feasible": suggestion.feasible}
    return {"id": suggestion.id, **setting_data(suggestion), "hold": suggestion.hold, **chances}


def setting_data(setting: "Suggestion | EstimatedPeak") -> dict[str, Any]:
    """Return the data of a setting with its time and context."""
    context = {"context": setting.context} if setting.context else {}
    return {"time": setting.time, "parameters": dict(setting), **context}
