"""How Sphinx builds the documentation: `make docs`."""

from __future__ import annotations

import urllib.request
from typing import Any

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.util.logging import getLogger

import orthoboot

project = "orthoboot"
author = "The orthoboot developers"
project_copyright = author
release = version = orthoboot.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.intersphinx",
    "sphinx_copybutton",
    "sphinx_design",
]
exclude_patterns = ["_build", "paper/parts"]
# Blocks without a language hold what a program prints.
highlight_language = "text"
# Quotation marks in docstrings are those of strings.
smartquotes = False

myst_enable_extensions = ["colon_fence", "dollarmath"]
myst_heading_anchors = 3

# Formulas are written into the pages: a script that draws them would have to be fetched from elsewhere.
html_math_renderer = "mathml"
myst_update_mathjax = False

autosummary_generate = True
autodoc_typehints = "none"
default_role = "py:obj"
numpydoc_show_class_members = False
numpydoc_xref_param_type = False
# Prompts of doctests and of the shell are not copied.
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

templates_path = ["_templates"]
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_theme = "pydata_sphinx_theme"
html_title = f"orthoboot {release}"
html_show_sourcelink = False
html_theme_options = {
    "logo": {"text": "orthoboot"},
    "header_links_before_dropdown": 8,
    "navbar_align": "left",
    "secondary_sidebar_items": ["page-toc"],
    "show_toc_level": 2,
    "show_prev_next": True,
}
# Pages without pages below them have nothing to show beside them.
html_sidebars: dict[str, list[str]] = {page: [] for page in ("index", "start", "guide", "limits", "benchmarks")}

NEIGHBOURS = {
    "python": "https://docs.python.org/3/",
    "numpy": "https://numpy.org/doc/stable/",
    "scipy": "https://docs.scipy.org/doc/scipy/",
    "pandas": "https://pandas.pydata.org/docs/",
    "sklearn": "https://scikit-learn.org/stable/",
}
"""Whose documentation ours links to."""


def is_reachable(address: str, seconds: float = 5.0) -> bool:
    """Return whether a site has its inventory at hand."""
    try:
        with urllib.request.urlopen(address + "objects.inv", timeout=seconds):
            return True
    except OSError:
        return False


# Without a network the names of other libraries are plain text: a missing inventory is no mistake in a page.
intersphinx_mapping: dict[str, Any] = {
    name: (address, None) for name, address in NEIGHBOURS.items() if is_reachable(address)
}


def add_formula(translator: Any, node: nodes.Element) -> None:
    """Write a formula into the page as MathML."""
    try:
        translator.body.append(tex2mathml(node.astext(), as_block=isinstance(node, nodes.math_block)))
    except MathError as error:
        getLogger(__name__).warning("%s In: %s", error, node.astext(), location=node)
    raise nodes.SkipNode


def setup(app: Any) -> None:
    """Tell Sphinx how to write formulas."""
    app.add_html_math_renderer("mathml", inline_renderers=(add_formula, None), block_renderers=(add_formula, None))
