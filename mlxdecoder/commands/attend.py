"""`mlxdecoder attend`: the attention of a model for one text, as a figure, a page to point at, or numbers."""

from __future__ import annotations

import argparse
from pathlib import Path

from mlxdecoder.commands.common import Subparsers, add_command, add_json, add_model, print_json, warn_of_unknown
from mlxdecoder.errors import UserError
from mlxdecoder.html import AttentionView
from mlxdecoder.maps import KINDS, AttentionMap, save_numbers
from mlxdecoder.show import attention_maps, titled
from mlxdecoder.trace import PREFIXES
from mlxdecoder.translate import load

NUMBERS = (".json", ".npz")
PAGE = ".html"


def add_parser(subparsers: Subparsers) -> None:
    parser = add_command(
        subparsers,
        "attend",
        run,
        "Draw the attention of a model while it translates a sentence or, as other models do, reads a text: PNG, SVG "
        "or PDF, as HTML a page of all kinds to point at, or numbers as JSON or NPZ.",
        'mlxdecoder attend "The black cat sleeps." --kind cross --out cross.png',
    )
    parser.add_argument("text", help="the sentence, in quotes")
    add_model(parser)
    parser.add_argument(
        "--out", type=Path, metavar="FILE", help="where to write, by its ending (default: attention.png)"
    )
    parser.add_argument(
        "--kind",
        choices=tuple(PREFIXES),
        help="which attention; in HTML, which comes first (default: cross, where the model has it)",
    )
    parser.add_argument("--layer", type=int, help="one layer, counted from 0 (default: all)")
    parser.add_argument("--head", type=int, help="one head, counted from 0 (default: all)")
    parser.add_argument("--target", help="attend for this translation instead of the model's own")
    parser.add_argument(
        "--words", action="store_true", help="merge the pieces of the vocabulary into words, and say so"
    )
    add_json(parser, "print the numbers as JSON instead of writing a file")


def run(options: argparse.Namespace) -> None:
    out = options.out or Path("attention.png")
    if options.json and options.out:
        raise UserError("--json: prints the numbers, so that --out has nothing to do; leave one of them out.")
    if not options.json:
        _check_ending(out)
    checkpoint = load(options.model)
    warn_of_unknown(checkpoint.tokenizer.unknown_characters(options.text))
    maps, translation = attention_maps(checkpoint, options.text, options.target, words=options.words)
    layers, heads = _one(options.layer), _one(options.head)
    kind = _kind(maps, options.kind)
    chosen = maps[kind].select(layers, heads)
    if options.json:
        said = {} if translation is None else {"translation": translation}
        print_json({"text" if translation is None else "source": options.text, **said, **chosen.to_json()})
        return
    title = titled(options.text, translation)
    if out.suffix.lower() == PAGE:
        others = [each for each in maps.values() if each.kind != kind and options.layer in (None, *each.layers)]
        AttentionView([chosen, *(each.select(layers, heads) for each in others)], title).save(out)
    else:
        write_map(chosen, out, title)
    print(out if translation is None else f"{translation}\n{out}")


def write_map(map: AttentionMap, path: Path, title: str) -> None:
    """Write a map as the ending of the path says: numbers, or a figure."""
    if path.suffix.lower() in NUMBERS:
        save_numbers([map], path)
        return
    from mlxdecoder.figures import attention_figure, save_figure

    save_figure(attention_figure(map, title=title), path)


def _kind(maps: dict[str, AttentionMap], wanted: str | None) -> str:
    """The kind that is asked for; cross-attention says most, where there is some."""
    if wanted is None:
        return "cross" if "cross" in maps else next(iter(maps))
    if wanted not in maps:
        there = " and ".join(KINDS[kind] for kind in maps)
        raise UserError(f"--kind {wanted}: this model has {there} alone; leave --kind out.")
    return wanted


def _check_ending(path: Path) -> None:
    endings = (".png", ".svg", ".pdf", PAGE, *NUMBERS)
    if path.suffix.lower() not in endings or path.is_dir():
        raise UserError(f"--out {path}: a file that ends in {', '.join(endings)} is wanted.")


def _one(number: int | None) -> list[int] | None:
    return None if number is None else [number]
