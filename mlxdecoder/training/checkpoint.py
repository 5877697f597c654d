"""A checkpoint: a folder with a model, its tokenizer and, where it is to go on, the state of its training.

    config.json  weights.safetensors  tokenizer.model  [training.json  training.safetensors]  manifest.json

It is written under a temporary name and renamed, so it is whole or not there; the manifest holds a digest of each file.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import mlx.core as mx
from mlx.utils import tree_flatten

from mlxdecoder import blas
from mlxdecoder.config import ModelConfig
from mlxdecoder.errors import UserError
from mlxdecoder.files import write_text
from mlxdecoder.models import Encoder, LanguageModel, Translator, make_model
from mlxdecoder.safetensors import load_safetensors, save_safetensors
from mlxdecoder.text.tokenizer import BEGIN, END, PAD, Tokenizer

FORMAT = 1
CONFIG, WEIGHTS, TOKENIZER, MANIFEST = "config.json", "weights.safetensors", "tokenizer.model", "manifest.json"
TRAINING, TRAINING_ARRAYS = "training.json", "training.safetensors"


@dataclass(frozen=True)
class Checkpoint:
    """A model that is ready to use, the tokenizer that it was trained with, and where it came from."""

    model: Encoder | LanguageModel | Translator = field(repr=False)
    tokenizer: Tokenizer
    path: Path


@dataclass(frozen=True)
class TrainingState:
    """What a run needs besides the weights that are kept, to go on as if it had not stopped."""

    values: dict[str, Any]
    arrays: dict[str, mx.array]


def save_checkpoint(
    path: Path | str,
    config: ModelConfig,
    weights: dict[str, mx.array],
    tokenizer: Tokenizer,
    training: TrainingState | None = None,
) -> None:
    """Write a checkpoint to a folder that does not exist yet; raises `UserError` when it does."""
    path = Path(path)
    if path.exists():
        raise UserError(f"{path}: exists already; choose another name, or remove it first.")
    temporary = path.parent / f".{path.name}.{os.getpid()}"
    shutil.rmtree(temporary, ignore_errors=True)
    temporary.mkdir(parents=True)
    try:
        _write_files(temporary, config, weights, tokenizer, training)
        os.rename(temporary, path)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def load_checkpoint(path: Path | str) -> Checkpoint:
    """Read a checkpoint folder, or the best one of a run folder; raises `UserError` that names the faulty file."""
    blas.warn_when_slow()
    path = find_checkpoint(Path(path))
    check_manifest(path)
    values = read_json(path / CONFIG)
    if values.get("format") != FORMAT or not isinstance(values.get("model"), dict):
        raise UserError(f"{path / CONFIG}: format {values.get('format')!r} found, {FORMAT} wanted.")
    config = ModelConfig.from_dict(values["model"], str(path / CONFIG))
    tokenizer = Tokenizer.load(path / TOKENIZER)
    _check_tokenizer(path, tokenizer, values.get("tokenizer"), config)
    model = make_model(config)
    put_weights(model, load_safetensors(path / WEIGHTS)[0], path / WEIGHTS)
    model.eval()
    return Checkpoint(model, tokenizer, path)


def load_training(path: Path) -> TrainingState:
    """Read the state of training beside a checkpoint's weights."""
    if not (path / TRAINING).is_file():
        raise UserError(f"{path}: holds a model but no training state, so training cannot go on from it.")
    check_manifest(path)
    return TrainingState(read_json(path / TRAINING), load_safetensors(path / TRAINING_ARRAYS)[0])


def find_checkpoint(path: Path, which: str = "best") -> Path:
    """The checkpoint folder that is meant: the folder itself, or the "best" or "newest" one of a run."""
    if not path.is_dir():
        raise UserError(f"{path}: no such folder; a checkpoint or the folder of a training run is wanted.")
    index = path / "run.json"
    if not index.is_file():
        if not (path / CONFIG).is_file():
            raise UserError(f"{path}: no {CONFIG} in it; a checkpoint or the folder of a training run is wanted.")
        return path
    name = read_json(index).get(which)
    if not isinstance(name, str) or Path(name).name != name or not (path / name).is_dir():
        raise UserError(f"{index}: names no {which} checkpoint in this folder.")
    return path / name


