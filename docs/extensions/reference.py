"""`{names} MODULE` and names below: what they are in a line each, then each in full.

Without names, all that the module lists in `__all__`, or else all public ones that it defines.
"""

import importlib
import inspect

from docutils import nodes
from docutils.parsers.rst import Directive
from docutils.statemachine import StringList


class Names(Directive):
    """Reference entries for names of a module."""

    required_arguments = 1
    has_content = True

    def run(self):
        module = importlib.import_module(self.arguments[0])
        chosen = " ".join(self.content).split() or public_names(module)
        lines = [f".. currentmodule:: {module.__name__}", ""]
        lines += [".. autosummary::", "   :nosignatures:", ""]
        lines += [f"   {name}" for name in chosen] + [""]
        for name in chosen:
            lines += [*entry(name, getattr(module, name)), ""]
        node = nodes.container()
        self.state.nested_parse(StringList(lines, source=module.__name__), 0, node)
        return node.children


def public_names(module):
    """Those of `__all__`, or what is defined here without an underscore."""
    if hasattr(module, "__all__"):
        return list(module.__all__)
    return [
        name
        for name, one in vars(module).items()
        if not name.startswith("_") and getattr(one, "__module__", None) == module.__name__
    ]


def entry(name, one):
    """The directive for one name."""
    if isinstance(one, type):
        return [f".. autoclass:: {name}", "   :members:"]
    if inspect.isroutine(one):
        return [f".. autofunction:: {name}"]
    return [f".. autodata:: {name}"]


def setup(app):
    """Registers the directive."""
    app.add_directive("names", Names)
    return {"parallel_read_safe": True}
