"""A heatmap as a table: what a screen reader reads."""

from __future__ import annotations

import numpy as np
import pytest
from PySide6.QtCore import QModelIndex, Qt
from PySide6.QtTest import QAbstractItemModelTester
from pytestqt.qtbot import QtBot

from mlxdecoder.app.protocol import Message
from mlxdecoder.app.session.session import Session
from mlxdecoder.app.views.table import HeadModel, HeadTable
from tests.app.views.sessions import READ, SOURCE, recorded, weights
from tests.app.views.test_shown import head, leaking_encoder

Sent = list[Message]


@pytest.fixture
def model(qtbot: QtBot) -> HeadModel:
    return HeadModel()


def test_rows_are_queries_and_columns_keys(model: HeadModel, session: Session, sent: Sent) -> None:
    values = weights(len(READ), len(SOURCE))
    recorded(session, sent, cross=values)
    model.show_head(head(session, 1, 2))
    assert (model.rowCount(), model.columnCount()) == (len(READ), len(SOURCE) + 2)
    for (row, column), value in np.ndenumerate(values[1, 2]):
        assert float(model.index(row, column).data().replace("−", "-")) == pytest.approx(value, rel=0.06, abs=5e-4)
    assert "chat" in model.headerData(2, Qt.Orientation.Vertical)
    assert "cat" in model.headerData(2, Qt.Orientation.Horizontal)


def test_sums_and_what_lies_outside_stand_behind_the_keys(model: HeadModel, session: Session, sent: Sent) -> None:
    leaking_encoder(session, sent)
    model.show_head(head(session, 1, 3))
    headings = [model.headerData(column, Qt.Orientation.Horizontal) for column in (3, 4)]
    assert headings == ["sum", "outside the mask"]
    assert [model.index(0, column).data() for column in (2, 3, 4)] == ["◂ 0.200", "1.000", "0.200"]
    assert model.index(2, 3).data() == "○ 1.500"


def test_each_cell_tells_query_key_and_value(model: HeadModel, session: Session, sent: Sent) -> None:
    recorded(session, sent)
    model.show_head(head(session))
    told = model.index(1, 2).data(Qt.ItemDataRole.AccessibleTextRole)
    assert "Le" in told and "cat" in told and model.index(1, 2).data() in told


def test_it_is_a_model_as_qt_wants_it(model: HeadModel, session: Session, sent: Sent) -> None:
    tester = QAbstractItemModelTester(model, QAbstractItemModelTester.FailureReportingMode.Warning)
    recorded(session, sent)
    for now in (head(session), None):
        model.show_head(now)
    assert tester.model() is model and not model.index(0, 0).isValid() and model.rowCount(QModelIndex()) == 0


def test_the_reader_stays_in_place_when_rows_come(qtbot: QtBot, session: Session, sent: Sent) -> None:
    recorded(session, sent)
    table = HeadTable()
    qtbot.addWidget(table)
    session.look(step=2)
    table.show_head(head(session))
    table.setCurrentIndex(table.model().index(2, 1))
    session.look(step=4)
    table.show_head(head(session))
    assert (table.currentIndex().row(), table.currentIndex().column()) == (2, 1)
    assert table.accessibleName()
