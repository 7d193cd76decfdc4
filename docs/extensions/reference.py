"""`{names} MODULE` and names below: what they are in a line each, then each in full.

Without names, all that the module lists in `__all__`, or else all public ones that it defines.
"""

import importlib
import inspect
import re
import sys
from typing import ClassVar, get_args

from docutils import nodes
from docutils.parsers.rst import Directive
from docutils.parsers.rst.directives import flag, unchanged_required
from docutils.statemachine import StringList
from sphinx.pycode import ModuleAnalyzer


class Names(Directive):
    """Reference entries for names of a module.

    With `:whole:` those of classes have what they inherit from others that are not public. With
    `:catalogue: MODULE`, the names are those of what is declared there and exported by the module.
    """

    required_arguments = 1
    has_content = True
    option_spec: ClassVar = {"whole": flag, "catalogue": unchanged_required}

    def run(self):
        module = importlib.import_module(self.arguments[0])
        if catalogue := self.options.get("catalogue"):
            entries = importlib.import_module(catalogue).entries()
            names = {entry.make.__name__ for entry in entries}
            chosen = sorted(name for name in names if name in module.__all__)
        else:
            chosen = " ".join(self.content).split() or public_names(module)
        lines = [f".. currentmodule:: {module.__name__}", ""]
        lines += [".. list-table::", "   :widths: auto", ""]
        for name in chosen:
            if not is_data(getattr(module, name)):
                lines += [f"   * - :py:obj:`{name}`", f"     - {in_short(getattr(module, name))}"]
        lines += [""]
        for name in chosen:
            lines += [*entry(module, name, whole="whole" in self.options), ""]
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


def in_short(one):
    """The first paragraph of its docstring, on one line."""
    text = " ".join((inspect.getdoc(one) or "").split("\n\n")[0].split())
    return re.sub(r"\\\((.+?)\\\)", r":math:`\1`", text)


def is_data(one):
    """Whether it is neither class nor function: a constant, or another word for types."""
    return not isinstance(one, type) and not inspect.isroutine(one)


def entry(module, name, whole=False):
    """The directive for one name."""
    one = getattr(module, name)
    if isinstance(one, type):
        return [
            f".. autoclass:: {name}",
            f"   :members: {', '.join(members(one)) * whole}".rstrip(),
        ]
    if not is_data(one):
        return [f".. autofunction:: {name}"]
    return [f".. py:data:: {name}", "", *(f"   {line}" for line in meaning(module, name))]


def members(one):
    """What a class and its bases in this package have: public and explained, in order."""
    own = [base for base in one.__mro__ if base.__module__.startswith("driftpeak.")]
    names = [name for base in own for name, what in vars(base).items() if inspect.getdoc(what)]
    return dict.fromkeys(name for name in names if not name.startswith("_"))


def meaning(module, name):
    """What stands below a constant where it is defined; of a choice of words, the words."""
    one = getattr(module, name)
    if choices := get_args(one):
        return ["One of " + ", ".join(f"``{choice!r}``" for choice in choices) + "."]
    for part in list(sys.modules.values()):
        part_name = getattr(part, "__name__", "")
        if part_name.startswith(module.__name__) and vars(part).get(name) is one:
            found = ModuleAnalyzer.for_module(part_name).find_attr_docs().get(("", name))
            if found:
                return found
    raise LookupError(f"{module.__name__}.{name} has no docstring below it")


def setup(app):
    """Registers the directive."""
    app.add_directive("names", Names)
    return {"parallel_read_safe": True}
