"""What a family of models is to us: how to read its configuration, and its table of weight names."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from mlxdecoder.config import ModelConfig
from mlxdecoder.errors import UserError
from mlxdecoder.pretrained.settings import Settings
from mlxdecoder.pretrained.table import Row


@dataclass(frozen=True)
class Family:
    """Models that are one function, but for numbers, under the names in `defaults`.

    `configure` reads a config.json, and `describe` writes one, of which `configure` has to make the same again; both
    raise `UserError` for what they have no words for. `defaults` are transformers' own, for each value of `model_type`;
    `classes` the architectures of transformers that are served. Weight names stand behind `prefix`, which a folder may
    leave out, except those that begin with one of `outside`. `unused` are names of arrays, with stars, that some
    folders have and that change nothing of what the model computes; `copies` those that have to be equal to another
    one, where the table does not ask for them.
    """

    defaults: dict[str, dict[str, Any]]
    classes: tuple[str, ...]
    configure: Callable[[Settings], ModelConfig]
    describe: Callable[[ModelConfig], dict[str, Any]]
    rows: Callable[[ModelConfig, Settings], list[Row]]
    prefix: str = ""
    outside: tuple[str, ...] = ()
    unused: tuple[str, ...] = ()
    copies: dict[str, str] = field(default_factory=dict)
    overflows_in_halves: bool = False


def word(choices: Mapping[str, str], meaning: str) -> str:
    """The foreign word for what is ours; raises `UserError` where there is none."""
    found = next((word for word, ours in choices.items() if ours == meaning), None)
    if found is None:
        raise UserError(f"{meaning}: this family has no word for it.")
    return found


def labels(config: ModelConfig) -> dict[str, Any]:
    """The classes of a classifier, without names."""
    return {"id2label": {str(i): f"LABEL_{i}" for i in range(config.n_classes)}} if config.n_classes else {}


def told_marks(config: ModelConfig, begin: str = "bos_token_id") -> dict[str, Any]:
    """The special ids as a config.json says them."""
    ends = list(config.end_ids) if config.more_end_ids else config.end_id
    return {begin: config.begin_id, "eos_token_id": ends, "pad_token_id": config.pad_id}


def n_labels(settings: Settings) -> int:
    """How many classes a classifier tells apart; transformers' own default is two."""
    labels = settings.values.get("id2label")
    return len(labels) if isinstance(labels, dict) else settings.maybe_whole("num_labels") or 2


def marks(settings: Settings, begin: str = "bos_token_id") -> dict[str, Any]:
    """The special ids of a model; where it has none to begin or to pad with, its end mark stands in for them."""
    settings.must("begin_suppress_tokens")
    settings.must("forced_bos_token_id")
    settings.must("forced_decoder_ids")
    end, *others = settings.ids("eos_token_id") or (0,)
    first, pad = settings.id(begin), settings.id("pad_token_id")
    return {
        "begin_id": end if first is None else first,
        "end_id": end,
        "more_end_ids": tuple(others),
        "banned_ids": settings.ids("suppress_tokens") + settings.ids("bad_words_ids"),
        "forced_end": bool(settings.ids("forced_eos_token_id")),
        "pad_id": end if pad is None or pad >= settings.whole("vocab_size") else pad,
    }
