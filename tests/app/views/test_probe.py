"""The probe sentence over a training."""

from __future__ import annotations

import numpy as np
import pytest
from PySide6.QtWidgets import QLabel, QSlider
from pytestqt.qtbot import QtBot

from mlxdecoder.app.bridge import Bridge
from mlxdecoder.app.protocol import Message
from mlxdecoder.app.session.session import Session
from mlxdecoder.app.views.colours import LEVELS, TABLES
from mlxdecoder.app.views.probe import ProbeView
from tests.app.views.teaching import begin, probe_of

LEGAL = np.tril(np.ones((4, 4), np.float32)) / np.arange(1, 5, dtype=np.float32)[:, None]


def heads(matrix: np.ndarray, layers: int = 1, n_heads: int = 1) -> np.ndarray:
    return np.tile(matrix.astype(np.float32), (layers, n_heads, 1, 1))


@pytest.fixture
def view(qtbot: QtBot, session: Session, bridge: Bridge, sent: list[Message]) -> ProbeView:
    view = ProbeView(session, bridge)
    qtbot.addWidget(view)
    view.resize(360, 300)
    view.show()
    session.training.begin(folder="/runs/toy 1", resume=False)
    begin(session, sent)
    for step, translation in ((0, ""), (50, "Le le"), (100, "Le chat")):
        probe_of(session, sent, step, translation, heads(LEGAL))
    return view


def texts(view: ProbeView) -> str:
    return "\n".join(label.text() for label in view.findChildren(QLabel) if label.isVisible())


def slider(view: ProbeView) -> QSlider:
    return view.findChildren(QSlider)[0]


def test_each_measurement_can_be_scrubbed_to(view: ProbeView) -> None:
    slider(view).setValue(1)
    assert "Step 50: \u2068Le le\u2069" in texts(view)
    slider(view).setValue(0)
    assert "Step 0: nothing yet" in texts(view)


def test_the_newest_is_followed(view: ProbeView, session: Session, sent: list[Message]) -> None:
    assert "Step 100: " in texts(view)
    probe_of(session, sent, 150, "Le chat dort", heads(LEGAL))
    assert "Step 150: " in texts(view)


def test_who_has_gone_back_stays_there(view: ProbeView, session: Session, sent: list[Message]) -> None:
    slider(view).setValue(1)
    probe_of(session, sent, 150, "Le chat dort", heads(LEGAL))
    assert "Step 50: " in texts(view)


def test_a_new_training_begins_with_an_empty_probe(view: ProbeView, session: Session) -> None:
    session.training.begin(folder="/runs/toy 2", resume=False)
    assert "Step" not in texts(view)
    assert view.shown is None


def test_raw_weights_are_painted_wherever_they_lie(view: ProbeView, session: Session, sent: list[Message]) -> None:
    corner = np.zeros((4, 4))
    corner[0, 3] = 1.0  # in the future: a mask in the renderer would hide it
    probe_of(session, sent, 150, "", heads(corner))
    image = view.maps.grab().toImage()
    cell = min(view.maps.width() - 1, 140) / 4
    colours = [image.pixel(int((column + 0.5) * cell), int(0.5 * cell)) for column in range(4)]
    least, most = int(TABLES["viridis"][0]), int(TABLES["viridis"][LEVELS - 1])
    assert colours == [least, least, least, most]


def test_weight_outside_the_mask_and_false_row_sums_are_told(
    view: ProbeView, session: Session, sent: list[Message]
) -> None:
    assert "Within the intended mask; all rows sum to 1." in texts(view)
    probe_of(session, sent, 150, "", heads(np.full((4, 4), 0.25)))
    assert "Outside the intended mask: 38% of the weight" in texts(view)  # 6 of 16 cells
    probe_of(session, sent, 200, "", heads(LEGAL / 2))
    assert "Row sums: 0.50 to 0.50." in texts(view)
    probe_of(session, sent, 250, "", heads(np.full((4, 4), np.nan)))
    assert "Some weights are no numbers." in texts(view)


def test_all_layers_and_heads_have_room(view: ProbeView, session: Session, sent: list[Message]) -> None:
    probe_of(session, sent, 150, "", heads(LEGAL, layers=3, n_heads=8))
    image = view.maps.grab().toImage()
    least = int(TABLES["viridis"][0])
    width = (view.maps.width() - 1 - 7 * 4) // 8
    last = image.pixel(7 * (width + 4) + int(width * 0.9), 2 * (width + 4) + int(width * 0.4))
    assert last == least  # a cell above the diagonal of the last head of the last layer
