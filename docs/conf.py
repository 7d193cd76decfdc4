"""Sphinx settings: Markdown pages by MyST, the reference from the docstrings, examples that run."""

import os
import re
import sys
from importlib.metadata import version as installed_version
from pathlib import Path

# the examples mostly compile: programs that are optimised less take half the time
flags = ["--xla_backend_optimization_level=0"]
if tuple(map(int, installed_version("jaxlib").split(".")[:2])) < (0, 10):
    flags.append("--xla_cpu_use_fusion_emitters=false")  # later ones know it no more
os.environ.setdefault("XLA_FLAGS", " ".join(flags))
os.environ.setdefault("JAX_PLATFORMS", "cpu")

sys.path.insert(0, str(Path(__file__).parent))  # for the extensions in this folder

project = "driftpeak"
author = "the driftpeak developers"
copyright = author
version = release = installed_version("driftpeak")

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
    "sphinx_gallery.gen_gallery",
    "extensions.formulas",
    "extensions.tables",
    "extensions.reference",
    "extensions.papers",
]
# what the gallery writes beside its pages
exclude_patterns = ["_build", "gallery/**/*.py", "gallery/**/*.ipynb", "gallery/**/*.md5"]
myst_enable_extensions = ["amsmath", "colon_fence", "dollarmath"]
myst_heading_anchors = 3  # pages may link to each other's headings
html_math_renderer = "mathml"
default_role = "py:obj"  # a name in a docstring leads to what it names, if that is on a page

autodoc_member_order = "bysource"
autodoc_typehints = "description"  # shapes make signatures too long to read
napoleon_numpy_docstring = False

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "subsection_order": [
        "../examples/running_system",
        "../examples/my_data",
        "../examples/research",
    ],
    "filename_pattern": r"\.py$",  # all of them run
    "image_scrapers": ("extensions.figures.save_figures",),
    "capture_repr": (),
    "run_stale_examples": True,  # the library may have changed where an example has not
    "only_warn_on_example_error": True,  # which fails the build, after all others have run
    "write_computation_times": False,
    "show_signature": False,
    "min_reported_time": 10**6,
    "remove_config_comments": True,
    "parallel": 2,  # processes
    "backreferences_dir": None,
}

html_theme = "furo"
html_title = "driftpeak"
html_static_path = ["static"]
html_css_files = ["driftpeak.css"]


def setup(app):
    """Docstrings have formulas as \\( ... \\) and \\[ ... \\], which reads well in plain text."""

    def in_a_line(found):
        return f":math:`{' '.join(found[1].split())}`"

    def on_its_own(found):
        return f"\n.. math:: {' '.join(found[1].split())}\n"

    def to_math(app, what, name, obj, options, lines):
        text = re.sub(r"\\\((.+?)\\\)", in_a_line, "\n".join(lines), flags=re.S)
        text = re.sub(r"^\\\[(.+?)\\\]$", on_its_own, text, flags=re.S | re.M)
        lines[:] = text.split("\n")

    app.connect("autodoc-process-docstring", to_math)
