"""The small layers that blocks are made of: linear maps, norms, dropout, the embedding table, the two MLPs."""

from __future__ import annotations

import math
from collections.abc import Callable

import mlx.core as mx
import mlx.nn as nn

from mlxdecoder.backend import layer_norm, random_bytes, rms_norm
from mlxdecoder.config import ModelConfig
from mlxdecoder.watch import Watch, tell


class Linear(nn.Module):
    """x @ weight + bias, with the weight kept as [inputs, outputs], the order in which a product reads it fastest."""

    def __init__(self, inputs: int, outputs: int, bias: bool = True) -> None:
        super().__init__()
        bound = math.sqrt(6 / (inputs + outputs))  # Glorot and Bengio 2010
        self.weight = mx.random.uniform(-bound, bound, (inputs, outputs))
        if bias:
            self.bias = mx.zeros((outputs,))

    @classmethod
    def of(cls, weight: mx.array, bias: mx.array | None = None) -> Linear:
        """The map of a given weight [inputs, outputs] and bias [outputs]."""
        made = cls.__new__(cls)
        nn.Module.__init__(made)
        made.weight = weight
        if bias is not None:
            made.bias = bias
        return made

    def __call__(self, x: mx.array) -> mx.array:
        return mx.addmm(self["bias"], x, self["weight"]) if "bias" in self else x @ self["weight"]


class Dropout(nn.Module):
    """Zero a share `rate` of the elements while training, and scale up the rest; the share is rounded to 1/256."""

    def __init__(self, rate: float) -> None:
        super().__init__()
        self.rate = rate

    def __call__(self, x: mx.array) -> mx.array:
        if not self.training or self.rate == 0:
            return x
        kept = max(256 - round(256 * self.rate), 1)  # of 256
        if kept == 256:
            return x
        return x * ((random_bytes(x.shape) < kept) * mx.array(256 / kept, x.dtype))


class Norm(nn.Module):
    """LayerNorm (Ba et al. 2016) or RMSNorm (Zhang and Sennrich 2019) over the features."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.kind, self.epsilon = config.norm_kind, config.norm_epsilon
        self.weight = mx.ones((config.d_model,))
        if self.kind == "layer":
            self.bias = mx.zeros((config.d_model,))

    def __call__(self, x: mx.array) -> mx.array:
        if self.kind == "rms":
            return rms_norm(x, self.get("weight"), self.epsilon)
        return layer_norm(x, self.get("weight"), self.get("bias"), self.epsilon)


class MLP(nn.Module):
    """Position-wise: inwards, activation, outwards."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.inward = Linear(config.d_model, config.d_ff, config.mlp_has_bias)
        self.outward = Linear(config.d_ff, config.d_model, config.mlp_has_bias)
        self.activation = config.activation

    def __call__(self, x: mx.array, watch: Watch | None = None) -> mx.array:
        hidden = ACTIVATIONS[self.activation](self.inward(x))  # [B, T, d_ff]
        return self.outward(tell(watch, "hidden", hidden))


class GatedMLP(nn.Module):
    """One inward map gates the other: SwiGLU, GEGLU or ReGLU, Shazeer 2020, https://arxiv.org/abs/2002.05202."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.gate = Linear(config.d_model, config.d_ff, config.mlp_has_bias)
        self.inward = Linear(config.d_model, config.d_ff, config.mlp_has_bias)
        self.outward = Linear(config.d_ff, config.d_model, config.mlp_has_bias)
        self.activation = config.activation

    def __call__(self, x: mx.array, watch: Watch | None = None) -> mx.array:
        hidden = ACTIVATIONS[self.activation](self.gate(x)) * self.inward(x)  # [B, T, d_ff]
        return self.outward(tell(watch, "hidden", hidden))


class Experts(nn.Module):
    """Several gated MLPs, of which a router chooses a few for each token: Shazeer et al. 2017, Jiang et al. 2024.

    The weights of all experts stand in one array each, [n_experts, inputs, outputs]. https://arxiv.org/abs/2401.04088
    """

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.router = Linear(config.d_model, config.n_experts, bias=False)
        inward, outward = (config.d_model, config.d_ff), (config.d_ff, config.d_model)
        self.gate, self.inward, self.outward = (
            mx.random.normal((config.n_experts, *shape), scale=shape[0] ** -0.5) for shape in (inward, inward, outward)
        )
        self.activation, self.n_chosen = config.activation, config.experts_per_token

    def __call__(self, x: mx.array, watch: Watch | None = None) -> mx.array:
        scores = self.router(x)  # [B, T, E]
        chosen = mx.argpartition(-scores, kth=self.n_chosen - 1, axis=-1)[..., : self.n_chosen]  # [B, T, k]
        shares = mx.softmax(mx.take_along_axis(scores, chosen, axis=-1).astype(mx.float32), axis=-1)  # [B, T, k]
        tell(watch, "experts", chosen)
        rows = x[:, :, None, None]  # [B, T, 1, 1, d]
        gate, inward = (times_chosen(rows, weights, chosen) for weights in (self.gate, self.inward))
        hidden = ACTIVATIONS[self.activation](gate) * inward  # [B, T, k, 1, d_ff]
        outward = times_chosen(hidden, self.outward, chosen)[:, :, :, 0]  # [B, T, k, d]
        return (outward * shares.astype(x.dtype)[..., None]).sum(axis=2)


def times_chosen(rows: mx.array, weights: mx.array, chosen: mx.array) -> mx.array:
    """Rows [..., 1, n] by the matrices of the chosen experts, [n_experts, n, m], in the type of the rows."""
    if mx.default_device() == mx.cpu:  # where MLX knows this product in float32 only
        if weights.dtype != mx.float32 and chosen.size < len(weights):  # turn no more of them than are asked for
            weights, chosen = weights[chosen.flatten()], mx.arange(chosen.size).reshape(chosen.shape)
        return mx.gather_mm(rows.astype(mx.float32), weights.astype(mx.float32), rhs_indices=chosen).astype(rows.dtype)
    return mx.gather_mm(rows, weights, rhs_indices=chosen)


def make_mlp(config: ModelConfig) -> nn.Module:
    if config.n_experts:
        return Experts(config)
    return GatedMLP(config) if config.is_gated else MLP(config)


def relu(x: mx.array) -> mx.array:
    return mx.maximum(x, 0)


def gelu(x: mx.array) -> mx.array:
    """x times a normal distribution's share below x, Hendrycks and Gimpel 2016, https://arxiv.org/abs/1606.08415."""
    return 0.5 * x * (1 + mx.erf(x * math.sqrt(0.5)))


def gelu_tanh(x: mx.array) -> mx.array:
    """The approximation of `gelu` that GPT-2 uses."""
    return 0.5 * x * (1 + mx.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x * x * x)))


def silu(x: mx.array) -> mx.array:
    return x * mx.sigmoid(x)


# MLX's own are compiled when first called, which on Linux takes a C++ compiler and seconds.
ACTIVATIONS: dict[str, Callable[[mx.array], mx.array]] = {
    "relu": relu,
    "gelu": gelu,
    "gelu_tanh": gelu_tanh,
    "silu": silu,
    "reglu": relu,
    "geglu": gelu,
    "geglu_tanh": gelu_tanh,
    "swiglu": silu,
}
