"""`mlxdecoder demo`: the main job in one go, from nothing to a trained translator and pictures of its attention."""

from __future__ import annotations

import argparse
from dataclasses import replace
from importlib import import_module
from itertools import count
from pathlib import Path

from mlxdecoder.commands.attend import write_map
from mlxdecoder.commands.common import Subparsers, add_command, command_line
from mlxdecoder.generate import generate
from mlxdecoder.mistakes import MISTAKES, find, switch_on
from mlxdecoder.recipe import RIGHT
from mlxdecoder.show import attention_maps
from mlxdecoder.text.corpus import Pair
from mlxdecoder.text.toy import ToyPair, ToySplits, make_splits
from mlxdecoder.training.checkpoint import Checkpoint
from mlxdecoder.training.console import ConsoleObserver
from mlxdecoder.training.evaluation import exact_match
from mlxdecoder.training.prepare import encode_pairs, fresh_model, prepare
from mlxdecoder.training.presets import PRESETS
from mlxdecoder.training.run_folder import RunFolder
from mlxdecoder.training.trainer import Trainer
from mlxdecoder.translate import as_translator, load, translate

DEMO_STEPS = 600


def add_parser(subparsers: Subparsers) -> None:
    parser = add_command(
        subparsers,
        "demo",
        run,
        "Train the toy translator, try it on unseen sentences, and draw its attention: about a minute on two cores.",
        "mlxdecoder demo --out my-demo",
    )
    parser.add_argument(
        "--out", type=Path, metavar="DIR", help="where to put the files (default: a new mlxdecoder-demo)"
    )
    parser.add_argument("--steps", type=int, default=DEMO_STEPS, help=f"training steps (default: {DEMO_STEPS})")


def run(options: argparse.Namespace) -> None:
    import_module("mlxdecoder.figures")  # says at once when matplotlib is missing, not after the training
    folder = RunFolder.fresh(options.out or _free_folder())
    folder.make()
    out = folder.path
    splits = make_splits()
    checkpoint = _train(splits, RunFolder.fresh(out / "model"), options.steps)
    _measure(checkpoint, splits)
    sentence = _translate(checkpoint, splits.combinations)
    _draw(checkpoint, sentence, out)
    _break(checkpoint, sentence)
    print(f"\nThe model and the pictures are in {out}. Go on with:")
    print(f'  {command_line()} translate --model {out / "model"} "{sentence}"')
    print(f"  {command_line()} mistakes list")


def _train(splits: ToySplits, folder: RunFolder, steps: int) -> Checkpoint:
    print(f"Training a small translator, English to French, on {len(splits.train)} sentences of the toy grammar.")
    preset = PRESETS["toy"]
    training = replace(preset.training, steps=steps)
    prepared = prepare(_pairs(splits.train), _pairs(splits.validation), preset.vocab_size)
    model = fresh_model(preset.model, prepared.tokenizer, training.seed)
    observer = ConsoleObserver(training.steps)
    trainer = Trainer(
        model, prepared.tokenizer, prepared.train, prepared.validation, training, folder=folder, observer=observer
    )
    with observer.stopping_on_interrupt():
        trainer.run()
    return load(folder.path)


def _measure(checkpoint: Checkpoint, splits: ToySplits) -> None:
    print("\nTranslated exactly, of sentences that training never saw:")
    for name, pairs in (
        ("new combinations of known words", splits.combinations),
        ("longer than any in training", splits.lengths),
        ("of a construction never shown", splits.constructions),
    ):
        examples = encode_pairs(checkpoint.tokenizer, _pairs(pairs))
        print(f"  {exact_match(as_translator(checkpoint), examples):6.1%}  {name}")


def _translate(checkpoint: Checkpoint, pairs: list[ToyPair]) -> str:
    """Translate five sentences of different constructions; gives the first one."""
    shown = list({pair.construction: pair for pair in reversed(pairs)}.values())[:5]
    print("\nFive of them:")
    for pair, made in zip(shown, translate(checkpoint, [pair.source for pair in shown]), strict=True):
        print(f"  {pair.source}  →  {made}{'' if made == pair.target else f'   (wanted: {pair.target})'}")
    return shown[0].source


def _draw(checkpoint: Checkpoint, sentence: str, out: Path) -> None:
    maps, translation = attention_maps(checkpoint, sentence)
    print(f"\nAttention while it writes “{translation}”:")
    for kind, map in maps.items():
        path = out / f"{kind}.png"
        write_map(map, path, f"{sentence} → {translation}")
        print(f"  {path}")


def _break(checkpoint: Checkpoint, sentence: str) -> None:
    """Decode once more with the causal mask aligned to the wrong corner of the cache."""
    model, tokenizer = as_translator(checkpoint), checkpoint.tokenizer
    mistake = find("cache-mask-top-left")
    print(f"\nThe same model with a mistake, one of {len(MISTAKES)} in the catalogue. It was trained rightly; only its")
    print(f"decoding is broken. {mistake.title}:")
    print(f"  right     {mistake.right}\n  wrong     {mistake.wrong}")
    for name, recipe in (("right", RIGHT), ("mistaken", switch_on([mistake.id]))):
        model.recipe = recipe
        print(f"  {name:<8}  {tokenizer.decode(generate(model, [tokenizer.encode(sentence)])[0].tokens)}")
    model.recipe = RIGHT


def _pairs(pairs: list[ToyPair]) -> list[Pair]:
    return [Pair(pair.source, pair.target) for pair in pairs]


def _free_folder() -> Path:
    names = (Path(f"mlxdecoder-demo-{i}" if i > 1 else "mlxdecoder-demo") for i in count(1))
    return next(path for path in names if not path.exists())
