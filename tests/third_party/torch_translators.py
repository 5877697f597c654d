"""Translators on nn.Transformer, whose masks and paddings are six arguments."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from tests.third_party.torch_masks import MakeMask, future, no_mask, one_ahead, ones_and_zeros, seen_is_true
from tests.wild.entry import Wild

VOCABULARY, WIDTH, HEADS, PAD = 24, 16, 2, 0


class TorchTranslator(nn.Module):
    """nn.Transformer with all the masks it takes."""

    pad = PAD

    def __init__(self, seed: int, tgt_mask: MakeMask = future, encoder_batch_first: bool = True) -> None:
        super().__init__()
        torch.manual_seed(seed)
        self.src_embedding, self.tgt_embedding = nn.Embedding(VOCABULARY, WIDTH), nn.Embedding(VOCABULARY, WIDTH)
        with warnings.catch_warnings(action="ignore"):  # nested tensors are not for layers that are normalised first
            self.transformer = nn.Transformer(WIDTH, HEADS, 2, 2, 32, batch_first=True, norm_first=True)
        for layer in self.transformer.encoder.layers:
            layer.self_attn.batch_first = encoder_batch_first
        self.generator = nn.Linear(WIDTH, VOCABULARY)
        self.tgt_mask = tgt_mask
        self.eval()

    def positions(self, length: int) -> Tensor:
        angles = torch.arange(length)[:, None] * torch.exp(-math.log(10000) * torch.arange(0, WIDTH, 2) / WIDTH)
        return torch.cat([angles.sin(), angles.cos()], dim=1)

    def src_padding(self, source: Tensor) -> Tensor | None:
        return source == PAD

    def memory_padding(self, source: Tensor) -> Tensor | None:
        return self.src_padding(source)

    def memory_mask(self, T: int, S: int) -> Tensor | None:
        return None

    def encode(self, source: Tensor) -> Tensor:
        x = self.src_embedding(source) + self.positions(source.shape[1])
        return self.transformer.encoder(x, src_key_padding_mask=self.src_padding(source))

    def decode(self, target: Tensor, memory: Tensor, memory_padding: Tensor | None = None) -> Tensor:
        T, S = target.shape[1], memory.shape[1]
        x = self.tgt_embedding(target) + self.positions(T)
        masks = {"tgt_mask": self.tgt_mask(T), "memory_mask": self.memory_mask(T, S)}
        return self.generator(self.transformer.decoder(x, memory, memory_key_padding_mask=memory_padding, **masks))

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        return self.decode(target, self.encode(source), self.memory_padding(source))

    def remember(self, source: Tensor) -> tuple[Tensor, Tensor | None]:
        return self.encode(source), self.memory_padding(source)

    def stepwise(self, source: Tensor, target: Tensor) -> Tensor:
        remembered = self.remember(source)
        steps = range(1, target.shape[1] + 1)
        return torch.cat([self.decode(target[:, :step], *remembered)[:, -1:] for step in steps], dim=1)


class NoPaddingMask(TorchTranslator):
    def src_padding(self, source: Tensor) -> Tensor | None:
        return None


class NoMemoryPaddingMask(TorchTranslator):
    def memory_padding(self, source: Tensor) -> Tensor | None:
        return None


class PaddingInverted(TorchTranslator):
    """`source != PAD`: the padding is all that is seen, and without padding there is nothing."""

    def src_padding(self, source: Tensor) -> Tensor | None:
        return source != PAD


class CausalMemory(TorchTranslator):
    def memory_mask(self, T: int, S: int) -> Tensor | None:
        return torch.ones(T, S).triu(1).bool()


class EncoderOverBatch(TorchTranslator):
    """`batch_first` said to the decoder only; such an encoder would refuse the padding mask."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed, encoder_batch_first=False)

    def src_padding(self, source: Tensor) -> Tensor | None:
        return None

    def memory_padding(self, source: Tensor) -> Tensor | None:
        return source == PAD


class BatchFirstForgotten(TorchTranslator):
    """It was forgotten everywhere: refused by PyTorch unless source and target are equally long."""

    pad = encode = decode = stepwise = None

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        x = self.src_embedding(source) + self.positions(source.shape[1])
        y = self.tgt_embedding(target) + self.positions(target.shape[1])
        out = self.transformer(x.transpose(0, 1), y.transpose(0, 1), tgt_mask=self.tgt_mask(target.shape[0]))
        return self.generator(out.transpose(0, 1))


class NoPositions(TorchTranslator):
    def positions(self, length: int) -> Tensor:
        return torch.zeros(length, WIDTH)


class KeepsMemory(TorchTranslator):
    """The encoder is run for the first sentence; later ones are decoded from it too."""

    kept: tuple[Tensor, Tensor | None] | None = None

    def remember(self, source: Tensor) -> tuple[Tensor, Tensor | None]:
        if self.kept is None:
            self.kept = super().remember(source)
        return self.kept


def translator(variant: str, mistake: int | None, make: Callable[[int], Any], *blemishes: str) -> Wild:
    return Wild(f"torch_translator.{variant}", "translator", make, mistake, {}, frozenset(blemishes))


ENTRIES = [
    translator("right", None, TorchTranslator),
    translator("tgt_mask_forgotten", 1, lambda seed: TorchTranslator(seed, no_mask)),
    translator("tgt_mask_transposed", 2, lambda seed: TorchTranslator(seed, lambda length: future(length).T)),
    translator("tgt_mask_one_ahead", 3, lambda seed: TorchTranslator(seed, one_ahead)),
    translator("tgt_mask_of_ones_and_zeros", 7, lambda seed: TorchTranslator(seed, ones_and_zeros)),
    translator("tgt_mask_seen_is_true", 8, lambda seed: TorchTranslator(seed, seen_is_true), "nan"),
    translator("padding_mask_inverted", 8, PaddingInverted, "nan"),
    translator("padding_masks_forgotten", 9, NoPaddingMask),
    translator("memory_padding_mask_forgotten", 9, NoMemoryPaddingMask),
    translator("memory_mask_causal", 17, CausalMemory),
    translator("encoder_batch_first_forgotten", 18, EncoderOverBatch),
    translator("batch_first_forgotten", 18, BatchFirstForgotten),
    translator("still_training", 22, lambda seed: TorchTranslator(seed).train()),
    translator("no_positions", 24, NoPositions),
    translator("keeps_memory", 25, KeepsMemory),
]
