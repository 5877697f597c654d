"""A small world to train in."""

from __future__ import annotations

from pathlib import Path

import pytest

from mlxdecoder.app.worker import looking_on
from mlxdecoder.text.toy import make_splits
from mlxdecoder.training import PRESETS
from tests.app.worker.trained import TINY


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(PRESETS, "tiny", TINY)


@pytest.fixture(scope="session")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pairs = make_splits(train_count=110, held_out_count=4).train
    path = tmp_path_factory.mktemp("corpus") / "pairs.tsv"
    path.write_text("".join(f"{pair.source}\t{pair.target}\n" for pair in pairs), encoding="utf-8")
    return path


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every loss is told when it is there."""
    monkeypatch.setattr(looking_on, "BETWEEN", 0.0)
