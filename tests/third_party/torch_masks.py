"""Causal masks as people make them for PyTorch's modules, in which True = blocked and floats are added."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn

MakeMask = Callable[[int], "Tensor | None"]


def future(length: int) -> Tensor:
    return torch.ones(length, length).triu(1).bool()


def no_mask(length: int) -> None:
    return None


def transposed(length: int) -> Tensor:
    return nn.Transformer.generate_square_subsequent_mask(length).T


def one_ahead(length: int) -> Tensor:
    return torch.ones(length, length).triu(2).bool()


def strict(length: int) -> Tensor:
    return torch.ones(length, length).triu(0).bool()


def ones_and_zeros(length: int) -> Tensor:
    """Added, not filled."""
    return torch.ones(length, length).tril()


def seen_is_true(length: int) -> Tensor:
    """What nn.MultiheadAttention blocks is True."""
    return torch.ones(length, length).tril().bool()


def compared_with_zero(length: int) -> Tensor:
    """`== 0` after generate_square_subsequent_mask, whose zeros are what may be seen."""
    return nn.Transformer.generate_square_subsequent_mask(length) == 0
