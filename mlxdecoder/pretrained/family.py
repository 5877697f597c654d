"""What a family of models is to us: how to read its configuration, and its table of weight names."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import mlx.core as mx

from mlxdecoder.config import ModelConfig
from mlxdecoder.errors import UserError
from mlxdecoder.pretrained.settings import Settings
from mlxdecoder.pretrained.table import Row

SAID = {  # with what follows from other fields where they are None
    "n_kv_heads": "kv_heads",
    "head_width": "width_per_head",
    "n_encoder_layers": "encoder_layers",
    "source_vocab": "n_source_ids",
    "qkv_bias": "qkv_has_bias",
}


@dataclass(frozen=True)
class Family:
    """Models that are one function, but for numbers, under the names in `defaults`.

    `configure` reads a config.json, and `describe` writes one, of which `configure` has to make the same again; both
    raise `UserError` for what they have no words for; `describe_arrays` adds what it depends on the types of our arrays
    to say. `names` are its own for fields of a `ModelConfig`. `defaults` are transformers' own, for each value of
    `model_type`, and `aliases` other names for values; `classes` are the architectures of transformers that are served.
    Weight names stand behind `prefix`, which a folder may leave out, except those that begin with one of `outside`. Of
    arrays that the table does not ask for, `unused` are names, with stars, of those that change nothing of what the
    model computes, `left_out` of parts that ours goes without, such as a head, `copies` of those that have to be equal
    to another one, and `fixed` of those that have to be as the configuration makes them, which it tells of an array. A
    family that `overflows_in_halves` has numbers too large for float16.
    """

    defaults: dict[str, dict[str, Any]]
    classes: tuple[str, ...]
    configure: Callable[[Settings], ModelConfig]
    describe: Callable[[ModelConfig], dict[str, Any]]
    rows: Callable[[ModelConfig, Settings], list[Row]]
    names: dict[str, str]
    prefix: str = ""
    outside: tuple[str, ...] = ()
    unused: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    copies: dict[str, str] = field(default_factory=dict)
    fixed: dict[str, Callable[[ModelConfig, mx.array], bool]] = field(default_factory=dict)
    aliases: dict[str, str] = field(default_factory=dict)
    describe_arrays: Callable[[ModelConfig, Mapping[str, mx.array]], dict[str, Any]] = lambda config, arrays: {}
    overflows_in_halves: bool = False

    def in_its_names(self, message: str) -> str:
        """What is said of fields of a `ModelConfig`, with the names that they have in a config.json."""
        return re.sub(r"\w+", lambda found: self.names.get(found[0], found[0]), message)


class NoWord(UserError):
    """A family has no word for the value of a field, but has one for `instead`."""

    def __init__(self, field: str, instead: Any) -> None:
        super().__init__(f"{field}: this family has no word for it.")
        self.field, self.instead = field, instead


def word(choices: Mapping[str, str], config: ModelConfig, field: str) -> str:
    """The foreign word for the value of a field; raises `NoWord` where there is none."""
    meaning = getattr(config, field)
    found = next((word for word, ours in choices.items() if ours == meaning), None)
    if found is None:
        raise NoWord(field, next(iter(choices.values())))
    return found


def told(config: ModelConfig, names: Mapping[str, str]) -> dict[str, Any]:
    """The values of fields that only have other names in a config.json."""
    return {theirs: getattr(config, SAID.get(ours, ours)) for ours, theirs in names.items()}


def labels(config: ModelConfig) -> dict[str, Any]:
    """The classes of a classifier, without names."""
    return {"id2label": {str(i): f"LABEL_{i}" for i in range(config.n_classes)}} if config.n_classes else {}


def n_labels(settings: Settings) -> int:
    """How many classes a classifier tells apart; transformers' own default is two."""
    labels = settings.values.get("id2label")
    return len(labels) if isinstance(labels, dict) else settings.whole("num_labels", 2, least=0) or 2
