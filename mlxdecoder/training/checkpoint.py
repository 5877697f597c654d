"""A checkpoint: a folder with a model, its tokenizer and, where it is to go on, the state of its training.

    config.json  weights.safetensors  tokenizer.model  [training.json  training.safetensors]  manifest.json

A model from elsewhere has the files of its own tokenizer instead. A checkpoint is written under a temporary name and
renamed, so it is whole or not there; the manifest holds a digest of each file.
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
from mlxdecoder.files import write_bytes, write_text
from mlxdecoder.models import Encoder, LanguageModel, Translator, plan_model
from mlxdecoder.quantized import BITS, GROUP_SIZES, Quantization, quantize
from mlxdecoder.safetensors import load_safetensors, save_safetensors
from mlxdecoder.text.foreign import make_tokenizer
from mlxdecoder.text.protocol import TextTokenizer
from mlxdecoder.text.tokenizer import BEGIN, END, PAD, Tokenizer

FORMAT = 1
CONFIG, WEIGHTS, TOKENIZER, MANIFEST = "config.json", "weights.safetensors", "tokenizer.model", "manifest.json"
TRAINING, TRAINING_ARRAYS = "training.json", "training.safetensors"


@dataclass(frozen=True)
class Checkpoint:
    """A model that is ready to use, the tokenizer that it was trained with, and where it came from."""

    model: Encoder | LanguageModel | Translator = field(repr=False)
    tokenizer: TextTokenizer
    path: Path

    def read(self, text: str) -> list[int]:
        """What the model reads of a text: a language model goes on from a begin mark.

        Tokenizers from elsewhere put it there themselves where their model wants it.
        """
        ids = self.tokenizer.encode(text)
        begins = isinstance(self.model, LanguageModel) and (self.tokenizer.kind == "own" or not ids)
        return [self.model.config.begin_id, *ids] if begins else ids

    @property
    def fingerprint(self) -> str:
        """16 hex digits that tell two checkpoints apart: the manifest has a digest of each file, where there is one."""
        if (self.path / MANIFEST).is_file():
            told = (self.path / MANIFEST).read_bytes()
        else:
            sizes = [(file.name, file.stat().st_size) for file in sorted(self.path.glob("*.safetensors"))]
            told = (self.path / CONFIG).read_bytes() + repr(sizes).encode()
        return hashlib.sha256(told).hexdigest()[:16]


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
) -> None:
    """Write a checkpoint to a folder that does not exist yet; raises `UserError` when it does.

    `quantization` says how the weights were quantised, where they were.
    """
    path = Path(path)
    if path.exists():
        raise UserError(f"{path}: exists already; choose another name, or remove it first.")
    temporary = path.parent / f".{path.name}.{os.getpid()}"
    shutil.rmtree(temporary, ignore_errors=True)
    temporary.mkdir(parents=True)
    try:
        _write_files(temporary, config, weights, tokenizer, training, quantization)
        os.rename(temporary, path)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def load_checkpoint(path: Path | str) -> Checkpoint:
    """Read a checkpoint folder, or the best one of a run folder; raises `UserError` that names the faulty file."""
    blas.warn_when_slow()
    path = find_checkpoint(Path(path))
    digests = check_manifest(path)
    values = read_json(path / CONFIG)
    if values.get("format") != FORMAT or not isinstance(values.get("model"), dict):
        raise UserError(f"{path / CONFIG}: format {values.get('format')!r} found, {FORMAT} wanted.")
    config = ModelConfig.from_dict(values["model"], str(path / CONFIG))
    tokenizer = _read_tokenizer(path, values.get("tokenizer"), digests)
    check_fits(config, tokenizer, str(path / TOKENIZER))
    model = plan_model(config)
    if quantization := _quantization(values, path):
        quantize(model, quantization)
    put_weights(model, load_safetensors(path / WEIGHTS)[0], path / WEIGHTS)
    model.eval()
    return Checkpoint(model, tokenizer, path)


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
    check_names(name, missing, extra, {key: (weights[key].shape, wanted[key].shape) for key in wrong})
    broken = [key for key in sorted(weights) if not mx.isfinite(weights[key]).all().item()]
    if broken:
        raise UserError(f"{name}: {broken[0]} holds values that are no numbers; take an earlier checkpoint.")
    model.load_weights(list(weights.items()))


def check_names(
    name: Path, missing: list[str], extra: list[str], wrong: dict[str, tuple[tuple[int, ...], tuple[int, ...]]]
) -> None:
    """Raise `UserError` that lists what is missing, left over, or of another shape (found, wanted)."""
    parts = [f"{what} {_first(names)}" for what, names in (("missing", missing), ("left over", extra)) if names]
    shapes = [f"{key} has shape {found}, the config wants {wanted}" for key, (found, wanted) in sorted(wrong.items())]
    if parts or shapes:
        raise UserError(f"{name}: does not fit the config: {'; '.join([*parts, *shapes[:1]])}.")


def _first(names: list[str]) -> str:
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


def read_json(path: Path) -> dict[str, Any]:
    """Read a JSON object; raises `UserError` that names the file."""
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror}).") from None
    except (ValueError, RecursionError) as error:
        raise UserError(f"{path}: damaged, not JSON ({error}).") from None
    if not isinstance(values, dict):
        raise UserError(f"{path}: damaged, a JSON object is wanted.")
    return values


def check_manifest(path: Path) -> dict[str, Any]:
    """Compare each file with its digest, and give the digests; raises `UserError` that names the first that differs."""
    digests = read_json(path / MANIFEST)
    for name in (CONFIG, WEIGHTS):
        _check_named(path, name, digests)
    for name, digest in digests.items():
        file = path / name
        if Path(name).name != name or not file.is_file():
            raise UserError(f"{file}: missing from the checkpoint; copy the whole folder again.")
        if _digest(file) != digest:
            raise UserError(f"{file}: damaged or changed since it was written; copy the checkpoint again.")
    return digests


def _check_named(path: Path, name: str, digests: dict[str, Any]) -> None:
    if name not in digests:
        raise UserError(f"{path / MANIFEST}: damaged, it does not name {name}; copy the whole folder again.")


def _write_files(
    folder: Path,
    config: ModelConfig,
    weights: dict[str, mx.array],
    tokenizer: TextTokenizer,
    training: TrainingState | None,
    quantization: Quantization | None,
) -> None:
    values = {"format": FORMAT, "tokenizer": _told_of(tokenizer), "model": asdict(config)}
    values |= {"quantization": asdict(quantization)} if quantization else {}
    write_text(folder / CONFIG, json.dumps(values, indent=2) + "\n")
    save_safetensors(folder / WEIGHTS, weights)
    for name, data in tokenizer.files.items():
        write_bytes(folder / name, data)
    if training:
        write_text(folder / TRAINING, json.dumps(training.values, indent=2) + "\n")
        save_safetensors(folder / TRAINING_ARRAYS, training.arrays)
    digests = {file.name: _digest(file) for file in sorted(folder.iterdir())}
    write_text(folder / MANIFEST, json.dumps(digests, indent=2) + "\n")


def check_fits(config: ModelConfig, tokenizer: TextTokenizer, name: str = "tokenizer") -> None:
    """Raise `UserError` for a tokenizer with another vocabulary or other special ids than a model was made for.

    Models from elsewhere have their own special ids, and often room for more pieces than there are.
    """
    if tokenizer.kind != "own":
        room = max(config.target_vocab, config.n_source_ids)
        if tokenizer.vocab_size > room:
            raise UserError(f"{name}: {tokenizer.vocab_size} pieces found; the model has room for {room}.")
        return
    if tokenizer.vocab_size != config.target_vocab:
        found = f"{tokenizer.vocab_size} pieces found, target_vocab = {config.target_vocab} wanted"
        raise UserError(f"{name}: does not fit the model: {found}.")
    ids = (config.pad_id, config.begin_id, config.end_id)
    if ids != (PAD, BEGIN, END):
        raise UserError(f"{name}: its pad, begin and end ids are {(PAD, BEGIN, END)}; the model was made for {ids}.")


def _told_of(tokenizer: TextTokenizer) -> str | dict[str, Any]:
    """What a checkpoint's config says of its tokenizer: of our own, its fingerprint alone."""
    if tokenizer.kind == "own":
        return tokenizer.fingerprint
    return {
        "kind": tokenizer.kind,
        "fingerprint": tokenizer.fingerprint,
        "files": sorted(tokenizer.files),
        "settings": tokenizer.settings,
    }


def _read_tokenizer(path: Path, told: object, digests: dict[str, Any]) -> TextTokenizer:
    """The tokenizer that the config tells of; every file of it was compared with its digest."""
    foreign = told if isinstance(told, dict) else {}
    names = foreign.get("files", []) if foreign else [TOKENIZER]
    for name in names:
        _check_named(path, name, digests)
    if foreign:
        files = {name: (path / name).read_bytes() for name in names}
        return make_tokenizer(str(foreign.get("kind")), files, foreign.get("settings", {}))
    tokenizer = Tokenizer.load(path / TOKENIZER)
    if tokenizer.fingerprint != told:
        raise UserError(
            f"{path / TOKENIZER}: not the tokenizer of this model: fingerprint {tokenizer.fingerprint} found, "
            f"{told} wanted."
        )
    return tokenizer


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
