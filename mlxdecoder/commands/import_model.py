"""`mlxdecoder import`: a local Hugging Face folder becomes a checkpoint."""

from __future__ import annotations

import argparse
import re
from pathlib import Path

from mlx.utils import tree_flatten

from mlxdecoder.commands.common import Subparsers, add_command, add_json, print_json
from mlxdecoder.errors import UserError
from mlxdecoder.models import Encoder, plan_model
from mlxdecoder.pretrained.loading import DATA_TYPES, load_pretrained
from mlxdecoder.pretrained.quality import compare, ids_of
from mlxdecoder.quantized import BITS, GROUP_SIZES, Quantization, QuantizedLinear, fitting, quantize
from mlxdecoder.text.readers import read_lines
from mlxdecoder.training.checkpoint import Checkpoint, save_checkpoint

NAME = re.compile(r"([\w.-]+/)?[\w.-]+")  # of a model on the hub
IDS = "5 6 7"
NEXT = {"language_model": "generate", "translator": "translate", "encoder": "attend"}


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
    parser.add_argument("--text", type=Path, metavar="FILE", help="the text to measure that on, its first 256 tokens")
    add_json(parser)


def run(options: argparse.Namespace) -> None:
    if options.out.exists():
        raise UserError(f"{options.out}: exists already; choose another name, or remove it first.")
    if options.text and not options.bits:
        raise UserError("--text: only used to measure what --bits costs; give --bits too.")
    _check_folder(options.path)
    checkpoint = load_pretrained(options.path, options.dtype)
    told = _told(checkpoint)
    how = fitting(checkpoint.model, options.bits) if options.bits else None
    costs = _quantized(checkpoint, how, options.text) if how else {}
    weights = dict(tree_flatten(checkpoint.model.parameters()))
    save_checkpoint(
        options.out,
        checkpoint.model.config,
        weights,
        checkpoint.tokenizer,
        quantization=how,
        labels=checkpoint.labels,
    )
    told |= {"memory": f"{sum(array.nbytes for array in weights.values()):,} bytes"} | costs
    if options.json:
        print_json({**told, "path": str(options.out)})
    else:
        print("\n".join([*(f"{name}: {value}" for name, value in told.items()), str(options.out)]))
        print(f"Go on with: {_next(checkpoint, options.out)}")


def _check_folder(path: Path) -> None:
    if NAME.fullmatch(str(path)) and not path.exists():
        raise UserError(
            f"{path}: a folder on this machine is wanted; `hf download {path} --local-dir DIR` first, if it is a name."
        )


def _quantized(checkpoint: Checkpoint, how: Quantization, text: Path | None) -> dict[str, str]:
    """Quantise, and say what it costs."""
    maps: list[int] = []
    words = None if text is None else "\n".join(read_lines(text))
    measured_on = _measured_on(checkpoint, text, words)
    loss = compare(checkpoint, lambda: maps.append(quantize(checkpoint.model, how)), words)
    share = f"{_share(checkpoint):.0%} of the parameters"
    told = {"quantised": f"{maps[0]} linear maps, {how.bits} bits in groups of {how.group_size}: {share}"}
    if checkpoint.model.config.n_experts:
        told["not quantised"] = f"the {checkpoint.model.config.n_experts} experts of each layer, which stay as they are"
    if not maps[0]:
        raise UserError(f"--bits {how.bits}: no linear map of this model has a multiple of {min(GROUP_SIZES)} inputs.")
    if loss.kl is not None and loss.agreement is not None:
        told["divergence"] = f"{loss.kl:.4f} nats a token from the unquantised model"
        told["same best token"] = f"{loss.agreement:.1%}"
    if loss.perplexities:
        told["perplexity"] = "{:.2f} before, {:.2f} after".format(*loss.perplexities)
    told["measured on"] = measured_on
    return told | {"largest change": f"{loss.change:.1%} of the largest output"}


def _measured_on(checkpoint: Checkpoint, text: Path | None, words: str | None) -> str:
    if checkpoint.model.config.n_patches:
        if text:
            raise UserError("--text: this model reads images; leave it out.")
        return "an image of noise"
    count = len(ids_of(checkpoint, words))
    if text is None and checkpoint.tokenizer.kind == "none":
        return f"{count} random ids, having no tokenizer"
    return f"the first {count} tokens of {text or 'a short text'}"


def _share(checkpoint: Checkpoint) -> float:
    """How many of the numbers of a model are quantised."""
    model, before = checkpoint.model, plan_model(checkpoint.model.config)
    maps = {name for name, layer in model.named_modules() if isinstance(layer, QuantizedLinear)}
    sizes = {name: array.size for name, array in tree_flatten(before.parameters())}
    return sum(sizes[f"{name}.weight"] for name in maps) / sum(sizes.values())


def _told(checkpoint: Checkpoint) -> dict[str, str]:
    weights = [array for _, array in tree_flatten(checkpoint.model.parameters())]
    left_out = {"left out": f"{', '.join(checkpoint.left_out)}, not computed here"} if checkpoint.left_out else {}
    return {
        "architecture": checkpoint.model.config.architecture,
        "parameters": f"{sum(array.size for array in weights):,}",
        "type": str(weights[0].dtype).removeprefix("mlx.core."),
        "tokenizer": _tokenizer(checkpoint),
        **left_out,
    }


def _tokenizer(checkpoint: Checkpoint) -> str:
    if checkpoint.tokenizer.kind != "none":
        return repr(checkpoint.tokenizer)
    return "none; it reads images" if checkpoint.model.config.n_patches else f"none; give ids, such as {IDS}"


def _next(checkpoint: Checkpoint, out: Path) -> str:
    """What a model is good for, as a command that can be typed."""
    if checkpoint.model.config.n_patches:
        return f"mlxdecoder shapes --model {out}"
    text = IDS if checkpoint.tokenizer.kind == "none" else "The black cat sleeps."
    also = "" if isinstance(checkpoint.model, Encoder) else "; also attend and app"
    command = NEXT[checkpoint.model.config.architecture]
    return f'mlxdecoder {command} --model {out} "{text}"{also}'
