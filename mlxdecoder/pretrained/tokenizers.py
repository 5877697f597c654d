"""Which tokenizer a folder has: tokenizer.json first, as transformers takes it, then older files, then none."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from mlxdecoder.config import ModelConfig
from mlxdecoder.errors import UserError, shown
from mlxdecoder.pretrained import old_tokenizers
from mlxdecoder.pretrained.folder import LARGEST_JSON, Folder, read_small_json
from mlxdecoder.pretrained.old_tokenizers import Told
from mlxdecoder.pretrained.settings import Settings
from mlxdecoder.text.foreign import bounds, make_tokenizer, marian_tokenizer, sentencepiece_tokenizer
from mlxdecoder.text.protocol import TextTokenizer

WORD_PIECES, PIECES, MERGES = "vocab.txt", "vocab.json", "merges.txt"
CONFIG, SPECIAL, ADDED = "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json"
BESIDE = (CONFIG, SPECIAL, ADDED, "chat_template.jinja", "chat_template.json", "preprocessor_config.json")
LARGEST = 8 * 2**20  # bytes of a vocabulary alone; the largest that are known have 5 million
EXTRA = 100  # pieces that T5 has beside its SentencePiece model, <extra_id_0> and so on

Files = dict[str, bytes]


def find_tokenizer(folder: Folder, config: ModelConfig) -> TextTokenizer:
    """The tokenizer of a folder, with the files that say how transformers uses it.

    Raises `UserError` for one that is damaged or too large, and for old files of a kind that is not read.
    """
    path, settings = folder.path, _settings(folder.path)
    beside = {name: _read(path / name, LARGEST_JSON) for name in BESIDE if (path / name).is_file()}
    if (path / bounds.FILE).is_file():
        return _made(path, "json", beside | {bounds.FILE: _read(path / bounds.FILE, bounds.LARGEST)})
    if (path / marian_tokenizer.SOURCE).is_file():
        settings.must("separate_vocabs", False)
        names = (marian_tokenizer.SOURCE, marian_tokenizer.TARGET, marian_tokenizer.VOCABULARY)
        return _made(path, "marian", beside | {name: _read(path / name) for name in names})
    if found := next((name for name in sentencepiece_tokenizer.FILES if (path / name).is_file()), None):
        told = {**_marks(settings, config), "added": _added_words(folder, settings)}
        return _made(path, "sentencepiece", beside | {found: _read(path / found)}, told)
    if built := _built(folder, settings):
        return _made(path, "json", beside | {bounds.FILE: built})
    return _made(path, "none", beside)


def _made(path: Path, kind: str, files: Files, settings: dict[str, Any] | None = None) -> TextTokenizer:
    try:
        return make_tokenizer(kind, files, settings or {})
    except UserError as error:
        named = str(error).startswith(str(path))
        raise error if named else UserError(f"{path}: {error}") from None


def _built(folder: Folder, settings: Settings) -> bytes | None:
    """The tokenizer.json that transformers would make of an old vocabulary; None where there is none."""
    path = folder.path
    if (path / WORD_PIECES).is_file():
        _check_class(folder, settings, WORD_PIECES, "bert", "BertTokenizer")
        return _in_words(path, lambda: old_tokenizers.of_word_pieces(_read(path / WORD_PIECES), _told(path, settings)))
    if (path / PIECES).is_file() and (path / MERGES).is_file():
        _check_class(folder, settings, f"{PIECES} and {MERGES}", "gpt2", "GPT2Tokenizer")
        files = (_read(path / PIECES), _read(path / MERGES))
        return _in_words(path, lambda: old_tokenizers.of_merges(*files, _told(path, settings)))
    return None


def _check_class(folder: Folder, settings: Settings, files: str, model_type: str, known: str) -> None:
    """Raise `UserError` for a vocabulary of other rules than those of its kind."""
    kind = settings.values.get("tokenizer_class") or folder.config.values.get("tokenizer_class")
    named = str(kind).removesuffix("Fast") if kind else folder.config.values.get("model_type")
    if named not in (known, model_type):
        raise UserError(
            f"{folder.path}: {files} of {shown(named)} found, which only {known} reads so; let transformers write its "
            f"{bounds.FILE} (AutoTokenizer.from_pretrained, then save_pretrained), or take them away to give it ids."
        )


def _in_words(path: Path, build: Callable[[], bytes]) -> bytes:
    try:
        return build()
    except UserError:
        raise
    except Exception as error:  # the library raises no narrower kind
        raise UserError(f"{path}: the files of its tokenizer are damaged ({shown(error, 200)}).") from None


def _read(file: Path, largest: int = LARGEST) -> bytes:
    if not file.is_file():
        raise UserError(f"{file}: missing; the tokenizer of this folder is not whole.")
    if file.stat().st_size > largest:
        raise UserError(f"{file}: {file.stat().st_size:,} bytes found; at most {largest:,} are read.")
    return file.read_bytes()


def _settings(path: Path) -> Settings:
    """tokenizer_config.json, and special_tokens_map.json, of which transformers takes the special pieces."""
    values: dict[str, Any] = {}
    for name in (CONFIG, SPECIAL):
        if (path / name).is_file() and "added_tokens_decoder" not in values:
            values |= read_small_json(path / name)
    return Settings(values, str(path / CONFIG))


def _told(path: Path, settings: Settings) -> Told:
    """The settings, and the pieces that are added to a vocabulary."""
    listed = settings.part("added_tokens_decoder").values
    if listed:
        return Told(settings, {int(number): dict(piece) for number, piece in listed.items()})
    more = read_small_json(path / ADDED) if (path / ADDED).is_file() else {}
    return Told(settings, {int(number): {"content": str(piece)} for piece, number in more.items()})


def _added_words(folder: Folder, settings: Settings) -> list[str]:
    """The pieces that transformers adds to a SentencePiece model."""
    try:
        found = [str(piece["content"]) for piece in _told(folder.path, settings).added.values()]
    except (TypeError, ValueError, KeyError):
        raise UserError(f"{folder.path}: {ADDED} or {CONFIG}: pieces and their ids are wanted.") from None
    kind = str(settings.values.get("tokenizer_class") or folder.config.values.get("model_type"))
    if kind.lower().startswith("t5"):
        number = settings.over({"extra_ids": EXTRA}).whole("extra_ids")
        found += [f"<extra_id_{i}>" for i in range(min(number, 10 * EXTRA))]
    return sorted({*found})


def _marks(told: Settings, config: ModelConfig) -> dict[str, list[int]]:
    """Llama's tokenizer begins with a mark, T5's ends with one, unless tokenizer_config.json says otherwise."""
    goes_on = config.architecture == "language_model"
    told = told.over({"add_bos_token": goes_on, "add_eos_token": not goes_on})
    begin, end = told.values["add_bos_token"], told.values["add_eos_token"]
    return {"begin": [config.begin_id] if begin else [], "end": [config.end_id] if end else []}