def put_weights(model: Encoder | LanguageModel | Translator, weights: dict[str, mx.array], name: Path) -> None:
    """Load weights into a model; raises `UserError` that lists what is missing, left over or of another shape."""
    wanted = dict(tree_flatten(model.parameters()))
    missing, extra = sorted(wanted.keys() - weights.keys()), sorted(weights.keys() - wanted.keys())
    wrong = [key for key in wanted.keys() & weights.keys() if wanted[key].shape != weights[key].shape]
    if missing or extra or wrong:
        key = min(wrong, default="")
        shapes = f"{key} has shape {weights[key].shape}, the config wants {wanted[key].shape}" if wrong else ""
        parts = [f"missing {', '.join(missing[:3])}"] * bool(missing) + [f"left over {', '.join(extra[:3])}"] * bool(
            extra
        )
        raise UserError(f"{name}: does not fit the config: {'; '.join([*parts, shapes] if shapes else parts)}.")
    broken = [key for key in sorted(weights) if not mx.isfinite(weights[key]).all().item()]
    if broken:
        raise UserError(f"{name}: {broken[0]} holds values that are no numbers; take an earlier checkpoint.")
    model.load_weights(list(weights.items()))


def read_json(path: Path) -> dict[str, Any]:
    """Read a JSON object; raises `UserError` that names the file."""
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror}).") from None
    except ValueError as error:
        raise UserError(f"{path}: damaged, not JSON ({error}).") from None
    if not isinstance(values, dict):
        raise UserError(f"{path}: damaged, a JSON object is wanted.")
    return values


def check_manifest(path: Path) -> None:
    """Compare each file with its digest; raises `UserError` that names the first one that differs."""
    digests = read_json(path / MANIFEST)
    for name in (CONFIG, WEIGHTS, TOKENIZER):
        if name not in digests:
            raise UserError(f"{path / MANIFEST}: damaged, it does not name {name}; copy the whole folder again.")
    for name, digest in digests.items():
        file = path / name
        if Path(name).name != name or not file.is_file():
            raise UserError(f"{file}: missing from the checkpoint; copy the whole folder again.")
        if _digest(file) != digest:
            raise UserError(f"{file}: damaged or changed since it was written; copy the checkpoint again.")


def _write_files(
    folder: Path,
    config: ModelConfig,
    weights: dict[str, mx.array],
    tokenizer: Tokenizer,
    training: TrainingState | None,
) -> None:
    values = {"format": FORMAT, "tokenizer": tokenizer.fingerprint, "model": asdict(config)}
    write_text(folder / CONFIG, json.dumps(values, indent=2) + "\n")
    save_safetensors(folder / WEIGHTS, weights)
    tokenizer.save(folder / TOKENIZER)
    if training:
        write_text(folder / TRAINING, json.dumps(training.values, indent=2) + "\n")
        save_safetensors(folder / TRAINING_ARRAYS, training.arrays)
    digests = {file.name: _digest(file) for file in sorted(folder.iterdir())}
    write_text(folder / MANIFEST, json.dumps(digests, indent=2) + "\n")


def check_fits(config: ModelConfig, tokenizer: Tokenizer, name: str = "tokenizer") -> None:
    """Raise `UserError` for a tokenizer with another vocabulary or other special ids than a model was made for."""
    if tokenizer.vocab_size != config.target_vocab:
        found = f"{tokenizer.vocab_size} pieces found, target_vocab = {config.target_vocab} wanted"
        raise UserError(f"{name}: does not fit the model: {found}.")
    ids = (config.pad_id, config.begin_id, config.end_id)
    if ids != (PAD, BEGIN, END):
        raise UserError(f"{name}: its pad, begin and end ids are {(PAD, BEGIN, END)}; the model was made for {ids}.")


def _check_tokenizer(path: Path, tokenizer: Tokenizer, fingerprint: object, config: ModelConfig) -> None:
    if tokenizer.fingerprint != fingerprint:
        raise UserError(
            f"{path / TOKENIZER}: not the tokenizer of this model: fingerprint {tokenizer.fingerprint} found, "
            f"{fingerprint} wanted."
        )
    check_fits(config, tokenizer, str(path / TOKENIZER))


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
