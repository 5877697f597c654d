"""The shape of a model: one frozen, validated dataclass, JSON both ways."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal, get_args, get_type_hints

from mlxdecoder.errors import UserError

Architecture = Literal["encoder", "language_model", "translator"]
NormPlace = Literal["pre", "post"]
NormKind = Literal["layer", "rms"]
PositionKind = Literal["none", "learned", "sinusoidal", "rotary", "relative", "alibi"]
RotaryScaling = Literal["none", "linear", "ntk", "yarn"]
Activation = Literal["relu", "gelu", "gelu_tanh", "swiglu", "geglu"]
Pooling = Literal["none", "cls", "mean"]


@dataclass(frozen=True)
class ModelConfig:
    """What is built: one pattern, three architectures.

    Widths are numbers of features, lengths are numbers of tokens. `None` stands for what follows from the other fields:
    `n_kv_heads` = `n_heads`, `head_width` = `d_model / n_heads`, `n_encoder_layers` = `n_layers`,
    `source_vocab` = `target_vocab`. `window` limits the self-attention of a decoder, or of an encoder alone.
    Each wrong value raises `UserError` that names the field.
    """

    architecture: Architecture = "translator"
    target_vocab: int = 400
    source_vocab: int | None = None
    d_model: int = 64
    n_heads: int = 4
    n_kv_heads: int | None = None
    head_width: int | None = None
    d_ff: int = 256
    n_layers: int = 2
    n_encoder_layers: int | None = None
    norm: NormPlace = "pre"
    norm_kind: NormKind = "layer"
    norm_epsilon: float = 1e-5
    activation: Activation = "relu"
    bias: bool = True
    positions: PositionKind = "sinusoidal"
    max_length: int = 512
    rotary_base: float = 10_000.0
    rotary_scaling: RotaryScaling = "none"
    rotary_factor: float = 1.0
    window: int | None = None
    tied: bool = True
    scaled_embeddings: bool = True
    dropout: float = 0.0
    attention_dropout: float = 0.0
    pooling: Pooling = "none"
    n_classes: int = 0
    image_size: int | None = None
    patch_size: int | None = None
    image_channels: int = 3
    pad_id: int = 0
    begin_id: int = 2
    end_id: int = 3

    def __post_init__(self) -> None:
        self._check_types()
        self._check_sizes()
        self._check_heads()
        self._check_positions()
        self._check_outputs()

    @property
    def kv_heads(self) -> int:
        return self.n_kv_heads or self.n_heads

    @property
    def width_per_head(self) -> int:
        return self.head_width or self.d_model // self.n_heads

    @property
    def encoder_layers(self) -> int:
        return self.n_layers if self.n_encoder_layers is None else self.n_encoder_layers

    @property
    def n_source_ids(self) -> int:
        return self.source_vocab or self.target_vocab

    @property
    def n_patches(self) -> int:
        """How many tokens an image gives; 0 for text."""
        return 0 if self.patch_size is None or self.image_size is None else (self.image_size // self.patch_size) ** 2

    def to_json(self) -> str:
        return json.dumps(asdict(self), indent=2) + "\n"

    @classmethod
    def from_json(cls, text: str, name: str = "config") -> ModelConfig:
        """Read what `to_json` wrote; `name` stands in the message of the `UserError` for what is not of that form."""
        try:
            values = json.loads(text)
        except ValueError as error:
            raise UserError(f"{name}: not JSON ({error}).") from None
        if not isinstance(values, dict):
            raise UserError(f"{name}: a JSON object is wanted, found {type(values).__name__}.")
        return cls.from_dict(values, name)

    @classmethod
    def from_dict(cls, values: dict[str, Any], name: str = "config") -> ModelConfig:
        known = {field.name for field in fields(cls)}
        unknown = sorted(set(values) - known)
        if unknown:
            raise UserError(f"{name}: unknown field {unknown[0]!r}; known are {', '.join(sorted(known))}.")
        try:
            return cls(**values)
        except UserError as error:
            raise UserError(f"{name}: {error}") from None

    def _check_types(self) -> None:
        hints = get_type_hints(type(self))
        for field in fields(self):
            value, hint = getattr(self, field.name), hints[field.name]
            choices = get_args(hint)
            if choices and isinstance(choices[0], str):
                _require(value in choices, field.name, value, f"one of {', '.join(choices)}")
            elif hint is bool:
                _require(isinstance(value, bool), field.name, value, "true or false")
            elif hint is float:
                _require(_is_number(value), field.name, value, "a finite number")
            else:
                optional = type(None) in choices and value is None
                _require(optional or _is_whole(value), field.name, value, "a whole number")

    def _check_sizes(self) -> None:
        for name in ("target_vocab", "d_model", "n_heads", "d_ff", "n_layers", "max_length", "image_channels"):
            _require(getattr(self, name) >= 1, name, getattr(self, name), "at least 1")
        for name in ("source_vocab", "n_kv_heads", "head_width", "window", "image_size", "patch_size"):
            value = getattr(self, name)
            _require(value is None or value >= 1, name, value, "at least 1, or null")
        for name in ("n_classes", "pad_id", "begin_id", "end_id"):
            _require(getattr(self, name) >= 0, name, getattr(self, name), "at least 0")
        _require(self.encoder_layers >= 0, "n_encoder_layers", self.n_encoder_layers, "at least 0, or null")
        for name in ("dropout", "attention_dropout"):
            _require(0 <= getattr(self, name) < 1, name, getattr(self, name), "at least 0 and below 1")
        _require(self.norm_epsilon > 0, "norm_epsilon", self.norm_epsilon, "above 0")

    def _check_heads(self) -> None:
        divides = self.head_width is not None or self.d_model % self.n_heads == 0
        _require(divides, "n_heads", self.n_heads, f"a divisor of d_model = {self.d_model}, or a head_width")
        wanted = f"a divisor of n_heads = {self.n_heads}"
        _require(self.n_heads % self.kv_heads == 0, "n_kv_heads", self.n_kv_heads, wanted)

    def _check_positions(self) -> None:
        rotates = self.positions == "rotary"
        _require(not rotates or self.width_per_head % 2 == 0, "head_width", self.width_per_head, "even for rotary")
        even = self.positions != "sinusoidal" or self.d_model % 2 == 0
        _require(even, "d_model", self.d_model, "even for sinusoidal positions")
        _require(self.rotary_base > 1, "rotary_base", self.rotary_base, "above 1")
        _require(self.rotary_factor >= 1, "rotary_factor", self.rotary_factor, "at least 1")

    def _check_outputs(self) -> None:
        encoder = self.architecture == "encoder"
        _require(encoder or self.n_classes == 0, "n_classes", self.n_classes, "0 unless architecture is encoder")
        _require(encoder or self.pooling == "none", "pooling", self.pooling, "none unless architecture is encoder")
        pooled = self.n_classes == 0 or self.pooling != "none"
        _require(pooled, "pooling", self.pooling, "cls or mean when n_classes is set")
        together = (self.image_size is None) == (self.patch_size is None)
        _require(together, "patch_size", self.patch_size, "set together with image_size")
        if self.image_size and self.patch_size:
            wanted = f"a divisor of image_size = {self.image_size}, for an encoder"
            _require(encoder and self.image_size % self.patch_size == 0, "patch_size", self.patch_size, wanted)
        same_ids = self.architecture != "translator" or not self.tied or self.n_source_ids == self.target_vocab
        _require(same_ids, "source_vocab", self.source_vocab, "equal to target_vocab when tied is true")
        for name in ("pad_id", "begin_id", "end_id"):
            known = encoder or getattr(self, name) < self.target_vocab
            _require(known, name, getattr(self, name), f"below target_vocab = {self.target_vocab}")


def _require(holds: bool, name: str, found: object, wanted: str) -> None:
    if not holds:
        raise UserError(f"{name} = {found!r}: wanted {wanted}.")


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
