"""`mlxdecoder train`: a translator from a corpus, or from the toy grammar, to a folder of checkpoints."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from mlxdecoder.commands.common import Subparsers, add_command, add_json, command_line
from mlxdecoder.commands.train_options import add_model_options, add_training_options
from mlxdecoder.errors import UserError
from mlxdecoder.mistakes import switch_on
from mlxdecoder.streams import unheard_is_fine
from mlxdecoder.text.bleu import bleu
from mlxdecoder.text.corpus import Pair, read_corpus
from mlxdecoder.text.splits import Splits, split_without_leaks
from mlxdecoder.text.toy import make_splits
from mlxdecoder.training.checkpoint import load_checkpoint, load_training
from mlxdecoder.training.console import ConsoleObserver
from mlxdecoder.training.options import TrainingOptions
from mlxdecoder.training.prepare import Prepared, fresh_model, prepare
from mlxdecoder.training.presets import PRESETS, Preset
from mlxdecoder.training.run_folder import RunFolder
from mlxdecoder.training.trainer import Trainer
from mlxdecoder.translate import as_translator, load, translate

N_SHOWN = 5
HELD_OUT = 500  # pairs, but never more than a fifth of a corpus
CHANGEABLE = ("steps",)  # what a resumed run may be given anew

Say = Callable[[str], None]


@dataclass(frozen=True)
class Text:
    """What is trained on, what is held out, and a word about it."""

    train: Sequence[Pair]
    validation: Sequence[Pair]
    said: str


@dataclass(frozen=True)
class Origin:
    """Where the pairs come from, one or two files or the toy grammar, and the mistakes that the app trains with.

    Kept in the checkpoints of the run.
    """

    corpus: list[str]
    limit: int | None
    mistakes: tuple[str, ...] = ()

    def read(self) -> Text:
        if not self.corpus:
            toy = make_splits()
            train, held_out = (
                [Pair(pair.source, pair.target) for pair in part] for part in (toy.train, toy.validation)
            )
            return Text(train, held_out, f"Toy grammar: {len(train)} pairs to train on, {len(held_out)} held out.")
        corpus = read_corpus(self.corpus[0], self.corpus[1] if len(self.corpus) == 2 else None, self.limit)
        if len(corpus.pairs) < 5:
            raise UserError(f"--corpus: {len(corpus.pairs)} pairs found in {self.corpus[0]}; at least 5 are wanted.")
        splits = _split(corpus.pairs, self.corpus[0])
        counts = f"{len(splits.train)} pairs to train on, {len(splits.validation)} held out, with no sentence in both."
        return Text(splits.train, splits.validation, f"{corpus.report.describe()}\n{counts}")


def _split(pairs: Sequence[Pair], name: str) -> Splits:
    """Hold out a fifth, at most 500 pairs; fewer where more would tear apart pairs that share a sentence."""
    count = min(HELD_OUT, len(pairs) // 5)
    while count:
        try:
            return split_without_leaks(pairs, count, 0)
        except UserError:
            count //= 2
    raise UserError(f"--corpus: all pairs of {name} share sentences, so that none can be held out to measure by.")


def add_parser(subparsers: Subparsers) -> None:
    parser = add_command(
        subparsers,
        "train",
        run,
        "Train a translator. Ctrl-C saves and stops; --resume goes on as if it had not stopped.",
        "mlxdecoder train --corpus fra.txt.gz --limit 20000 --out my-translator",
    )
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="folder of the run, for its checkpoints")
    text = parser.add_mutually_exclusive_group()
    text.add_argument("--toy", action="store_true", help="train on the toy grammar, English to French (the default)")
    text.add_argument(
        "--corpus",
        nargs="+",
        metavar="FILE",
        help="one tab-separated file (source, target) or two files of equal length; plain or .gz",
    )
    parser.add_argument("--limit", type=int, metavar="N", help="read the first N pairs of the corpus only")
    parser.add_argument("--resume", action="store_true", help="go on with the run in --out; only --steps may be new")
    parser.add_argument(
        "--preset", choices=tuple(PRESETS), help="sizes that go together (default: small for a corpus, else toy)"
    )
    parser.add_argument("--vocab-size", type=int, metavar="N", help="pieces of the tokenizer, both languages in one")
    add_training_options(parser)
    add_model_options(parser)
    add_json(parser, "print the measures as JSON lines")


def run(options: argparse.Namespace) -> None:
    say: Say = _to_stderr if options.json else _to_stdout
    trainer, observer, text = _resumed(options, say) if options.resume else _started(options, say)
    with observer.stopping_on_interrupt():
        trainer.run()
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
    origin = Origin(**state.values["origin"])
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
        origin={"corpus": origin.corpus, "limit": origin.limit}
        | ({"mistakes": list(origin.mistakes)} if origin.mistakes else {}),
    )


def _origin(options: argparse.Namespace) -> Origin:
    if options.corpus is None:
        if options.limit is not None:
            raise UserError(f"--limit {options.limit}: is for a corpus; leave it out with the toy grammar.")
        return Origin([], None)
    if len(options.corpus) > 2:
        raise UserError(f"--corpus: {len(options.corpus)} files found; one or two are wanted.")
    return Origin([str(Path(name).absolute()) for name in options.corpus], options.limit)


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
    names += [name for name in ("toy", "corpus", "limit", "preset", "vocab_size") if getattr(options, name)]
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
