"""`mlxdecoder attend`: the attention of a model for one sentence, as a figure or as numbers."""

from __future__ import annotations

import argparse
from pathlib import Path

from mlxdecoder.commands.common import Subparsers, add_command, add_json, add_model, print_json, warn_of_unknown
from mlxdecoder.errors import UserError
from mlxdecoder.generate import generate
from mlxdecoder.maps import AttentionMap, save_numbers
from mlxdecoder.trace import PREFIXES, Trace
from mlxdecoder.trace import attend as attend_to
from mlxdecoder.training.checkpoint import Checkpoint
from mlxdecoder.translate import as_translator, load

NUMBERS = (".json", ".npz")


def add_parser(subparsers: Subparsers) -> None:
    parser = add_command(
        subparsers,
        "attend",
        run,
        "Draw the attention of a model while it translates a sentence: PNG, SVG or PDF, or numbers as JSON or NPZ.",
        'mlxdecoder attend "The black cat sleeps." --kind cross --out cross.png',
    )
    parser.add_argument("text", help="the sentence, in quotes")
    add_model(parser)
    parser.add_argument(
        "--out", type=Path, metavar="FILE", help="where to write, by its ending (default: attention.png)"
    )
    parser.add_argument("--kind", choices=tuple(PREFIXES), default="cross", help="which attention (default: cross)")
    parser.add_argument("--layer", type=int, help="one layer, counted from 0 (default: all)")
    parser.add_argument("--head", type=int, help="one head, counted from 0 (default: all)")
    parser.add_argument("--target", help="attend for this translation instead of the model's own")
    add_json(parser, "print the numbers as JSON instead of writing a file")


def run(options: argparse.Namespace) -> None:
    out = options.out or Path("attention.png")
    if options.json and options.out:
        raise UserError("--json: prints the numbers, so that --out has nothing to do; leave one of them out.")
    if not options.json:
        _check_ending(out)
    checkpoint = load(options.model)
    maps, translation = attention_maps(checkpoint, options.text, options.target)
    chosen = maps[options.kind].select(_one(options.layer), _one(options.head))
    if options.json:
        print_json({"source": options.text, "translation": translation, **chosen.to_json()})
        return
    write_map(chosen, out, f"{options.text} → {translation}")
    print(f"{translation}\n{out}")


def attention_maps(checkpoint: Checkpoint, text: str, target: str | None = None) -> tuple[dict[str, AttentionMap], str]:
    """The attention of all kinds for a sentence, and its translation: the model's own, unless one is given."""
    model, tokenizer = as_translator(checkpoint), checkpoint.tokenizer
    source = tokenizer.encode(text)
    if not source:
        raise UserError("text: no words found in it; a sentence is wanted.")
    warn_of_unknown(tokenizer.unknown_characters(text))
    if target is None:
        trace, generation = Trace(), None
        generation = generate(model, [source], watch=trace)[0]
        read = [model.config.begin_id, *generation.tokens][: len(generation.path)]
        target = tokenizer.decode(generation.tokens)
    else:
        read = [model.config.begin_id, *tokenizer.encode(target)]
        trace = attend_to(model, source, read)
    keys, queries = tokenizer.pieces(source), tokenizer.pieces(read)
    window = model.config.window
    maps = {
        "encoder": trace.attention_map("encoder", keys, keys),
        "decoder": trace.attention_map("decoder", queries, queries, window=window),
        "cross": trace.attention_map("cross", queries, keys),
    }
    return maps, target


def write_map(map: AttentionMap, path: Path, title: str) -> None:
    """Write a map as the ending of the path says: numbers, or a figure."""
    if path.suffix.lower() in NUMBERS:
        save_numbers([map], path)
        return
    from mlxdecoder.figures import attention_figure, save_figure

    save_figure(attention_figure(map, title=title), path)


def _check_ending(path: Path) -> None:
    endings = (".png", ".svg", ".pdf", *NUMBERS)
    if path.suffix.lower() not in endings or path.is_dir():
        raise UserError(f"--out {path}: a file that ends in {', '.join(endings)} is wanted.")


def _one(number: int | None) -> list[int] | None:
    return None if number is None else [number]
