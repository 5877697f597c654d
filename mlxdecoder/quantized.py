"""Linear maps with weights of 4 or 8 bits, by MLX's own quantisation: a scale and an offset for a group of inputs."""

from __future__ import annotations

from dataclasses import dataclass

import mlx.core as mx
import mlx.nn as nn
from mlx.utils import tree_map_with_path

from mlxdecoder.layers import Linear

BITS = (4, 8)
GROUP_SIZES = (32, 64, 128)


@dataclass(frozen=True)
class Quantization:
    """How many bits a weight has, and how many inputs share a scale."""

    bits: int
    group_size: int = 64


class QuantizedLinear(nn.Module):
    """x @ weight + bias, with the weight kept as [outputs, inputs], packed, the order in which MLX quantises."""

    def __init__(self, linear: Linear, how: Quantization) -> None:
        super().__init__()
        self._how = how
        self.weight, self.scales, self.biases = mx.quantize(linear.weight.T, how.group_size, how.bits)
        if "bias" in linear:
            self.bias = linear.bias

    def __call__(self, x: mx.array) -> mx.array:
        how = {"group_size": self._how.group_size, "bits": self._how.bits}
        product = mx.quantized_matmul(x, self.weight, self.scales, self.biases, transpose=True, **how)
        return product + self.bias if "bias" in self else product


def fitting(model: nn.Module, bits: int) -> Quantization:
    """Groups of 64 inputs, or of 32 where these fill more of the linear maps of a model."""
    inputs = [module.weight.shape[0] for module in model.modules() if isinstance(module, Linear)]
    return max(
        (Quantization(bits), Quantization(bits, min(GROUP_SIZES))),
        key=lambda how: sum(count % how.group_size == 0 for count in inputs),
    )


def quantize(model: nn.Module, how: Quantization) -> int:
    """Quantise every linear map whose inputs fill whole groups, in place; gives how many there were.

    Embeddings, experts and norms stay as they are.
    """
    replaced = 0

    def replace(name: str, module: nn.Module) -> nn.Module:
        nonlocal replaced
        if not isinstance(module, Linear) or module.weight.shape[0] % how.group_size:
            return module
        replaced += 1
        return QuantizedLinear(module, how)

    leaves = tree_map_with_path(replace, model.leaf_modules(), is_leaf=nn.Module.is_module)
    model.update_modules(leaves)
    return replaced


def is_quantized(model: nn.Module) -> bool:
    return any(isinstance(module, QuantizedLinear) for module in model.modules())
