"""Figures to files: the same figure gives the same bytes, whole or not at all."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import matplotlib.style
from matplotlib.figure import Figure

from mlxdecoder.errors import UserError
from mlxdecoder.files import write_bytes

DOTS_PER_INCH = 200
# Without these, the program's version and the time of day would be written into the file.
METADATA: dict[str, dict[str, Any]] = {
    "png": {"Software": None},
    "svg": {"Creator": None, "Date": None},
    "pdf": {"Creator": None, "Producer": None, "CreationDate": None},
}
# Glyphs as outlines (SVG) or embedded (PDF), so that the tokens look the same on a machine without the fonts.
TRAVELLING = {"svg.fonttype": "path", "svg.hashsalt": "mlxdecoder", "svg.image_inline": True, "pdf.fonttype": 42}


def save_figure(figure: Figure, path: Path | str) -> None:
    """Write `figure` as PNG (200 dots per inch), SVG or PDF, by the ending of `path`.

    Raises `UserError` for another ending.
    """
    path = Path(path)
    kind = path.suffix.lower().removeprefix(".")
    if kind not in METADATA:
        raise UserError(f"Cannot save a figure as {path.name!r}: the name must end in .png, .svg or .pdf.")
    data = io.BytesIO()
    with matplotlib.style.context(["default", TRAVELLING]):
        figure.savefig(data, format=kind, dpi=DOTS_PER_INCH, metadata=METADATA[kind], facecolor="white")
    write_bytes(path, data.getvalue())
