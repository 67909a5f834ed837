"""Formulas as MathML, which browsers show by themselves: no network, no script."""

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml


def visit_inline(writer, node):
    """Write a formula within a line."""
    writer.body.append(tex2mathml(node.astext()))
    raise nodes.SkipNode


def visit_block(writer, node):
    """Write a formula on a line of its own."""
    formula = tex2mathml(node.astext(), as_block=True)
    writer.body.append(f'<div class="formula">{formula}</div>')
    raise nodes.SkipNode


def setup(app):
    """Register the renderer for ``html_math_renderer = "mathml"``."""
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
