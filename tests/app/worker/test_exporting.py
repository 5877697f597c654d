"""Files of what is on screen: whole and right, or not there."""

from __future__ import annotations

import csv
import io
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mlxdecoder import attend, load, translate
from mlxdecoder.app.protocol import Message
from mlxdecoder.app.worker.engine import Engine
from mlxdecoder.errors import UserError
from mlxdecoder.training.checkpoint import Checkpoint
from tests.app.worker.asking import GREEDY, SENTENCE, ask, engine_with, generate, ids_of

MAGIC = {"png": b"\x89PNG\r\n", "svg": b"<?xml", "pdf": b"%PDF-"}


@pytest.fixture(scope="module")
def toy() -> Checkpoint:
    return load()


@pytest.fixture
def engine(toy: Checkpoint) -> Engine:
    return engine_with(toy)


def export(engine: Engine, path: Path, stop_after: int | None = None, **wishes: Any) -> list[Message]:
    fields = {"forced": {}, "sampling": GREEDY, "mistakes": [], "kind": "cross", "sentence": SENTENCE, **wishes}
    return ask(engine, "export", stop_after, path=str(path), **{"format": path.suffix[1:], **fields})


def weights_of(toy: Checkpoint, kind: str) -> np.ndarray:
    """Of the model's own translation, read at once."""
    target = [toy.model.config.begin_id, *toy.tokenizer.encode(translate(toy, [SENTENCE])[0])]
    return attend(toy.model, toy.tokenizer.encode(SENTENCE), target).stage(kind)


@pytest.mark.parametrize("form", MAGIC)
def test_a_figure_is_written_in_its_format(engine: Engine, tmp_path: Path, form: str) -> None:
    pytest.importorskip("matplotlib")
    path = tmp_path / f"figure.{form}"
    (told,) = export(engine, path)
    assert (told.kind, told["path"]) == ("exported", str(path))
    assert path.read_bytes().startswith(MAGIC[form])


def test_without_matplotlib_a_figure_is_refused_in_clear_words(
    engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in sys.modules if name.startswith(("mlxdecoder.figures", "matplotlib"))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(UserError, match=r"matplotlib.*pip install"):
        export(engine, tmp_path / "figure.png")
    assert not list(tmp_path.glob("*.png"))


@pytest.mark.parametrize("kind", ["encoder", "decoder", "cross"])
def test_numbers_are_those_of_the_generation(engine: Engine, toy: Checkpoint, tmp_path: Path, kind: str) -> None:
    wanted = weights_of(toy, kind)
    for form in ("json", "npz", "csv"):
        export(engine, tmp_path / f"numbers.{form}", kind=kind)
    (as_json,) = json.loads((tmp_path / "numbers.json").read_text())
    assert as_json["kind"] == kind
    np.testing.assert_allclose(as_json["weights"], wanted, atol=1e-5)
    with np.load(tmp_path / "numbers.npz") as archive:
        np.testing.assert_allclose(archive["map0_weights"], wanted, atol=1e-5)
    rows = list(csv.DictReader(io.StringIO((tmp_path / "numbers.csv").read_text())))
    places = tuple(
        np.array([[int(row[name]) for row in rows] for name in ("layer", "head", "query_place", "key_place")])
    )
    table = np.full(wanted.shape, np.nan)
    table[places] = [float(row["weight"]) for row in rows]
    np.testing.assert_allclose(table, wanted, atol=1e-5)
    outside = [row for row in rows if row["intended"] == "0"]
    assert all(kind == "decoder" and int(row["key_place"]) > int(row["query_place"]) for row in outside)
    assert {row["query"] for row in rows} == set(as_json["queries"])


def test_a_page_holds_all_kinds_and_says_which_mistakes_are_on(engine: Engine, tmp_path: Path) -> None:
    export(engine, tmp_path / "page.html", mistakes=["no-scale"], kind="decoder")
    page = (tmp_path / "page.html").read_text()
    places = [page.index(f'"name":"{name}') for name in ("decoder self", "encoder self", "cross-attention")]
    assert places[0] == min(places)
    assert "With mistakes: " in page and SENTENCE in page


def test_words_are_written_in_the_place_of_pieces_and_said(engine: Engine, tmp_path: Path) -> None:
    wishes = {"words": True, "sentence": "Does she listen to my dog?"}
    export(engine, tmp_path / "numbers.json", **wishes)
    (found,) = json.loads((tmp_path / "numbers.json").read_text())
    assert found["keys"] == ["Does", "she", "listen", "to", "my", "dog?"]
    assert found["queries"] == ["<s>", "Écoute-t-elle", "mon", "chien", "?"] and "merged into words" in found["note"]
    np.testing.assert_allclose(np.sum(found["weights"], axis=-1), 1, atol=1e-5)
    export(engine, tmp_path / "page.html", **wishes)
    assert (tmp_path / "page.html").read_text().count("merged into words") == 3  # of each kind


def test_what_was_forced_is_in_the_file(engine: Engine, tmp_path: Path) -> None:
    export(engine, tmp_path / "numbers.json", forced={"1": 100})
    (found,) = json.loads((tmp_path / "numbers.json").read_text())
    ids = ids_of(generate(engine, forced={"1": 100}))
    assert found["queries"] == load().tokenizer.pieces([2, *ids[:-1]])


@pytest.mark.parametrize(
    ("name", "wishes", "said"),
    [
        ("figure.gif", {}, "format"),
        ("figure.png", {"format": "svg"}, "must end in .svg"),
        ("numbers.json", {"kind": "sideways"}, "this model has"),
        ("numbers.json", {"sentence": ""}, "no words"),
    ],
)
def test_what_cannot_be_exported_is_refused_and_nothing_is_written(
    engine: Engine, tmp_path: Path, name: str, wishes: dict[str, Any], said: str
) -> None:
    before = set(tmp_path.iterdir())
    with pytest.raises(UserError, match=said):
        export(engine, tmp_path / name, **wishes)
    assert set(tmp_path.iterdir()) == before


def test_a_file_that_cannot_be_written_leaves_the_old_one(engine: Engine, tmp_path: Path) -> None:
    (tmp_path / "numbers.json").mkdir()
    with pytest.raises(OSError, match=r"numbers\.json"):
        export(engine, tmp_path / "numbers.json")
    assert [path.name for path in tmp_path.iterdir() if "numbers" in path.name] == ["numbers.json"]


def test_a_stopped_export_writes_nothing(engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = iter(range(100))
    monkeypatch.setattr("mlxdecoder.app.worker.link.Link.stopped", lambda self: next(asked) >= 3)
    assert export(engine, tmp_path / "numbers.json") == []
    assert not (tmp_path / "numbers.json").exists()
