"""Formulas as MathML, which browsers show by themselves: no network, no script."""

import re

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml


def mathml(text, **options):
    """Translate a formula; its fences stay as high as a line, and close to the rest."""
    fence = r'<mo stretchy="false" lspace="0" rspace="0">\1</mo>'
    return re.sub("<mo[^>]*>([{}|⌈⌉])</mo>", fence, tex2mathml(text, **options))


def visit_inline(writer, node):
    """Write a formula within a line."""
    writer.body.append(mathml(node.astext()))
    raise nodes.SkipNode


def visit_block(writer, node):
    """Write a formula on a line of its own."""
    formula = mathml(node.astext(), as_block=True)
    writer.body.append(f'<div class="formula">{formula}</div>')
    raise nodes.SkipNode


def setup(app):
    """Register the renderer for ``html_math_renderer = "mathml"``."""
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
