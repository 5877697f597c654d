"""`mlxdecoder import`: a local Hugging Face folder becomes a checkpoint."""

from __future__ import annotations

import argparse
from pathlib import Path

from mlx.utils import tree_flatten

from mlxdecoder.commands.common import Subparsers, add_command, add_json, print_json
from mlxdecoder.errors import UserError
from mlxdecoder.pretrained.loading import DATA_TYPES, load_pretrained
from mlxdecoder.pretrained.quality import TEXT, compare
from mlxdecoder.quantized import BITS, Quantization, quantize
from mlxdecoder.text.readers import read_lines
from mlxdecoder.training.checkpoint import Checkpoint, save_checkpoint


def add_parser(subparsers: Subparsers) -> None:
    parser = add_command(
        subparsers,
        "import",
        run,
        "Read a model from a local Hugging Face folder (config.json, safetensors, tokenizer) and write it as a "
        "checkpoint, in another type if you like. Every --model takes such a folder too.",
        "mlxdecoder import ~/models/gpt2 --out gpt2",
    )
    parser.add_argument("path", type=Path, metavar="PATH", help="the folder, on this machine")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="the checkpoint to write")
    parser.add_argument(
        "--dtype", choices=tuple(DATA_TYPES), help="the type of the numbers (default: as in the folder)"
    )
    parser.add_argument("--bits", type=int, choices=BITS, help="quantise the linear maps, and show what it costs")
    parser.add_argument("--text", type=Path, metavar="FILE", help="the text to measure that on (default: a short one)")
    add_json(parser)


def run(options: argparse.Namespace) -> None:
    if options.out.exists():
        raise UserError(f"{options.out}: exists already; choose another name, or remove it first.")
    if options.text and not options.bits:
        raise UserError("--text: only used to measure what --bits costs; give --bits too.")
    checkpoint = load_pretrained(options.path, options.dtype)
    told = _told(checkpoint)
    how = Quantization(options.bits) if options.bits else None
    costs = _quantized(checkpoint, how, options.text) if how else {}
    weights = dict(tree_flatten(checkpoint.model.parameters()))
    save_checkpoint(options.out, checkpoint.model.config, weights, checkpoint.tokenizer, quantization=how)
    told |= {"memory": f"{sum(array.nbytes for array in weights.values()):,} bytes"} | costs
    if options.json:
        print_json({**told, "path": str(options.out)})
    else:
        print("\n".join([*(f"{name}: {value}" for name, value in told.items()), str(options.out)]))


def _quantized(checkpoint: Checkpoint, how: Quantization, text: Path | None) -> dict[str, str]:
    """Quantise, and say what it costs."""
    maps: list[int] = []
    words = TEXT if text is None else "\n".join(read_lines(text))
    loss = compare(checkpoint, lambda: maps.append(quantize(checkpoint.model, how)), words)
    told = {"quantised": f"{maps[0]} linear maps, {how.bits} bits in groups of {how.group_size}"}
    if not maps[0]:
        raise UserError(f"--bits {how.bits}: no linear map of this model has a multiple of {how.group_size} inputs.")
    if loss.kl is not None and loss.agreement is not None:
        told["divergence"] = f"{loss.kl:.4f} nats a token from the unquantised model"
        told["same best token"] = f"{loss.agreement:.1%}"
    if loss.perplexities:
        told["perplexity"] = "{:.2f} before, {:.2f} after".format(*loss.perplexities)
    return told | {"largest change": f"{loss.change:.1%} of the largest output"}


def _told(checkpoint: Checkpoint) -> dict[str, str]:
    weights = [array for _, array in tree_flatten(checkpoint.model.parameters())]
    config = checkpoint.model.config
    return {
        "architecture": config.architecture,
        "parameters": f"{sum(array.size for array in weights):,}",
        "type": str(weights[0].dtype).removeprefix("mlx.core."),
        "tokenizer": repr(checkpoint.tokenizer),
    }
