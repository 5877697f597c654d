"""Heatmaps and curves for scripts, notebooks and papers, as matplotlib figures without pyplot: no state, no window.

Needs the extra `plot`. Weights are painted raw; the intended mask is an outline over them, and what lies outside it is
flagged.
"""

from mlxdecoder.errors import UserError

try:
    import matplotlib as _matplotlib  # noqa: F401
except ImportError:
    raise UserError("Figures need matplotlib, which is not installed: pip install 'mlxdecoder[plot]'") from None

from mlxdecoder.figures.curves import curves_figure
from mlxdecoder.figures.heatmaps import attention_figure, comparison_figure
from mlxdecoder.figures.recall import recall_figure, toys_figure
from mlxdecoder.figures.saving import save_figure
from mlxdecoder.figures.twins import Course, twins_figure

__all__ = [
    "Course",
    "attention_figure",
    "comparison_figure",
    "curves_figure",
    "recall_figure",
    "save_figure",
    "toys_figure",
    "twins_figure",
]
