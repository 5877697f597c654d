"""The shape of a model: one frozen, validated dataclass, JSON both ways."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal

from mlxdecoder.config_checks import check_config
from mlxdecoder.errors import UserError

Architecture = Literal["encoder", "language_model", "translator"]
NormPlace = Literal["pre", "post"]
NormKind = Literal["layer", "rms"]
PositionKind = Literal["none", "learned", "sinusoidal", "rotary", "relative", "alibi"]
RotaryScaling = Literal["none", "linear", "ntk", "dynamic", "yarn", "llama3"]
SinusoidOrder = Literal["interleaved", "halves"]
Activation = Literal["relu", "gelu", "gelu_tanh", "silu", "reglu", "geglu", "geglu_tanh", "swiglu"]
Pooling = Literal["none", "cls", "mean"]


@dataclass(frozen=True)
class ModelConfig:
    """What is built: one pattern, three architectures.

    Widths are numbers of features, lengths are numbers of tokens. `None` stands for what follows from the other fields:
    `n_kv_heads` = `n_heads`, `head_width` = `d_model / n_heads`, `n_encoder_layers` = `n_layers`,
    `source_vocab` = `target_vocab`, `qkv_bias` = `mlp_bias` = `bias`, `rotary_trained_length` = `max_length`.
    `window` limits the self-attention of a decoder, or of an encoder alone. Rotary positions leave `unrotated_layers`,
    counted from 0, as they are (Yang et al. 2025, https://arxiv.org/abs/2501.18795). `rotary_slow` and `rotary_fast`
    are turns within the trained length: waves with fewer are squeezed wholly by "yarn" and "llama3", those with more
    not at all; `rotary_strength` is YaRN's factor on queries and keys. `query_key_norm` is an RMSNorm of each head's
    queries and keys. With `n_experts`, each token goes through the `experts_per_token` MLPs that a router finds best.
    `n_segments` are the kinds of text that an encoder tells apart, and `pooler` a dense layer with tanh on what it
    pools. Generation ends at `end_id` or one of `more_end_ids`, never says `banned_ids`, and with `forced_end` has the
    end mark as the last token at its limit; `repetition_penalty` above 1 makes what was said before less likely, and
    with `renormalized` the probabilities of what may be said add up to 1 again. Each wrong value raises `UserError`
    that names the field.
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
    qkv_bias: bool | None = None
    mlp_bias: bool | None = None
    head_bias: bool = False
    query_key_norm: bool = False
    embedding_norm: bool = False
    n_experts: int = 0
    experts_per_token: int = 2
    positions: PositionKind = "sinusoidal"
    sinusoid_order: SinusoidOrder = "interleaved"
    max_length: int = 512
    rotary_base: float = 10_000.0
    rotary_scaling: RotaryScaling = "none"
    rotary_factor: float = 1.0
    rotary_trained_length: int | None = None
    rotary_slow: float = 1.0
    rotary_fast: float = 32.0
    rotary_strength: float | None = None
    window: int | None = None
    unrotated_layers: tuple[int, ...] = ()
    tied: bool = True
    scaled_embeddings: bool = True
    dropout: float = 0.0
    attention_dropout: float = 0.0
    n_segments: int = 0
    pooling: Pooling = "none"
    pooler: bool = False
    n_classes: int = 0
    image_size: int | None = None
    patch_size: int | None = None
    image_channels: int = 3
    pad_id: int = 0
    begin_id: int = 2
    end_id: int = 3
    more_end_ids: tuple[int, ...] = ()
    banned_ids: tuple[int, ...] = ()
    forced_end: bool = False
    repetition_penalty: float = 1.0
    renormalized: bool = False

    def __post_init__(self) -> None:
        check_config(self)

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
    def qkv_has_bias(self) -> bool:
        return self.bias if self.qkv_bias is None else self.qkv_bias

    @property
    def mlp_has_bias(self) -> bool:
        return self.bias if self.mlp_bias is None else self.mlp_bias

    @property
    def is_gated(self) -> bool:
        """Whether one inward map of the MLP gates another."""
        return "glu" in self.activation

    @property
    def trained_length(self) -> int:
        """The length that rotary positions were trained for, before any scaling."""
        return self.rotary_trained_length or self.max_length

    @property
    def end_ids(self) -> tuple[int, ...]:
        return (self.end_id, *self.more_end_ids)

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
        values = {key: tuple(value) if isinstance(value, list) else value for key, value in values.items()}
        try:
            return cls(**values)
        except UserError as error:
            raise UserError(f"{name}: {error}") from None
