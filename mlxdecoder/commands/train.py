"""`mlxdecoder train`: a translator from a corpus, or from the toy grammar, to a folder of checkpoints."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from mlxdecoder.commands.common import Subparsers, add_command, add_json, command_line
from mlxdecoder.commands.corpus_options import add_choice_options, corpus_files
from mlxdecoder.commands.train_ending import show_translations
from mlxdecoder.commands.train_options import add_model_options, add_training_options
from mlxdecoder.commands.train_request import origin_of, preset_of, presets_help, refuse_changes
from mlxdecoder.commands.train_text import Origin, Text
from mlxdecoder.commands.train_together import hand_out, preparing, train_along
from mlxdecoder.errors import UserError
from mlxdecoder.mistakes import switch_on
from mlxdecoder.streams import unheard_is_fine
from mlxdecoder.training.checkpoint import load_checkpoint, load_training
from mlxdecoder.training.console import ConsoleObserver
from mlxdecoder.training.options import TrainingOptions
from mlxdecoder.training.peers import join
from mlxdecoder.training.prepare import Prepared, fresh_model, prepare
from mlxdecoder.training.presets import PRESETS, Preset
from mlxdecoder.training.run_folder import RunFolder
from mlxdecoder.training.trainer import Trainer
from mlxdecoder.translate import as_translator

Say = Callable[[str], None]


def add_parser(subparsers: Subparsers) -> None:
    parser = add_command(
        subparsers,
        "train",
        run,
        "Train a translator. Ctrl-C saves and stops; --resume goes on as if it had not stopped.",
        "mlxdecoder train --corpus fra.txt.gz --limit 20000 --out my-translator\n"
        "on two machines: mlx.launch --hosts 10.0.0.1,10.0.0.2 mlxdecoder train --toy --out my-translator",
    )
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="folder of the run, for its checkpoints")
    text = parser.add_mutually_exclusive_group()
    toy = "train on the toy grammar, English to French (the default)"
    text.add_argument("--toy", action="store_true", default=None, help=toy)
    text.add_argument("--corpus", **corpus_files())
    add_choice_options(parser)
    measured = "a corpus to measure by, in place of pairs held out of --corpus; read with the same choices"
    parser.add_argument("--validation", nargs="+", metavar="FILE", help=measured)
    parser.add_argument("--resume", action="store_true", help="go on with the run in --out; only --steps may be new")
    parser.add_argument("--preset", choices=tuple(PRESETS), help=presets_help())
    parser.add_argument("--vocab-size", type=int, metavar="N", help="pieces of the tokenizer, both languages in one")
    add_training_options(parser)
    add_model_options(parser)
    add_json(parser, "print the measures as JSON lines")


def run(options: argparse.Namespace) -> None:
    peers = join()
    if peers.rank:
        return train_along(peers)
    say: Say = _to_stderr if options.json else _to_stdout
    with preparing(peers):
        trainer, observer, text = _resumed(options, say) if options.resume else _started(options, say)
    if peers.size > 1:
        say(f"{peers.size} processes train together.")
        hand_out(trainer, peers)
    with observer.stopping_on_interrupt():
        trainer.run(peers)
    done, steps = trainer.step, trainer.options.steps
    if done < steps and observer.wants_stop():
        say(f"Saved and stopped at step {done} of {steps}. Go on with:")
        say(f"  {command_line()} train --resume --out {options.out}")
        return
    if done < steps:
        say(f"Stopped at step {done}: no better for {trainer.options.patience} measurements.")
    if not options.json:
        show_translations(options.out, text.validation)


def _started(options: argparse.Namespace, say: Say) -> tuple[Trainer, ConsoleObserver, Text]:
    preset, origin = preset_of(options), origin_of(options)
    folder = RunFolder.fresh(options.out)
    text = origin.read()
    say(text.said)
    folder.make()
    prepared = prepare(text.train, text.validation, preset.vocab_size, progress=_to_stderr)
    model = fresh_model(preset.model, prepared.tokenizer, preset.training.seed)
    say(_sizes(prepared, preset))
    observer = ConsoleObserver(preset.training.steps, as_json=options.json)
    return _trainer(model, prepared, preset.training, folder, observer, origin), observer, text


def _resumed(options: argparse.Namespace, say: Say) -> tuple[Trainer, ConsoleObserver, Text]:
    refuse_changes(options)
    folder = RunFolder(options.out)
    newest = folder.newest()
    state, checkpoint = load_training(newest), load_checkpoint(newest)
    step, training = state.values["step"], _going_on(state.values, options)
    origin = Origin.from_dict(state.values["origin"])
    text = origin.read()
    say(f"{text.said}\nGoing on from step {step} of {training.steps}.")
    prepared = prepare(text.train, text.validation, 0, checkpoint.tokenizer)
    observer = ConsoleObserver(training.steps, step, options.json)
    model = as_translator(checkpoint)
    model.recipe = switch_on(origin.mistakes)
    trainer = _trainer(model, prepared, training, folder, observer, origin)
    trainer.resume(newest)
    return trainer, observer, text


def _going_on(values: dict[str, Any], options: argparse.Namespace) -> TrainingOptions:
    """The options of the run, with as many steps as are asked for now."""
    before, step = TrainingOptions.from_dict(values["options"], str(options.out)), values["step"]
    training = before if options.steps is None else replace(before, steps=options.steps)
    if step >= training.steps:
        raise UserError(f"{options.out}: its run is complete, at step {step}; --steps {2 * step}, say, trains on.")
    return training


def _trainer(
    model: Any,
    prepared: Prepared,
    training: TrainingOptions,
    folder: RunFolder,
    observer: ConsoleObserver,
    origin: Origin,
) -> Trainer:
    return Trainer(
        model,
        prepared.tokenizer,
        prepared.train,
        prepared.validation,
        training,
        folder=folder,
        observer=observer,
        origin=origin.to_dict(),
    )


def _sizes(prepared: Prepared, preset: Preset) -> str:
    left_out = f" {prepared.left_out} pairs are left out, as too long." if prepared.left_out else ""
    return f"{preset.training.steps} steps; a vocabulary of {prepared.tokenizer.vocab_size} pieces.{left_out}"


def _to_stdout(line: str) -> None:
    with unheard_is_fine():
        print(line, flush=True)


def _to_stderr(line: str) -> None:
    print(line, file=sys.stderr)
