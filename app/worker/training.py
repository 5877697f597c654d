"""Training in the worker: the library's own trainer, with the window looking on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from mlxdecoder.app.protocol import Message
from mlxdecoder.app.worker.catalogue import find_preset
from mlxdecoder.app.worker.engine import Engine
from mlxdecoder.app.worker.inspecting import choice_of
from mlxdecoder.app.worker.link import Link, Stopped
from mlxdecoder.app.worker.looking_on import LookingOn
from mlxdecoder.app.worker.probing import Probe, source_of, wording_of
from mlxdecoder.commands.train_text import Origin, Text
from mlxdecoder.errors import UserError
from mlxdecoder.mistakes import find, switch_on
from mlxdecoder.models import Translator
from mlxdecoder.training.checkpoint import load_checkpoint, load_training
from mlxdecoder.training.options import TrainingOptions
from mlxdecoder.training.prepare import Prepared, fresh_model, prepare
from mlxdecoder.training.run_folder import RunFolder
from mlxdecoder.training.trainer import Diverged, Trainer
from mlxdecoder.translate import as_translator

MOST_PIECES = 16_000  # before they are doubled


@dataclass(frozen=True)
class Plan:
    """A training that can begin, or go on from the checkpoint `newest`."""

    model: Translator
    text: Text
    prepared: Prepared
    options: TrainingOptions
    folder: RunFolder
    origin: dict[str, Any]
    newest: Path | None = None


def train(engine: Engine, message: Message, link: Link) -> None:
    """The job: trains in a folder, new or gone on with, until the end, a pause or a stop, each of which saves.

    Raises `UserError` for what cannot be trained, before anything starts.
    """
    try:
        plan = _resumed(message, link) if message.fields.get("resume") else _started(message, link)
    except Stopped:
        link.tell("trained", reason="stopped", step=0, path=None, message="")
        return
    tokenizer = plan.prepared.tokenizer
    source = source_of(message["probe"], tokenizer, plan.model.config)
    wording = wording_of(message["probe"], source, plan.text, tokenizer, engine)
    probe = Probe(source, tokenizer, plan.model, wording)
    observer = LookingOn(link, probe, plan.folder)
    trainer = _trainer(plan, observer)
    told, arrays = probe.look(trainer.step)  # a sentence that the model cannot read is refused now
    plan.folder.make()
    rate, folder = plan.options.learning_rate, str(plan.folder.path)
    link.tell("training", steps=plan.options.steps, rate=rate, folder=folder, at=trainer.step)
    link.tell("probe", arrays, **told)
    reason, why = _run(trainer, observer, link)
    link.tell("trained", reason=reason, step=trainer.step, path=observer.kept, message=why)


def _started(message: Message, link: Link) -> Plan:
    preset, steps = find_preset(message["preset"]), message.fields.get("steps")
    options = preset.training if steps is None else replace(preset.training, steps=steps)
    origin = _origin(message)
    folder = RunFolder.fresh(message["folder"])
    text = _read(origin, link)
    prepared = _prepared(text, preset.vocab_size, link)
    model = fresh_model(preset.model, prepared.tokenizer, options.seed)
    model.recipe = switch_on(origin.mistakes)
    return Plan(model, text, prepared, options, folder, origin.to_dict())


def _resumed(message: Message, link: Link) -> Plan:
    folder, steps = RunFolder(message["folder"]), message.fields.get("steps")
    newest = folder.newest()
    state, checkpoint = load_training(newest), load_checkpoint(newest)
    options = TrainingOptions.from_dict(state.values["options"], str(newest))
    options = options if steps is None else replace(options, steps=steps)
    if state.values["step"] >= options.steps:
        raise UserError(f"{folder.path}: its training is complete, at step {state.values['step']}; ask for more steps.")
    kept: dict[str, Any] = state.values["origin"]
    if "corpus" not in kept:
        raise UserError(f"{folder.path}: does not say what text it was trained on, so it can only go on in Python.")
    text = _read(Origin.from_dict(kept), link)
    prepared = prepare(text.train, text.validation, 0, checkpoint.tokenizer)
    model = as_translator(checkpoint)
    model.recipe = switch_on(kept.get("mistakes", ()))
    return Plan(model, text, prepared, options, folder, kept, newest)


def _origin(message: Message) -> Origin:
    """What `mlxdecoder train` would keep of the same choices."""
    fields = message.fields
    corpus, validation = (
        [str(Path(name).absolute()) for name in fields.get(part) or ()] for part in ("corpus", "validation")
    )
    mistakes = tuple(find(name).id for name in fields.get("mistakes") or ())
    return Origin(corpus, fields.get("limit"), mistakes, choice_of(message), tuple(validation))


def _read(origin: Origin, link: Link) -> Text:
    say = _prepares(link)
    say("Reading the text")
    try:
        text = origin.read(say)
    except UserError as error:  # which is worded for the command line
        raise UserError(str(error).removeprefix("--")) from None
    say(text.said)
    return text


def _prepared(text: Text, vocab_size: int, link: Link) -> Prepared:
    """With as many pieces as the preset asks for, or more: Chinese has more characters than a preset has pieces."""
    try:
        return prepare(text.train, text.validation, vocab_size, progress=_prepares(link))
    except UserError as error:
        if not str(error).startswith("vocab_size") or vocab_size > MOST_PIECES:
            raise
        return _prepared(text, 2 * vocab_size, link)


def _prepares(link: Link) -> Callable[[str], None]:
    """Tells what is done before the first step, which takes long for a large corpus."""

    def say(line: str) -> None:
        if link.stopped():
            raise Stopped
        link.tell("preparing", text=line)
        link.breathe()

    return say


def _trainer(plan: Plan, observer: LookingOn) -> Trainer:
    prepared = plan.prepared
    trainer = Trainer(
        plan.model,
        prepared.tokenizer,
        prepared.train,
        prepared.validation,
        plan.options,
        folder=plan.folder,
        observer=observer,
        origin=plan.origin,
    )
    if plan.newest is not None:
        trainer.resume(plan.newest)
    return trainer


def _run(trainer: Trainer, observer: LookingOn, link: Link) -> tuple[str, str]:
    """Train; gives why it ended, and what there is to say about that."""
    observer.begins(trainer.step)
    try:
        trainer.run()
    except Diverged as error:  # which is what some mistakes do
        return "diverged", str(error)
    except OSError as error:
        place = error.filename or observer.folder
        raise UserError(
            f"{place}: cannot be saved ({error.strerror or error}); earlier checkpoints are kept."
        ) from None
    if trainer.step >= trainer.options.steps:
        return "done", ""
    if observer.wants_stop():
        return "stopped" if link.stopped() else "paused", ""
    return "done", f"No better for {trainer.options.patience} measurements."
