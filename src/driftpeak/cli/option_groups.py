"""Groups of options: a command may take a dataclass whose fields become options.

@dataclass(frozen=True)
class Size:
    trials: Annotated[int, typer.Option(help="Number of independent trials.")] = 20
    seed: Annotated[int, typer.Option(help="Random seed.")] = 0

@app.command()
@bundled
def play(size: Size) -> None: ...     # play --trials 5 --seed 3
"""

import dataclasses
import inspect
from collections.abc import Callable
from inspect import Parameter
from typing import Any, get_type_hints


def bundled(command: Callable[..., None]) -> Callable[..., None]:
    """Replace the dataclass parameters of a command by their fields, for Typer."""
    hints = get_type_hints(command, include_extras=True)
    bundles = {name: hint for name, hint in hints.items() if dataclasses.is_dataclass(hint)}

    def run(**given: Any) -> None:
        for name, bundle in bundles.items():
            own = [field.name for field in dataclasses.fields(bundle)]
            given[name] = bundle(**{field: given.pop(field) for field in own})  # type: ignore[operator]
        command(**given)

    parameters: list[Parameter] = []
    for name, parameter in inspect.signature(command).parameters.items():
        if name in bundles:
            parameters += _fields(bundles[name])
        else:
            replaced = parameter.replace(annotation=hints[name], kind=Parameter.KEYWORD_ONLY)
            parameters.append(replaced)
    run.__name__, run.__doc__ = command.__name__, command.__doc__
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return run


def _fields(bundle: Any) -> list[Parameter]:
    hints = get_type_hints(bundle, include_extras=True)
    return [
        Parameter(
            field.name,
            Parameter.KEYWORD_ONLY,
            default=Parameter.empty if field.default is dataclasses.MISSING else field.default,
            annotation=hints[field.name],
        )
        for field in dataclasses.fields(bundle)
    ]
