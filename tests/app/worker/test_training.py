"""Training asked for as the window asks for it: it is the library's own, and the window can follow and end it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import mlx.core as mx
import pytest

from mlxdecoder.app.protocol import Message
from mlxdecoder.app.session.corpus_choice import CorpusChoice
from mlxdecoder.app.worker import looking_on
from mlxdecoder.app.worker.link import Inbox
from mlxdecoder.app.worker.looking_on import Losses
from mlxdecoder.commands.train_text import Origin
from mlxdecoder.errors import UserError
from mlxdecoder.training import Observer, StepReport, Trainer, fresh_model, prepare
from mlxdecoder.training.checkpoint import load_training
from mlxdecoder.training.run_folder import RunFolder
from mlxdecoder.translate import load
from tests.app.worker.trained import RUN, TINY, ask, at_step, files, losses, of_kind

pytestmark = pytest.mark.usefixtures("tiny")


class Recorder(Observer):
    def __init__(self) -> None:
        self.losses: list[float] = []

    def stepped(self, report: StepReport) -> None:
        self.losses.append(report.loss)


def test_losses_are_those_of_the_librarys_trainer(tmp_path: Path, corpus: Path) -> None:
    text = Origin([str(corpus)], None).read()
    prepared = prepare(text.train, text.validation, TINY.vocab_size)
    model, recorder = fresh_model(TINY.model, prepared.tokenizer, 0), Recorder()
    Trainer(model, prepared.tokenizer, prepared.train, prepared.validation, TINY.training, observer=recorder).run()
    assert losses(ask(tmp_path / "run", corpus)) == recorder.losses


def test_files_are_those_of_the_command(run: Any, tmp_path: Path, corpus: Path) -> None:
    status, _, said = run("train", "--corpus", corpus, "--preset", "tiny", "--out", tmp_path / "command")
    assert status == 0, said
    ask(tmp_path / "app", corpus)
    assert files(tmp_path / "app") == files(tmp_path / "command")


UNITS = "".join(
    f'<tu><tuv xml:lang="de"><seg>Das Wort {n}</seg></tuv><tuv xml:lang="en"><seg>The word {n}</seg></tuv>'
    f'<tuv xml:lang="fr"><seg>Le mot {n}</seg></tuv></tu>'
    for n in range(60)
)
MADE = {
    "a.csv": "id,de,en,fr\n" + "".join(f"{n},Das Wort {n},The word {n},Le mot {n}\n" for n in range(60)),
    "a.tsv": "".join(f"Das Wort {n}\tThe word {n}\tLe mot {n}\n" for n in range(60)),
    "a.tmx": f'<tmx version="1.4"><header/><body>{UNITS}</body></tmx>',
    "a.en": "".join(f"The word {n}\n" for n in range(60)),
    "a.fr": "".join(f"Le mot {n}\n" for n in range(60)),
    "b.en": "A word 1\nThe word 7\n",
    "b.fr": "Un mot 1\nLe mot 7\n",
    "b.tsv": "Ein Wort 1\tA word 1\tUn mot 1\n",
}


@pytest.mark.parametrize(
    "asked",
    [
        {"corpus": ["a.csv"], "columns": ["fr", "en"]},
        {"corpus": ["a.tsv"], "columns": ["3", "1"], "limit": 40},
        {"corpus": ["a.csv"], "columns": ["4", "2"], "header": False},
        {"corpus": ["a.tsv"], "header": True},
        {"corpus": ["a.tmx"], "languages": ["fr", "de"]},
        {"corpus": ["a.tmx"], "limit": 30},
        {"corpus": ["a.en", "a.fr"], "validation": ["b.en", "b.fr"]},
        {"corpus": ["a.tsv"], "columns": ["2", "3"], "limit": 50, "validation": ["b.tsv"]},
    ],
)
def test_files_are_those_of_the_command_with_the_same_choices(run: Any, tmp_path: Path, asked: dict[str, Any]) -> None:
    for name, text in MADE.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    for part in ("corpus", "validation"):
        asked = {**asked, part: [str(tmp_path / name) for name in asked.get(part, [])]}
    options: list[Any] = []
    for name, value in asked.items():
        if isinstance(value, bool):
            options.append(f"--{name}" if value else f"--no-{name}")
        elif value:
            options += [f"--{name}", *(value if isinstance(value, list) else [value])]
    status, _, said = run("train", *options, "--preset", "tiny", "--out", tmp_path / "command")
    assert status == 0, said
    choice = CorpusChoice.from_dict({"files": asked.pop("corpus"), **asked})
    told = ask(tmp_path / "app", choice)
    assert told[-1]["reason"] == "done"
    assert files(tmp_path / "app") == files(tmp_path / "command")


@pytest.mark.usefixtures("at_once")
def test_a_training_with_choices_goes_on_with_them(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(MADE["a.csv"], encoding="utf-8")
    choice = CorpusChoice((str(tmp_path / "a.csv"),), ("fr", "en"), limit=40)
    ask(tmp_path / "whole", choice)
    ask(tmp_path / "parts", choice, at_step(7, "stop"))
    ask(tmp_path / "parts", None, resume=True)
    assert files(tmp_path / "parts") == files(tmp_path / "whole")


def test_a_stop_ends_the_reading_of_a_large_corpus(tmp_path: Path) -> None:
    (tmp_path / "large.tsv").write_text("".join(f"word {n}\tmot {n}\n" for n in range(40_000)))
    heard: list[str] = []

    def stop(message: Message, inbox: Inbox) -> None:
        heard.append(message.fields.get("text", message.kind))
        if "rows" in heard[-1]:
            inbox.put(Message("stop", fields={"of": RUN}))

    ask(tmp_path / "run", tmp_path / "large.tsv", stop)
    assert heard == ["Reading the text", "Reading large.tsv: 10,000 rows", "trained"]


def test_how_far_the_encoding_is_is_told_and_a_stop_ends_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, corpus: Path
) -> None:
    monkeypatch.setitem(prepare.__globals__, "BETWEEN", 40)
    heard: list[str] = []

    def stop(message: Message, inbox: Inbox) -> None:
        heard.append(message.fields.get("text", message.kind))
        if heard[-1].startswith("Encoding: 40 of"):
            inbox.put(Message("stop", fields={"of": RUN}))

    told = ask(tmp_path / "run", corpus, stop)
    assert heard[-2].startswith("Encoding: 40 of") and told[-1]["reason"] == "stopped"


def test_measures_checkpoints_and_probes_come_at_each_measurement(tmp_path: Path, corpus: Path) -> None:
    told = ask(tmp_path / "run", corpus)
    assert [message["step"] for message in of_kind(told, "measured")] == [5, 10, 12]
    assert [message["step"] for message in of_kind(told, "saved")] == [5, 10, 12]
    assert [message["step"] for message in of_kind(told, "probe")] == [0, 5, 10, 12]
    history = load_training(RunFolder(tmp_path / "run").newest()).values["history"]
    for message, measures in zip(of_kind(told, "measured"), history, strict=True):
        assert message["loss"] == measures["validation_loss"]
        assert (message["accuracy"], message["exact"]) == (measures["teacher_forced"], measures["exact_match"])


def test_the_window_hears_of_the_beginning_before_and_of_the_end_after_all_else(tmp_path: Path, corpus: Path) -> None:
    told = [message for message in ask(tmp_path / "run", corpus) if message.kind != "preparing"]
    assert told[0].kind == "training" and told[-1].kind == "trained"
    assert (told[0]["steps"], told[0]["at"], told[0]["folder"]) == (12, 0, str(tmp_path / "run"))
    assert (told[-1]["reason"], told[-1]["step"]) == ("done", 12)
    assert load(told[-1]["path"]).model.config.d_model == 16


def test_losses_come_before_the_measures_that_they_led_to(tmp_path: Path, corpus: Path) -> None:
    known = 0
    for message in ask(tmp_path / "run", corpus):
        known += len(message["losses"]) if message.kind == "progress" else 0
        assert message.kind not in ("measured", "saved") or message["step"] == known


def test_losses_are_handed_over_ten_times_a_second_at_most(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr(looking_on.time, "monotonic", lambda: now)
    handed: list[tuple[int, list[float]]] = []
    collected = Losses(lambda first, some, report: handed.append((first, some)))
    for step in range(1, 1001):
        now = step * 0.002  # two seconds in all
        collected.add(StepReport(step, 1000, float(step), 0.1, 1.0, 1.0))
    collected.flush()
    assert len(handed) <= 2 / 0.1 + 2
    assert [loss for _, some in handed for loss in some] == list(range(1, 1001))
    assert all(first == some[0] for first, some in handed)


@pytest.mark.usefixtures("at_once")
@pytest.mark.parametrize(("command", "reason"), [("stop", "stopped"), ("pause", "paused")])
def test_what_is_broken_off_is_saved_and_goes_on_as_if_it_had_not(
    command: str, reason: str, tmp_path: Path, corpus: Path
) -> None:
    ask(tmp_path / "whole", corpus)
    told = ask(tmp_path / "parts", corpus, at_step(7, command))
    assert (told[-1].kind, told[-1]["reason"], told[-1]["step"]) == ("trained", reason, 7)
    assert RunFolder(tmp_path / "parts").newest().name == "step-0000007"
    resumed = ask(tmp_path / "parts", None, resume=True)
    assert of_kind(resumed, "training")[0]["at"] == 7 and resumed[-1]["reason"] == "done"
    assert files(tmp_path / "parts") == files(tmp_path / "whole")


@pytest.mark.usefixtures("at_once")
def test_the_end_of_the_window_saves_first(tmp_path: Path, corpus: Path) -> None:
    def leave(message: Message, inbox: Inbox) -> None:
        if message.kind == "progress" and message["first_step"] == 3:
            inbox.close()

    ask(tmp_path / "run", corpus, leave)
    assert load_training(RunFolder(tmp_path / "run").newest()).values["step"] == 3


def test_a_stop_while_the_text_is_read_leaves_no_folder(tmp_path: Path, corpus: Path) -> None:
    def stop(message: Message, inbox: Inbox) -> None:
        if message.kind == "preparing":
            inbox.put(Message("stop", fields={"of": RUN}))

    told = ask(tmp_path / "run", corpus, stop)
    assert (told[-1].kind, told[-1]["reason"], told[-1]["path"]) == ("trained", "stopped", None)
    assert not (tmp_path / "run").exists()


@pytest.mark.usefixtures("at_once")
def test_a_mistake_that_is_trained_with_stays_on_when_the_training_goes_on(tmp_path: Path, corpus: Path) -> None:
    ask(tmp_path / "whole", corpus, mistakes=["labels-unshifted"])
    ask(tmp_path / "right", corpus)
    ask(tmp_path / "parts", corpus, at_step(6, "stop"), mistakes=["labels-unshifted"])
    ask(tmp_path / "parts", None, resume=True)
    weights = [files(tmp_path / name)["weights.safetensors"] for name in ("whole", "parts", "right")]
    assert weights[0] == weights[1] != weights[2]


def test_a_run_that_is_complete_goes_on_to_more_steps_alone(tmp_path: Path, corpus: Path) -> None:
    ask(tmp_path / "run", corpus)
    with pytest.raises(UserError, match="complete, at step 12"):
        ask(tmp_path / "run", None, resume=True)
    assert ask(tmp_path / "run", None, resume=True, steps=14)[-1]["step"] == 14


def test_divergence_is_told_and_not_thrown(tmp_path: Path, corpus: Path) -> None:
    told = ask(tmp_path / "run", corpus, mistakes=["infinity-after-softmax"])
    assert (told[-1].kind, told[-1]["reason"], told[-1]["path"]) == ("trained", "diverged", None)
    assert "step 1" in told[-1]["message"]
    assert ask(tmp_path / "run", corpus)[-1]["reason"] == "done"  # the folder is free


def test_what_others_ask_meanwhile_changes_nothing_of_the_training(tmp_path: Path, corpus: Path) -> None:
    served = []

    def serve() -> None:
        mx.random.seed(len(served))
        served.append(mx.random.normal((3,)).tolist())

    ask(tmp_path / "alone", corpus)
    ask(tmp_path / "served", corpus, serve=serve)
    assert len(served) > 12
    assert files(tmp_path / "served") == files(tmp_path / "alone")
