"""`mlxdecoder shapes`: one batch on its way through a model, shape by shape."""

from __future__ import annotations

import argparse
from typing import Any

import mlx.core as mx
import numpy as np

from mlxdecoder.cache_memory import FORMULA, kinds_of
from mlxdecoder.commands.common import Subparsers, add_command, add_json, add_model, print_json, table
from mlxdecoder.errors import UserError
from mlxdecoder.models import Encoder, LanguageModel, Translator
from mlxdecoder.trace import shapes
from mlxdecoder.translate import load

AXES = {
    "key_slots": "S",
    "embedded": "B T d",
    "query": "B H T dh",
    "key": "B Hkv S dh",
    "value": "B Hkv S dh",
    "scores": "B H T S",
    "scaled": "B H T S",
    "masked": "B H T S",
    "weights": "B H T S",
    "context": "B H T dh",
    "attended": "B T d",
    "crossed": "B T d",
    "hidden": "B T d_ff",
    "experts": "B T k",
    "output": "B T d",
    "logits": "B T V",
}

LENGTHS = {"source_length": 6, "target_length": 4}
LARGEST = 4096
MOST_CACHED = 2**24
LEGEND = """\
B batch, T queries, S keys, d model width, d_ff width inside the MLP, dh head width, V vocabulary,
H query heads, Hkv key and value heads."""


def add_parser(subparsers: Subparsers) -> None:
    parser = add_command(
        subparsers,
        "shapes",
        run,
        "Print the shape of every tensor between the tokens and the logits of a model.",
        "mlxdecoder shapes --source-length 6 --target-length 4",
    )
    add_model(parser)
    parser.add_argument("--batch", type=int, default=1, help="rows in the batch, B (default: 1)")
    parser.add_argument("--source-length", type=int, help="tokens of the source (default: 6)")
    parser.add_argument("--target-length", type=int, help="tokens of the target (default: 4)")
    parser.add_argument("--cache", type=int, metavar="TOKENS", help="instead, what caches hold after so many tokens")
    add_json(parser)


def run(options: argparse.Namespace) -> None:
    useless = [name for name in LENGTHS if getattr(options, name) is not None and options.cache is not None]
    if useless:
        raise UserError(f"{useless[0]}: means nothing with --cache, which says how many tokens; leave it out.")
    for name, default in LENGTHS.items():
        if getattr(options, name) is None:
            setattr(options, name, default)
    for name in ("batch", *LENGTHS):
        if not 1 <= getattr(options, name) <= LARGEST:
            raise UserError(f"--{name.replace('_', '-')} {getattr(options, name)}: wanted from 1 to {LARGEST}.")
    model = load(options.model).model
    if options.cache is not None:
        _show_caches(model, options)
        return
    inputs = _inputs(model, options)
    seen = shapes(model, *inputs)
    if options.json:
        print_json([{"name": name, "axes": _axes(name), "shape": list(shape)} for name, shape in seen])
        return
    rows = [[name, _axes(name), " x ".join(map(str, shape))] for name, shape in seen]
    print(table(["tensor", "axes", "shape"], rows))
    print(f"\n{LEGEND}")
    if not isinstance(model, Encoder):
        print(f"\nA cache that has seen this holds {_cache_bytes(model, inputs):,} bytes.")


def _show_caches(model: Encoder | LanguageModel | Translator, options: argparse.Namespace) -> None:
    if isinstance(model, Encoder):
        raise UserError("--cache: an encoder has none; a model that generates is wanted.")
    if not 1 <= options.cache <= MOST_CACHED:
        raise UserError(f"--cache {options.cache}: wanted from 1 to {MOST_CACHED}.")
    config = model.config
    if config.positions == "learned" and options.cache > config.max_length:
        raise UserError(
            f"--cache {options.cache}: this model has learned positions for {config.max_length} tokens alone."
        )
    found = cache_rows(model, options.cache, options.batch)
    if options.json:
        print_json(found)
    else:
        print(cache_table(found))
        if isinstance(model, Translator):
            print("\nBesides, cross-attention keeps what it made of the source: n is then the source's length.")


def cache_rows(model: LanguageModel | Translator, tokens: int, batch: int = 1) -> list[dict[str, Any]]:
    """For each kind of cache, its bytes after so many tokens, in the type of the model's numbers."""
    kept: mx.Dtype = model.embedding.weight.dtype
    return [
        {
            "cache": kind.name,
            "formula": kind.formula(tokens, batch, kept.size),
            "held": kind.held(tokens, batch, kept),
        }
        for kind in kinds_of(model.config, tokens)
    ]


def cache_table(rows: list[dict[str, Any]]) -> str:
    """Rows of `cache_rows` under their header, and what the formula is."""
    cells = [[row["cache"], f"{row['formula']:,}", f"{row['held']:,}"] for row in rows]
    quantised = any("kv_bits" in row["cache"] for row in rows)
    note = "" if quantised else "\nHeads of this width are not quantised: a multiple of 32 is wanted."
    return f"{table(['cache', 'bytes by formula', 'bytes held'], cells)}\n\n{FORMULA}{note}"


def _axes(name: str) -> str:
    return AXES[name.rpartition(".")[2]]


def _cache_bytes(model: LanguageModel | Translator, inputs: list[np.ndarray]) -> int:
    cache: Any = model.make_cache()
    if isinstance(model, Translator):
        model.decode(inputs[1], model.encode(inputs[0]), cache)
    else:
        model(inputs[0], cache)
    return sum(layer.nbytes for layer in cache)


def _inputs(model: Encoder | LanguageModel | Translator, options: argparse.Namespace) -> list[np.ndarray]:
    source = np.zeros((options.batch, options.source_length), np.int32)
    target = np.zeros((options.batch, options.target_length), np.int32)
    if isinstance(model, Translator):
        return [source, target]
    config = model.config
    if config.n_patches and config.image_size:
        return [np.zeros((options.batch, config.image_size, config.image_size, config.image_channels), np.float32)]
    return [target]
