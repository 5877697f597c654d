"""Which tokenizer a folder has: tokenizer.json first, as transformers takes it, then SentencePiece, then none."""

from __future__ import annotations

from pathlib import Path

from mlxdecoder.config import ModelConfig
from mlxdecoder.errors import UserError
from mlxdecoder.pretrained.folder import Folder, read_small_json
from mlxdecoder.pretrained.settings import Settings
from mlxdecoder.text.foreign import (
    NoTokenizer,
    json_tokenizer,
    make_tokenizer,
    marian_tokenizer,
    sentencepiece_tokenizer,
)
from mlxdecoder.text.protocol import TextTokenizer

SENTENCEPIECE = ("spiece.model", "tokenizer.model", "sentencepiece.bpe.model")


def find_tokenizer(folder: Folder, config: ModelConfig) -> TextTokenizer:
    """The tokenizer of a folder; raises `UserError` for one that is damaged or too large."""
    path = folder.path
    told = _told(path)
    if (path / json_tokenizer.FILE).is_file():
        return _made(path, "json", {json_tokenizer.FILE: json_tokenizer.FILE}, {})
    if (path / marian_tokenizer.SOURCE).is_file():
        told.must("separate_vocabs", False)
        names = (marian_tokenizer.SOURCE, marian_tokenizer.TARGET, marian_tokenizer.VOCABULARY)
        return _made(path, "marian", {name: name for name in names}, {})
    found = next((name for name in SENTENCEPIECE if (path / name).is_file()), None)
    if found is None:
        return NoTokenizer()
    return _made(path, "sentencepiece", {sentencepiece_tokenizer.FILE: found}, _marks(told, config))


def _made(path: Path, kind: str, names: dict[str, str], settings: dict[str, list[int]]) -> TextTokenizer:
    """A tokenizer of these files of a folder, by the names that it knows them by."""
    try:
        return make_tokenizer(kind, {known: _read(path / name) for known, name in names.items()}, settings)
    except UserError as error:
        named = str(error).startswith(str(path))
        raise error if named else UserError(f"{path}: {error}") from None


def _read(file: Path) -> bytes:
    if not file.is_file():
        raise UserError(f"{file}: missing; the tokenizer of this folder is not whole.")
    if file.stat().st_size > json_tokenizer.LARGEST:
        raise UserError(f"{file}: {file.stat().st_size:,} bytes found; at most {json_tokenizer.LARGEST:,} are read.")
    return file.read_bytes()


def _told(path: Path) -> Settings:
    file = path / "tokenizer_config.json"
    return Settings(read_small_json(file) if file.is_file() else {}, str(file))


def _marks(told: Settings, config: ModelConfig) -> dict[str, list[int]]:
    """Llama's tokenizer begins with a mark, T5's ends with one, unless tokenizer_config.json says otherwise."""
    goes_on = config.architecture == "language_model"
    told = told.over({"add_bos_token": goes_on, "add_eos_token": not goes_on})
    begin, end = told.values["add_bos_token"], told.values["add_eos_token"]
    return {"begin": [config.begin_id] if begin else [], "end": [config.end_id] if end else []}
