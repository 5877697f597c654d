"""The tokenizer of a checkpoint: what is said of it, how it is read, and whether it fits a model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mlxdecoder.config import ModelConfig
from mlxdecoder.errors import UserError
from mlxdecoder.text.foreign import make_tokenizer
from mlxdecoder.text.protocol import TextTokenizer
from mlxdecoder.text.tokenizer import Tokenizer
from mlxdecoder.text.vocabulary import BEGIN, END, PAD
from mlxdecoder.training.manifest import check_named

TOKENIZER = "tokenizer.model"


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


def told_of(tokenizer: TextTokenizer) -> str | dict[str, Any]:
    """What a checkpoint's config says of its tokenizer: of our own, its fingerprint alone."""
    if tokenizer.kind == "own":
        return tokenizer.fingerprint
    return {
        "kind": tokenizer.kind,
        "fingerprint": tokenizer.fingerprint,
        "files": sorted(tokenizer.files),
        "settings": tokenizer.settings,
    }


def read_tokenizer(path: Path, told: object, digests: dict[str, Any]) -> TextTokenizer:
    """The tokenizer that the config tells of; every file of it was compared with its digest."""
    foreign = told if isinstance(told, dict) else {}
    names = foreign.get("files", []) if foreign else [TOKENIZER]
    check_named(path, names, digests)
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
