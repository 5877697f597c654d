"""What is trained on, as the window uses it: chosen, taken back, saved, and known again after whatever happens."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from mlxdecoder.app.protocol import Message
from mlxdecoder.app.session.corpora import Corpora
from mlxdecoder.app.session.corpus_choice import CorpusChoice
from mlxdecoder.app.session.document import Document
from mlxdecoder.app.session.session import Session
from tests.app.views.teaching import answer, asked, greet

Sent = list[Message]
RECOGNISED: dict[str, Any] = {
    "text": "CSV",
    "sides": "columns",
    "offered": ["id", "en", "fr"],
    "chosen": [1, 2],
    "header": True,
}


@pytest.fixture
def corpora(session: Session, sent: Sent) -> Corpora:
    greet(session, sent)
    return session.corpora


def tell(session: Session, sent: Sent, kind: str = "recognised", **changes: Any) -> None:
    fields = {**RECOGNISED, "pairs": [["Go.", "Va."]]} if kind == "recognised" else {}
    answer(session, sent, "inspect", kind, **{**fields, **changes})


def test_what_is_chosen_is_read_with_all_that_is_chosen_of_it(session: Session, sent: Sent, corpora: Corpora) -> None:
    corpora.choose(["/a.csv"])
    corpora.look("corpus")
    tell(session, sent)
    corpora.choose_sides(2, 0)
    corpora.limit(100)
    corpora.look("corpus")
    assert asked(sent, "inspect").fields == {
        "corpus": ["/a.csv"],
        "columns": ["fr", "id"],
        "languages": None,
        "header": None,
        "limit": 100,
        "preset": "small",
    }


def test_each_choice_is_taken_back_by_itself_and_read_again(session: Session, sent: Sent, corpora: Corpora) -> None:
    corpora.choose(["/a.csv"])
    corpora.look("corpus")
    tell(session, sent)
    corpora.swap()
    corpora.limit(100)
    corpora.measure_by(["/b.csv"])
    whole = CorpusChoice(("/a.csv",), ("fr", "en"), limit=100, validation=("/b.csv",))
    assert session.document.corpus == whole
    undone = []
    while session.document.corpus.files:
        session.undo()
        undone.append(session.document.corpus)
    assert undone == [
        CorpusChoice(("/a.csv",), ("fr", "en"), limit=100),
        CorpusChoice(("/a.csv",), ("fr", "en")),
        CorpusChoice(("/a.csv",)),
        CorpusChoice(),
    ]
    for _ in undone:
        session.redo()
    assert session.document.corpus == whole
    corpora.look("corpus")
    assert asked(sent, "inspect")["columns"] == ["fr", "en"]


def test_choices_generate_nothing_and_undo_generates_nothing(session: Session, sent: Sent, corpora: Corpora) -> None:
    before = [message.kind for message in sent].count("generate")
    corpora.choose(["/a.csv"])
    corpora.limit(9)
    session.undo()
    session.undo()
    assert [message.kind for message in sent].count("generate") == before


def test_what_is_known_is_not_read_again(session: Session, sent: Sent, corpora: Corpora) -> None:
    corpora.choose(["/a.csv"])
    corpora.look("corpus")
    corpora.look("corpus")
    tell(session, sent, "inspected", text="2 rows; 2 pairs.")
    session.look(layer=1)
    corpora.look("corpus")
    assert [message.kind for message in sent].count("inspect") == 1
    assert (corpora.logs["corpus"].state, corpora.logs["corpus"].counted) == ("read", "2 rows; 2 pairs.")


def test_a_newer_choice_stops_the_reading_of_the_older_one(session: Session, sent: Sent, corpora: Corpora) -> None:
    corpora.choose(["/a.csv"])
    corpora.look("corpus")
    stale = asked(sent, "inspect").run
    corpora.limit(9)
    corpora.look("corpus")
    assert asked(sent, "stop")["of"] == stale
    session.receive(Message("inspected", stale, {"text": "of the older one"}))
    assert corpora.logs["corpus"].state == "reading"
    tell(session, sent, "inspected", text="of the newer one")
    assert corpora.logs["corpus"].counted == "of the newer one"


def test_the_corpus_to_measure_by_is_read_beside_the_other(session: Session, sent: Sent, corpora: Corpora) -> None:
    corpora.choose(["/a.csv"])
    corpora.limit(9)
    corpora.look("corpus")
    first = asked(sent, "inspect").run
    corpora.measure_by(["/b.csv"])
    corpora.look("validation")
    assert (asked(sent, "inspect")["corpus"], asked(sent, "inspect")["limit"]) == (["/b.csv"], None)
    session.receive(Message("inspected", first, {"text": "a"}))
    tell(session, sent, "inspected", text="b")
    assert [log.counted for log in corpora.logs.values()] == ["a", "b"]


def test_two_files_change_places_with_those_to_measure_by(session: Session, sent: Sent, corpora: Corpora) -> None:
    corpora.choose(["/a.de", "/a.en"])
    corpora.measure_by(["/b.de", "/b.en"])
    corpora.look("corpus")
    tell(session, sent, sides="files", offered=["a.de", "a.en"], chosen=[0, 1])
    corpora.swap()
    assert session.document.corpus == CorpusChoice(("/a.en", "/a.de"), validation=("/b.en", "/b.de"))


@pytest.mark.parametrize(
    ("files", "told"),
    [(["/a.csv"], {}), (["/a.de", "/a.en"], {"sides": "files", "offered": ["a.de", "a.en"], "chosen": [0, 1]})],
)
def test_sides_change_places_twice_before_the_worker_answers(
    session: Session, sent: Sent, corpora: Corpora, files: list[str], told: dict[str, Any]
) -> None:
    corpora.choose(files)
    corpora.look("corpus")
    tell(session, sent, **told)
    seen = []
    for _ in range(2):
        corpora.swap()
        corpora.look("corpus")
        seen.append((session.document.corpus.columns, session.document.corpus.files))
    turned = (("fr", "en"), ("/a.csv",)) if len(files) == 1 else (None, ("/a.en", "/a.de"))
    back = (("en", "fr"), ("/a.csv",)) if len(files) == 1 else (None, ("/a.de", "/a.en"))
    assert seen == [turned, back]


def test_languages_take_the_place_of_columns_that_a_file_no_longer_has(
    session: Session, sent: Sent, corpora: Corpora
) -> None:
    session.change("open", corpus=CorpusChoice(("/a",), columns=("1", "2")))
    corpora.look("corpus")
    tell(session, sent, text="", sides="languages", offered=["en", "fr"], chosen=None, pairs=[])
    tell(session, sent, "refused", message="a: is TMX, which has no columns to choose")
    corpora.choose_sides(0, 1)
    assert session.document.corpus == CorpusChoice(("/a",), languages=("en", "fr"))


def test_columns_stay_when_the_first_row_is_no_longer_their_names(
    session: Session, sent: Sent, corpora: Corpora
) -> None:
    corpora.choose(["/a.csv"])
    corpora.look("corpus")
    tell(session, sent)
    corpora.name_columns(False)
    assert session.document.corpus == CorpusChoice(("/a.csv",), ("2", "3"), header=False)
    session.undo()
    corpora.choose_sides(2, 0)
    corpora.name_columns(False)
    assert session.document.corpus == CorpusChoice(("/a.csv",), ("3", "1"), header=False)
    tell(session, sent, sides="languages", offered=["en", "fr"], chosen=None)
    corpora.choose_sides(0, 1)
    assert session.document.corpus == CorpusChoice(("/a.csv",), languages=("en", "fr"))


def test_an_error_stays_with_the_corpus_and_costs_nothing(session: Session, sent: Sent, corpora: Corpora) -> None:
    corpora.choose(["/a.csv"])
    corpora.limit(9)
    corpora.choose(["/picture.png"])
    corpora.look("corpus")
    tell(session, sent, "refused", message="picture.png: binary")
    assert (corpora.logs["corpus"].state, corpora.logs["corpus"].why) == ("refused", "picture.png: binary")
    assert session.notice == ""
    session.undo()
    assert session.document.corpus == CorpusChoice(("/a.csv",), limit=9)


def test_a_fault_of_ours_is_told_as_any_other(session: Session, sent: Sent, corpora: Corpora) -> None:
    corpora.choose(["/a.csv"])
    corpora.look("corpus")
    tell(session, sent, "broken", message="KeyError: 1", details="...")
    assert session.notice == corpora.logs["corpus"].why == "KeyError: 1"


def test_what_was_being_read_when_the_worker_went_is_read_by_the_next(
    session: Session, sent: Sent, corpora: Corpora
) -> None:
    corpora.choose(["/a.csv"])
    corpora.look("corpus")
    tell(session, sent)
    session.worker_ended("The worker has crashed.")
    corpora.look("corpus")
    assert [message.kind for message in sent].count("inspect") == 1
    greet(session, sent)
    corpora.look("corpus")
    assert [message.kind for message in sent].count("inspect") == 2
    assert corpora.logs["corpus"].preview == (("Go.", "Va."),)


def test_what_was_stopped_is_read_again_only_when_asked(session: Session, sent: Sent, corpora: Corpora) -> None:
    corpora.choose(["/a.csv"])
    corpora.look("corpus")
    tell(session, sent)
    tell(session, sent, "counted", rows=5000)
    corpora.stop("corpus")
    log = corpora.logs["corpus"]
    assert (log.state, log.rows, log.text) == ("stopped", 5000, "CSV")
    assert asked(sent, "stop")["of"] == asked(sent, "inspect").run
    corpora.look("corpus")
    assert [message.kind for message in sent].count("inspect") == 1
    corpora.read_again("corpus")
    assert [message.kind for message in sent].count("inspect") == 2


def test_a_file_that_is_chosen_once_more_is_read_once_more_as_if_it_were_new(
    session: Session, sent: Sent, corpora: Corpora
) -> None:
    corpora.choose(["/a.csv"])
    corpora.look("corpus")
    corpora.choose(["/a.csv"])
    assert [message.kind for message in sent].count("inspect") == 2
    tell(session, sent)
    corpora.swap()
    corpora.choose(["/a.csv"])
    assert session.document.corpus == CorpusChoice(("/a.csv",))


def test_a_preset_that_is_usual_follows_the_text_and_one_that_was_chosen_stays(
    session: Session, corpora: Corpora
) -> None:
    corpora.choose(["/a.csv"])
    assert session.document.preset == "small"
    session.undo()
    assert (session.document.preset, session.document.corpus) == ("toy", CorpusChoice())
    session.redo()
    corpora.choose([])
    assert session.document.preset == "toy"
    session.change("choose preset", preset="large")
    corpora.choose(["/a.csv"])
    assert session.document.preset == "large"


def test_another_session_brings_its_own_corpus(session: Session, sent: Sent, corpora: Corpora) -> None:
    corpora.choose(["/a.csv"])
    corpora.look("corpus")
    tell(session, sent)
    session.start_over(Document(corpus=CorpusChoice(("/b.csv",))))
    corpora.look("corpus")
    log = corpora.logs["corpus"]
    assert (asked(sent, "inspect")["corpus"], log.state, log.offered) == (["/b.csv"], "reading", ())
    session.start_over(Document())
    corpora.look("corpus")
    assert corpora.logs["corpus"].state == "unread"


def test_what_is_chosen_is_saved_with_the_session(session: Session, corpora: Corpora, tmp_path: Path) -> None:
    corpora.choose(["/a.csv"])
    corpora.limit(9)
    corpora.measure_by(["/b.en", "/b.fr"])
    session.save(tmp_path / "one.mlxdecoder")
    assert Document.load(tmp_path / "one.mlxdecoder").corpus == session.document.corpus


def test_sessions_of_before_are_on_the_toy_sentences() -> None:
    assert Document.from_json('{"format": 1, "sentence": "Hello.", "preset": "small"}').corpus == CorpusChoice()
