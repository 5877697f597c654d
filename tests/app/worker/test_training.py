"""Training asked for as the window asks for it: it is the library's own, and the window can follow and end it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import mlx.core as mx
import pytest

from mlxdecoder.app.protocol import Message
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
