"""`mlxdecoder train`: a translator from a corpus, or from the toy grammar, to a folder of checkpoints."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from mlxdecoder.commands.common import Subparsers, add_command, add_json
from mlxdecoder.errors import UserError
from mlxdecoder.text.bleu import bleu
from mlxdecoder.text.corpus import Pair, read_corpus
from mlxdecoder.text.splits import split_without_leaks
from mlxdecoder.text.toy import make_splits
from mlxdecoder.training.checkpoint import load_checkpoint, read_json
from mlxdecoder.training.console import ConsoleObserver
from mlxdecoder.training.options import TrainingOptions
from mlxdecoder.training.prepare import Prepared, fresh_model, prepare
from mlxdecoder.training.presets import PRESETS, Preset
from mlxdecoder.training.run_folder import RunFolder
from mlxdecoder.training.trainer import Trainer
from mlxdecoder.translate import as_translator, load, translate

N_SHOWN = 5
HELD_OUT = 500
SMALLEST_TRAINING_SHARE = 0.8


@dataclass(frozen=True)
class Text:
    """What is trained on, what is held out, and a word about it."""

    train: Sequence[Pair]
    validation: Sequence[Pair]
    said: str


def add_parser(subparsers: Subparsers) -> None:
    parser = add_command(
        subparsers,
        "train",
        run,
        "Train a translator. Ctrl-C saves and stops; --resume goes on as if it had not stopped.",
        "mlxdecoder train --corpus fra.txt.gz --limit 20000 --preset small --out my-translator",
    )
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="folder of the run, for its checkpoints")
    text = parser.add_mutually_exclusive_group()
    text.add_argument("--toy", action="store_true", help="train on the toy grammar, English to French (the default)")
    text.add_argument(
        "--corpus",
        type=Path,
        nargs="+",
        metavar="FILE",
        help="one tab-separated file (source, target) or two files of equal length; plain or .gz",
    )
    parser.add_argument("--limit", type=int, metavar="N", help="read the first N lines only")
    parser.add_argument("--resume", action="store_true", help="go on with the run in --out")
    parser.add_argument("--preset", choices=tuple(PRESETS), help="sizes that go together (default: toy, or small)")
    parser.add_argument("--vocab-size", type=int, help="pieces of the tokenizer, both languages in one")
    _add_options(parser.add_argument_group("training"), TrainingOptions())
    model = parser.add_argument_group("model")
    for name in ("d-model", "n-heads", "n-kv-heads", "d-ff", "n-layers", "n-encoder-layers"):
        model.add_argument(f"--{name}", type=int)
    for name in ("norm", "norm-kind", "positions", "activation"):
        model.add_argument(f"--{name}")
    model.add_argument("--dropout", type=float)
    add_json(parser, "print the measures as JSON lines")


def run(options: argparse.Namespace) -> None:
    preset = _preset(options)
    say = print if not options.json else _to_stderr
    text = _read(options)
    say(text.said)
    trainer, observer = _resumed(options, text) if options.resume else _started(options, text, preset, say)
    with observer.stopping_on_interrupt():
        trainer.run()
    if trainer.step < trainer.options.steps:
        say(f"Stopped at step {trainer.step} of {trainer.options.steps}; --resume goes on.")
    if not options.json:
        _show(options.out, text.validation)


def _started(options: argparse.Namespace, text: Text, preset: Preset, say: Any) -> tuple[Trainer, ConsoleObserver]:
    folder = RunFolder.fresh(options.out)
    prepared = prepare(text.train, text.validation, preset.vocab_size, progress=_to_stderr)
    model = fresh_model(preset.model, prepared.tokenizer, preset.training.seed)
    say(_sizes(prepared))
    observer = ConsoleObserver(preset.training.steps, as_json=options.json)
    return _trainer(model, prepared, preset.training, folder, observer), observer


def _resumed(options: argparse.Namespace, text: Text) -> tuple[Trainer, ConsoleObserver]:
    """Everything but the number of steps is as it was when the run began."""
    folder = RunFolder(options.out)
    newest = folder.newest()
    checkpoint = load_checkpoint(newest)
    training = TrainingOptions(**read_json(newest / "training.json")["options"])
    if options.steps is not None:
        training = replace(training, steps=options.steps)
    prepared = prepare(text.train, text.validation, 0, checkpoint.tokenizer)
    observer = ConsoleObserver(training.steps, read_json(newest / "training.json")["step"], options.json)
    trainer = _trainer(as_translator(checkpoint), prepared, training, folder, observer)
    trainer.resume(newest)
    return trainer, observer


def _trainer(model: Any, prepared: Prepared, training: TrainingOptions, folder: RunFolder, observer: Any) -> Trainer:
    return Trainer(
        model, prepared.tokenizer, prepared.train, prepared.validation, training, folder=folder, observer=observer
    )


def _read(options: argparse.Namespace) -> Text:
    if options.corpus is None:
        toy = make_splits()
        train, validation = ([Pair(pair.source, pair.target) for pair in part] for part in (toy.train, toy.validation))
        return Text(train, validation, f"Toy grammar: {len(train)} pairs to train on, {len(validation)} held out.")
    if len(options.corpus) > 2:
        raise UserError(f"--corpus: {len(options.corpus)} files found; one or two are wanted.")
    target = options.corpus[1] if len(options.corpus) == 2 else None
    corpus = read_corpus(options.corpus[0], target, options.limit)
    held_out = min(HELD_OUT, int(len(corpus.pairs) * (1 - SMALLEST_TRAINING_SHARE)))
    if held_out < 1:
        raise UserError(f"--corpus: {len(corpus.pairs)} pairs found in {options.corpus[0]}; at least 5 are wanted.")
    splits = split_without_leaks(corpus.pairs, held_out, 0)
    counts = f"{len(splits.train)} pairs to train on, {len(splits.validation)} held out, with no sentence in both."
    return Text(splits.train, splits.validation, f"{corpus.report.describe()}\n{counts}")


def _preset(options: argparse.Namespace) -> Preset:
    """The preset, with what the command line says instead."""
    preset = PRESETS[options.preset or ("toy" if options.corpus is None else "small")]
    model = {field.name: getattr(options, field.name, None) for field in fields(preset.model)}
    training = {field.name: getattr(options, field.name, None) for field in fields(preset.training)}
    return Preset(
        preset.vocab_size if options.vocab_size is None else options.vocab_size,
        replace(preset.model, **_given(model)),
        replace(preset.training, **_given(training)),
    )


def _given(values: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


def _add_options(group: Any, defaults: TrainingOptions) -> None:
    for field in fields(defaults):
        kind = type(getattr(defaults, field.name))
        group.add_argument(f"--{field.name.replace('_', '-')}", type=kind)


def _sizes(prepared: Prepared) -> str:
    left_out = f"; {prepared.left_out} pairs left out, too long" if prepared.left_out else ""
    return f"Vocabulary: {prepared.tokenizer.vocab_size} pieces ({prepared.tokenizer.fingerprint}){left_out}."


def _show(folder: Path, validation: Sequence[Pair]) -> None:
    """What the best checkpoint makes of the held-out sentences: some of them, and BLEU over all."""
    checkpoint = load(folder)
    made = translate(checkpoint, [pair.source for pair in validation])
    print(f"\nHeld-out sentences, translated by {checkpoint.path}:")
    for pair, text in list(zip(validation, made, strict=True))[:N_SHOWN]:
        print(f"  {pair.source}\n  → {text}\n    (wanted: {pair.target})")
    if find_spec("sacrebleu"):
        score, signature = bleu(made, [pair.target for pair in validation])
        print(f"BLEU {score:.1f} over {len(made)} sentences, greedy ({signature})")


def _to_stderr(line: str) -> None:
    print(line, file=sys.stderr)
