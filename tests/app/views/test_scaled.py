"""Heatmaps on a screen with two pixels for one: in a process of its own, as Qt reads the factor when it starts."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
SCRIPT = """
import numpy as np
from PySide6.QtWidgets import QApplication
from mlxdecoder.app.bridge import Bridge
from mlxdecoder.app.session.session import Session
from mlxdecoder.app.views.colours import scale_of
from mlxdecoder.app.views.grid import HeatmapGrid
from mlxdecoder.app.views.head import HeadView
from tests.app.views.pixels import colour_at, colour_of, corner_of
from tests.app.views.sessions import recorded, weights

app = QApplication([])
sent = []
session = Session(sent.append)
bridge = Bridge(session)
grid, view = HeatmapGrid(session, bridge), HeadView(session, bridge)
for widget in (grid, view):
    widget.resize(500, 420)
    widget.show()
values = weights(6, 5)
recorded(session, sent, cross=values)
scale = scale_of("weights", "wrong", 1.0)
small, panel = grid.grid_layout, view.panels["wrong"]
for (row, column), value in np.ndenumerate(values[0, 0]):
    assert colour_at(panel, corner_of(panel.map_layout.cells(row, column))) == colour_of(value, scale)
for place in ((0, 0, 0, 0), (1, 3, 5, 4), (0, 2, 2, 3)):
    corner = small.map(*place[:2])
    corner.translate(place[3] * small.cell, place[2] * small.cell)
    corner.setWidth(small.cell)
    corner.setHeight(small.cell)
    assert colour_at(grid, corner_of(corner)) == colour_of(values[place], scale)
print(grid.viewport().grab().width() / grid.viewport().width())
"""


@pytest.mark.parametrize("factor", ["1", "2", "1.5"])
def test_cells_have_the_colours_of_their_values_on_every_screen(factor: str) -> None:
    environment = {**os.environ, "QT_SCALE_FACTOR": factor, "QT_QPA_PLATFORM": "offscreen", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], env=environment, capture_output=True, text=True, timeout=120, cwd=ROOT.parent
    )
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) == pytest.approx(float(factor), abs=0.01)
