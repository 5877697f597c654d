"""A checkpoint: a folder with a model, its tokenizer and, where it is to go on, the state of its training.

    config.json  weights.safetensors  tokenizer.model  [training.json  training.safetensors]  manifest.json

A model from elsewhere has the files of its own tokenizer instead. A checkpoint is written under a temporary name and
renamed, so it is whole or not there; the manifest holds a digest of each file.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import mlx.core as mx

from mlxdecoder import blas
from mlxdecoder.config import ModelConfig
from mlxdecoder.errors import UserError
from mlxdecoder.files import write_bytes
from mlxdecoder.models import Encoder, LanguageModel, Translator, plan_model
from mlxdecoder.quantized import BITS, GROUP_SIZES, Quantization, quantize
from mlxdecoder.safetensors import load_safetensors, sampled, save_safetensors
from mlxdecoder.text.protocol import TextTokenizer
from mlxdecoder.training.manifest import MANIFEST, check_manifest, read_json, write_json, write_manifest
from mlxdecoder.training.tokenizers import TOKENIZER, check_fits, read_tokenizer, told_of
from mlxdecoder.training.weights import put_weights

FORMAT = 1
CONFIG, WEIGHTS = "config.json", "weights.safetensors"
TRAINING, TRAINING_ARRAYS = "training.json", "training.safetensors"
WANTED = "a checkpoint, the folder of a training run or a Hugging Face folder is wanted"


@dataclass(frozen=True)
class Checkpoint:
    """A model that is ready to use, its tokenizer, where it came from, and what a classifier calls its classes.

    `left_out` are parts of a model from elsewhere, by the names of their arrays with stars, that are not in it.
    """

    model: Encoder | LanguageModel | Translator = field(repr=False)
    tokenizer: TextTokenizer
    path: Path
    labels: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()

    def read(self, text: str) -> list[int]:
        """What the model reads of a text: a language model goes on from a begin mark.

        Tokenizers from elsewhere put it there themselves where their model wants it.
        """
        ids = self.tokenizer.encode(text)
        begins = isinstance(self.model, LanguageModel) and (self.tokenizer.kind == "own" or not ids)
        return [self.model.config.begin_id, *ids] if begins else ids

    @property
    def fingerprint(self) -> str:
        """16 hex digits that tell two checkpoints apart.

        Of our own, the manifest has a digest of each file. Of a folder from elsewhere, the configuration and the names
        of the arrays are taken whole, and of the numbers, which may be many gigabytes, some of every part.
        """
        if (self.path / WEIGHTS).is_file():
            told = (self.path / MANIFEST).read_bytes()
        else:
            files = sorted(self.path.glob("*.safetensors"))
            told = b"".join([(self.path / CONFIG).read_bytes(), *map(sampled, files)])
        return hashlib.sha256(told).hexdigest()[:16]


def check_checkpoint(checkpoint: object) -> None:
    """Raise `UserError` unless this is what `load` gives."""
    if not isinstance(checkpoint, Checkpoint):
        found = type(checkpoint).__name__
        raise UserError(
            f"checkpoint: {found} found, what mlxdecoder.load() gives is wanted: a model and its tokenizer."
        )


@dataclass(frozen=True)
class TrainingState:
    """What a run needs besides the weights that are kept, to go on as if it had not stopped."""

    values: dict[str, Any]
    arrays: dict[str, mx.array]


def save_checkpoint(
    path: Path | str,
    config: ModelConfig,
    weights: dict[str, mx.array],
    tokenizer: TextTokenizer,
    training: TrainingState | None = None,
    quantization: Quantization | None = None,
    labels: Sequence[str] = (),
) -> None:
    """Write a checkpoint to a folder that does not exist yet.

    `quantization` says how the weights were quantised, where they were, `labels` what a classifier calls its classes.
    Raises `UserError` when the folder exists, and `OSError` that names it when it cannot be written, as on a full disk.
    """
    path = Path(path)
    if path.exists():
        raise UserError(f"{path}: exists already; choose another name, or remove it first.")
    temporary = path.parent / f".{path.name}.{os.getpid()}"
    shutil.rmtree(temporary, ignore_errors=True)
    temporary.mkdir(parents=True)
    try:
        values: dict[str, Any] = {"format": FORMAT, "tokenizer": told_of(tokenizer), "model": asdict(config)}
        values |= {"quantization": asdict(quantization)} if quantization else {}
        values |= {"labels": list(labels)} if labels else {}
        _write_files(temporary, values, weights, tokenizer, training)
        os.rename(temporary, path)
    except OSError as error:  # of which the temporary name is nobody's business
        raise type(error)(error.errno, error.strerror, str(path)) from None
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def load_checkpoint(path: Path | str) -> Checkpoint:
    """Read a checkpoint folder, or the best one of a run folder; raises `UserError` that names the faulty file."""
    blas.warn_when_slow()
    path = find_checkpoint(Path(path))
    digests = check_manifest(path, (CONFIG, WEIGHTS))
    values = read_json(path / CONFIG)
    if values.get("format") != FORMAT or not isinstance(values.get("model"), dict):
        raise UserError(f"{path / CONFIG}: format {values.get('format')!r} found, {FORMAT} wanted.")
    config = ModelConfig.from_dict(values["model"], str(path / CONFIG))
    tokenizer = read_tokenizer(path, values.get("tokenizer"), digests)
    check_fits(config, tokenizer, str(path / TOKENIZER))
    model = plan_model(config)
    if quantization := _quantization(values, path):
        quantize(model, quantization)
    put_weights(model, load_safetensors(path / WEIGHTS)[0], path / WEIGHTS)
    model.eval()
    return Checkpoint(model, tokenizer, path, _labels(values, path))


def _labels(values: dict[str, Any], path: Path) -> tuple[str, ...]:
    told = values.get("labels", [])
    if not isinstance(told, list) or not all(isinstance(label, str) for label in told):
        raise UserError(f"{path / CONFIG}: labels: a list of words is wanted.")
    return tuple(told)


def _quantization(values: dict[str, Any], path: Path) -> Quantization | None:
    told = values.get("quantization")
    if told is None:
        return None
    known = isinstance(told, dict) and told.get("bits") in BITS and told.get("group_size") in GROUP_SIZES
    if not known:
        raise UserError(f"{path / CONFIG}: quantization = {told!r}: bits of 4 or 8 and a group_size are wanted.")
    return Quantization(told["bits"], told["group_size"])


def load_training(path: Path) -> TrainingState:
    """Read the state of training beside a checkpoint's weights."""
    if not (path / TRAINING).is_file():
        raise UserError(f"{path}: holds a model but no training state, so training cannot go on from it.")
    check_manifest(path, (CONFIG, WEIGHTS))
    return TrainingState(read_json(path / TRAINING), load_safetensors(path / TRAINING_ARRAYS)[0])


def find_checkpoint(path: Path, which: str = "best") -> Path:
    """The checkpoint folder that is meant: the folder itself, or the "best" or "newest" one of a run."""
    if not path.is_dir():
        raise UserError(f"{path}: no such folder; {WANTED}.")
    index = path / "run.json"
    if not index.is_file():
        if not (path / CONFIG).is_file():
            raise UserError(f"{path}: no {CONFIG} in it; {WANTED}.")
        return path
    name = read_json(index).get(which)
    if not isinstance(name, str) or Path(name).name != name or not (path / name).is_dir():
        raise UserError(f"{index}: names no {which} checkpoint in this folder.")
    return path / name


def _write_files(
    folder: Path,
    values: dict[str, Any],
    weights: dict[str, mx.array],
    tokenizer: TextTokenizer,
    training: TrainingState | None,
) -> None:
    write_json(folder / CONFIG, values)
    save_safetensors(folder / WEIGHTS, weights)
    for name, data in tokenizer.files.items():
        write_bytes(folder / name, data)
    if training:
        write_json(folder / TRAINING, training.values)
        save_safetensors(folder / TRAINING_ARRAYS, training.arrays)
    write_manifest(folder)
