"""Metal kernels for attention, and an emulator that runs them without a Mac.

`attention_with_lse`, `attention_weights` and `attention_mass` check what they are given; the library uses the others.
"""

from mlxdecoder.kernels.attention import attend, serve, weights
from mlxdecoder.kernels.fused import attention_mass, attention_weights, attention_with_lse
from mlxdecoder.kernels.mode import using, where
from mlxdecoder.kernels.rotary import rotate_both
from mlxdecoder.kernels.shapes import TYPES

__all__ = [
    "TYPES",
    "attend",
    "attention_mass",
    "attention_weights",
    "attention_with_lse",
    "rotate_both",
    "serve",
    "using",
    "weights",
    "where",
]
