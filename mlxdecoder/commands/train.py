"""`mlxdecoder train`: a translator from a corpus, or from the toy grammar, to a folder of checkpoints."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import fields, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from mlxdecoder.commands.common import Subparsers, add_command, add_json, command_line
from mlxdecoder.commands.corpus_options import add_choice_options, chosen, corpus_files, two_at_most
from mlxdecoder.commands.train_options import add_model_options, add_training_options
from mlxdecoder.commands.train_text import Origin, Text
from mlxdecoder.commands.train_together import hand_out, preparing, train_along
from mlxdecoder.errors import UserError
from mlxdecoder.mistakes import switch_on
from mlxdecoder.streams import unheard_is_fine
from mlxdecoder.text.corpus import Pair
from mlxdecoder.text.scores import bleu
from mlxdecoder.training.checkpoint import load_checkpoint, load_training
from mlxdecoder.training.console import ConsoleObserver
from mlxdecoder.training.options import TrainingOptions
from mlxdecoder.training.peers import join
from mlxdecoder.training.prepare import Prepared, fresh_model, prepare
from mlxdecoder.training.presets import PRESETS, Preset
from mlxdecoder.training.run_folder import RunFolder
from mlxdecoder.training.trainer import Trainer
from mlxdecoder.translate import as_translator, load, translate

N_SHOWN = 5
OF_THE_TEXT = ("corpus", "limit", "columns", "languages", "validation")
CHANGEABLE = ("steps",)  # what a resumed run may be given anew

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
    text.add_argument("--toy", action="store_true", help="train on the toy grammar, English to French (the default)")
    text.add_argument("--corpus", **corpus_files())
    add_choice_options(parser)
    measured = "a corpus to measure by, in place of pairs held out of --corpus; read with the same choices"
    parser.add_argument("--validation", nargs="+", metavar="FILE", help=measured)
    parser.add_argument("--resume", action="store_true", help="go on with the run in --out; only --steps may be new")
    parser.add_argument(
        "--preset", choices=tuple(PRESETS), help="sizes that go together (default: small for a corpus, else toy)"
    )
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
    if trainer.step < trainer.options.steps and observer.wants_stop():
        say(f"Saved and stopped at step {trainer.step} of {trainer.options.steps}. Go on with:")
        say(f"  {command_line()} train --resume --out {options.out}")
        return
    if trainer.step < trainer.options.steps:
        say(f"Stopped at step {trainer.step}: no better for {trainer.options.patience} measurements.")
    if not options.json:
        _show(options.out, text.validation)


def _started(options: argparse.Namespace, say: Say) -> tuple[Trainer, ConsoleObserver, Text]:
    preset, origin = _preset(options), _origin(options)
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
    _refuse_changes(options)
    folder = RunFolder(options.out)
    newest = folder.newest()
    state, checkpoint = load_training(newest), load_checkpoint(newest)
    training = TrainingOptions.from_dict(state.values["options"], str(newest))
    training = training if options.steps is None else replace(training, steps=options.steps)
    step = state.values["step"]
    if step >= training.steps:
        raise UserError(f"{options.out}: its run is complete, at step {step}; --steps {2 * step}, say, trains on.")
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


def _origin(options: argparse.Namespace) -> Origin:
    if options.corpus is None:
        for name in OF_THE_TEXT[1:]:
            if (value := getattr(options, name)) is not None:
                given = value if isinstance(value, int) else " ".join(value)
                raise UserError(f"--{name} {given}: is for a corpus; leave it out with the toy grammar.")
        return Origin([], None)
    two_at_most(options.corpus)
    two_at_most(options.validation or ["none"], "--validation")
    corpus, validation = (
        [str(Path(name).absolute()) for name in names or ()] for names in (options.corpus, options.validation)
    )
    return Origin(corpus, options.limit, choice=chosen(options), validation=tuple(validation))


def _preset(options: argparse.Namespace) -> Preset:
    """The preset, with what the command line says instead."""
    preset = PRESETS[options.preset or ("toy" if options.corpus is None else "small")]
    return Preset(
        preset.vocab_size if options.vocab_size is None else options.vocab_size,
        replace(preset.model, **_given(options, preset.model)),
        replace(preset.training, **_given(options, preset.training)),
    )


def _given(options: argparse.Namespace, kind: Any) -> dict[str, Any]:
    """What the command line gives of the fields of a dataclass."""
    values = {field.name: getattr(options, field.name, None) for field in fields(kind)}
    return {name: value for name, value in values.items() if value is not None}


def _refuse_changes(options: argparse.Namespace) -> None:
    preset = PRESETS["toy"]
    names = [*_given(options, preset.model), *_given(options, preset.training)]
    names += [name for name in ("toy", *OF_THE_TEXT, "preset", "vocab_size") if getattr(options, name)]
    changed = [name for name in names if name not in CHANGEABLE]
    if changed:
        option = changed[0].replace("_", "-")
        raise UserError(f"--{option}: a resumed run goes on as it began, on the same text; leave it out.")


def _sizes(prepared: Prepared, preset: Preset) -> str:
    left_out = f" {prepared.left_out} pairs are left out, as too long." if prepared.left_out else ""
    return f"{preset.training.steps} steps; a vocabulary of {prepared.tokenizer.vocab_size} pieces.{left_out}"


def _show(folder: Path, validation: Sequence[Pair]) -> None:
    """What the best checkpoint makes of the held-out sentences: some of them, and BLEU over all."""
    checkpoint = load(folder)
    made = translate(checkpoint, [pair.source for pair in validation])
    print(f"\nHeld-out sentences, translated by the best checkpoint, {checkpoint.path}:")
    for pair, text in list(zip(validation, made, strict=True))[:: -(-len(made) // N_SHOWN)]:
        print(f"  {pair.source}\n  → {text}\n    (wanted: {pair.target})")
    if find_spec("sacrebleu"):
        score, signature = bleu(made, [pair.target for pair in validation])
        print(f"BLEU {score:.1f} over {len(made)} sentences, greedy ({signature})")
    print(f"\nGo on with:\n  {command_line()} translate --model {folder}")


def _to_stdout(line: str) -> None:
    with unheard_is_fine():
        print(line, flush=True)


def _to_stderr(line: str) -> None:
    print(line, file=sys.stderr)
