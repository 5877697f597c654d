"""The translator of `bench` in PyTorch, written as PyTorch's own users write it: eager, with its fused attention."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from mlxdecoder.bench.peer import cores
from mlxdecoder.bench.training import CASES, SMOOTHING, Case, make_batch
from mlxdecoder.config import ModelConfig
from mlxdecoder.positions import sinusoids
from mlxdecoder.training.batches import Batch


class Attention(nn.Module):
    def __init__(self, d_model: int, n_heads: int) -> None:
        super().__init__()
        self.n_heads = n_heads
        self.query, self.key, self.value, self.output = (nn.Linear(d_model, d_model) for _ in range(4))

    def forward(self, x: torch.Tensor, memory: torch.Tensor, causal: bool) -> torch.Tensor:
        query, key, value = self._split(self.query(x)), self._split(self.key(memory)), self._split(self.value(memory))
        context = functional.scaled_dot_product_attention(query, key, value, is_causal=causal)
        return self.output(context.transpose(1, 2).flatten(2))

    def _split(self, x: torch.Tensor) -> torch.Tensor:
        return x.unflatten(2, (self.n_heads, -1)).transpose(1, 2)


class Block(nn.Module):
    def __init__(self, config: ModelConfig, crosses: bool) -> None:
        super().__init__()
        width, self.crosses = config.d_model, crosses
        self.attention, self.attention_norm = Attention(width, config.n_heads), nn.LayerNorm(width)
        if crosses:
            self.cross, self.cross_norm = Attention(width, config.n_heads), nn.LayerNorm(width)
        self.mlp = nn.Sequential(nn.Linear(width, config.d_ff), nn.ReLU(), nn.Linear(config.d_ff, width))
        self.mlp_norm, self.dropout = nn.LayerNorm(width), nn.Dropout(config.dropout)

    def forward(self, x: torch.Tensor, memory: torch.Tensor | None) -> torch.Tensor:
        normed = self.attention_norm(x)
        x = x + self.dropout(self.attention(normed, normed, causal=self.crosses))
        if memory is not None:
            x = x + self.dropout(self.cross(self.cross_norm(x), memory, causal=False))
        return x + self.dropout(self.mlp(self.mlp_norm(x)))


class Twin(nn.Module):
    """Pre-norm, ReLU, sinusoids, tied embeddings: the default `ModelConfig`."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.scale, self.dropout = math.sqrt(config.d_model), nn.Dropout(config.dropout)
        self.embedding = nn.Embedding(config.target_vocab, config.d_model)
        self.encoder = nn.ModuleList(Block(config, False) for _ in range(config.encoder_layers))
        self.decoder = nn.ModuleList(Block(config, True) for _ in range(config.n_layers))
        self.encoder_norm, self.decoder_norm = nn.LayerNorm(config.d_model), nn.LayerNorm(config.d_model)
        self.register_buffer("table", torch.from_numpy(np.array(sinusoids(64, config.d_model))))

    def forward(self, source: torch.Tensor, inputs: torch.Tensor) -> torch.Tensor:
        memory = self._embed(source)
        for block in self.encoder:
            memory = block(memory, None)
        memory, x = self.encoder_norm(memory), self._embed(inputs)
        for block in self.decoder:
            x = block(x, memory)
        return self.decoder_norm(x) @ self.embedding.weight.T

    def _embed(self, ids: torch.Tensor) -> torch.Tensor:
        return self.dropout(self.embedding(ids) * self.scale + self.table[: ids.shape[1]])


def make_step(config: ModelConfig, batch: Batch, smoothing: float) -> Callable[[], None]:
    """One training step on as many threads as there are cores."""
    torch.set_num_threads(cores())
    model = Twin(config)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, betas=(0.9, 0.98))
    source, inputs, labels = (torch.from_numpy(ids) for ids in (batch.source, batch.inputs, batch.labels))

    def step() -> None:
        optimizer.zero_grad()
        logits = model(source, inputs)
        functional.cross_entropy(logits.flatten(0, 1), labels.flatten(), label_smoothing=smoothing).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()

    return step


def main(case: Case) -> None:
    """Do a step for each line on stdin, and answer with a line."""
    step = make_step(case.config, make_batch(case), SMOOTHING)
    for _ in sys.stdin:
        step()
        print(flush=True)


if __name__ == "__main__":
    main(CASES[int(sys.argv[1])])
