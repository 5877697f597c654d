"""A figure that shows itself as the last line of a notebook's cell, without pyplot and whatever its back end is."""

from __future__ import annotations

import base64
import io

from matplotlib.figure import Figure


class ShownFigure(Figure):
    """matplotlib's figure, with a picture of itself for notebooks."""

    def _repr_html_(self) -> str:
        picture = io.BytesIO()
        self.savefig(picture, format="png", dpi=150)
        data = base64.b64encode(picture.getvalue()).decode()
        return f'<img src="data:image/png;base64,{data}" alt="figure" style="max-width: 100%">'
