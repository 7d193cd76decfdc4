"""Formulas as MathML, which browsers draw themselves: no script, no font, no network.

Docutils translates the LaTeX; what it does not know is an error with its place.
"""

from docutils import nodes
from docutils.utils.math import MathError, toplevel_code
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.util import logging

logger = logging.getLogger(__name__)
LONG = 50  # characters of LaTeX


def visit_inline(self, node):
    """A formula in a line; one that is longer than a phone is wide scrolls by itself."""
    kind = "math long" if len(node.astext()) > LONG else "math"
    self.body.append(self.starttag(node, "span", "", CLASS=kind))
    self.body.append(_mathml(node, node.astext(), as_block=False) + "</span>")
    raise nodes.SkipNode


def visit_block(self, node):
    """A formula on lines of its own."""
    self.body.append(self.starttag(node, "div", CLASS="math"))
    source = node.astext()
    if r"\\" in toplevel_code(source):  # several lines, aligned where & stands
        source = rf"\begin{{align*}}{source}\end{{align*}}"
    self.body.append(_mathml(node, source, as_block=True) + "</div>\n")
    raise nodes.SkipNode


def _mathml(node, source, as_block):
    try:
        return tex2mathml(source, as_block=as_block)
    except MathError as error:
        logger.warning("formula %r: %s", source, error, location=node)
        return ""


def setup(app):
    """Registers the renderer."""
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_block, None))
    return {"parallel_read_safe": True}
