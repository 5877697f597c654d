"""One step of training: loss and gradient of a batch, in two halves at once where that uses two processor cores."""

from __future__ import annotations

from typing import Any

import mlx.core as mx
import mlx.nn as nn

from mlxdecoder.backend import gradient_streams
from mlxdecoder.models import Translator
from mlxdecoder.training.batches import Batch
from mlxdecoder.training.loss import cross_entropy
from mlxdecoder.training.parameters import FlatParameters
from mlxdecoder.training.peers import ALONE, Peers


class GradientStep:
    """Computes the loss of a translator on batches, and its gradient as one array."""

    def __init__(self, model: Translator, parameters: FlatParameters, smoothing: float) -> None:
        self._parameters = parameters

        def loss(batch: Batch) -> mx.array:
            logits = model(batch.source, batch.inputs, batch.layout)  # [B, T, V]
            labels, weights = mx.array(batch.labels.reshape(-1)), mx.array(batch.weights.reshape(-1))
            return cross_entropy(logits.reshape(-1, logits.shape[-1]), labels, weights, smoothing)

        self._loss_and_gradient: Any = nn.value_and_grad(model, loss)

    def __call__(self, batch: Batch, peers: Peers = ALONE) -> tuple[mx.array, mx.array]:
        """The mean loss a token, and its gradient [P], not yet evaluated; each of the `peers` computes its share.

        Raises `UserError` when another process has gone.
        """
        tokens = max(float(batch.weights.sum()), 1.0)
        if peers.size == 1:
            loss, gradient = self._sums(batch, gradient_streams())
        else:  # processes on one machine share its cores as streams would
            loss, gradient = self._sums(batch.share(peers.rank, peers.size), gradient_streams()[:1])
        loss, gradient = peers.total(loss, gradient)
        return loss / tokens, gradient / tokens

    def _sums(self, batch: Batch, streams: list[mx.Stream]) -> tuple[mx.array, mx.array]:
        parts = batch.halves() if len(streams) > 1 else [batch]
        losses, gradients = zip(*map(self._part, streams, parts), strict=True)
        return sum(losses[1:], losses[0]), sum(gradients[1:], gradients[0])

    def _part(self, stream: mx.Stream, part: Batch) -> tuple[mx.array, mx.array]:
        with mx.stream(stream):
            loss, tree = self._loss_and_gradient(part)
            return loss, self._parameters.join(tree)
