"""A training that cannot be is refused with the library's words, before anything starts."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mlxdecoder.app.protocol import Message
from mlxdecoder.app.worker.link import Inbox
from mlxdecoder.errors import UserError
from tests.app.worker.trained import ask, of_kind

pytestmark = pytest.mark.usefixtures("tiny")


def test_a_folder_that_cannot_be_written_any_more_is_named(tmp_path: Path, corpus: Path) -> None:
    def spoil(message: Message, inbox: Inbox) -> None:
        if message.kind == "saved":
            shutil.rmtree(tmp_path / "run")
            (tmp_path / "run").write_text("no folder")

    with pytest.raises(UserError, match=r"run.*: cannot be saved"):
        ask(tmp_path / "run", corpus, spoil)


def bad_corpora(folder: Path) -> Iterator[tuple[str, bytes | None, str]]:
    yield "missing.tsv", None, "missing.tsv: cannot be read"
    yield "prose.tsv", b"There is no tab in this line.\n" * 9, "prose.tsv, line 1"
    yield "few.tsv", b"one\tun\ntwo\tdeux\n", "corpus: 2 pairs found"
    yield "picture.tsv", bytes(range(256)), "picture.tsv, line 1"


@pytest.mark.parametrize("number", range(4))
def test_a_wrong_corpus_is_refused_before_anything_starts(number: int, tmp_path: Path) -> None:
    name, content, words = list(bad_corpora(tmp_path))[number]
    if content is not None:
        (tmp_path / name).write_bytes(content)
    heard: list[Message] = []
    with pytest.raises(UserError, match=words) as refused:
        ask(tmp_path / "run", tmp_path / name, lambda message, inbox: heard.append(message))
    assert not str(refused.value).startswith("--")
    assert not (tmp_path / "run").exists() and not of_kind(heard, "training")


@pytest.mark.parametrize(
    ("wishes", "words"),
    [
        ({"preset": "huge"}, "preset: 'huge'"),
        ({"steps": 0}, "steps = 0"),
        ({"mistakes": ["no-such-mistake"]}, "no-such-mistake"),
        ({"probe": "  "}, "probe: no words"),
        ({"probe": "cat " * 600}, "probe: not translated, for it has more pieces than 512"),
        ({"resume": True}, "no such folder"),
    ],
)
def test_other_wishes_that_cannot_be_met_are_refused(
    wishes: dict[str, Any], words: str, tmp_path: Path, corpus: Path
) -> None:
    heard: list[Message] = []
    with pytest.raises(UserError, match=words):
        ask(tmp_path / "run", corpus, lambda message, inbox: heard.append(message), **wishes)
    assert not of_kind(heard, "training") and not (tmp_path / "run").exists()


def test_a_folder_with_something_in_it_is_left_alone(tmp_path: Path, corpus: Path) -> None:
    (tmp_path / "letter.txt").write_text("Dear Ada")
    with pytest.raises(UserError, match="is not empty"):
        ask(tmp_path, corpus)
