"""`mlxdecoder export`: a model as a folder that transformers reads."""

from __future__ import annotations

import argparse
from pathlib import Path

from mlxdecoder.commands.common import Subparsers, add_command, add_model
from mlxdecoder.pretrained.exporting import export
from mlxdecoder.pretrained.folder import CONFIG, read_small_json
from mlxdecoder.translate import load


def add_parser(subparsers: Subparsers) -> None:
    parser = add_command(
        subparsers,
        "export",
        run,
        "Write a model as a Hugging Face folder (config.json, safetensors, tokenizer): what was imported, and own "
        "models that compute what one of the families there does. Translators of `train` do not: they are no family's.",
        "mlxdecoder export --model gpt2 --out gpt2-for-transformers",
    )
    add_model(parser, required=True)
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="the folder to write")


def run(options: argparse.Namespace) -> None:
    checkpoint = load(options.model)
    family = export(checkpoint, options.out)
    (name,) = read_small_json(options.out / CONFIG)["architectures"]
    print(f"{options.out}: {name}.from_pretrained({str(options.out)!r}) of transformers reads it")
    if family.left_out and not checkpoint.model.config.n_classes:
        print(f"not in it: {', '.join(family.left_out)}; transformers takes random numbers where it wants them")
