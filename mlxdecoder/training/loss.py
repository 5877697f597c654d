"""Cross-entropy with label smoothing, with its own gradient."""

from __future__ import annotations

import mlx.core as mx

from mlxdecoder.backend import exp


def cross_entropy(logits: mx.array, labels: mx.array, weights: mx.array, smoothing: float = 0.0) -> mx.array:
    """The weighted sum over tokens of -log p(label), with a share `smoothing` spread over the vocabulary.

    `logits` [N, V], `labels` [N] ids, `weights` [N], 0 for what does not count. Szegedy et al. 2015, section 7,
    https://arxiv.org/abs/1512.00567.
    """
    return (_losses(logits, labels, mx.array(smoothing))[0] * weights).sum()


@mx.custom_function
def _losses(logits: mx.array, labels: mx.array, smoothing: mx.array) -> tuple[mx.array, mx.array]:
    """Losses [N], and the probabilities [N, V] for the gradient, which would have to compute them again."""
    top = logits.max(axis=-1, keepdims=True)
    raised = exp(logits - top)
    total = raised.sum(axis=-1, keepdims=True)
    log_total = (mx.log(total) + top)[:, 0]
    of_label = mx.take_along_axis(logits, labels[:, None], axis=-1)[:, 0]
    losses = log_total - (1 - smoothing) * of_label - smoothing * logits.mean(axis=-1)
    return losses, raised * (1 / total)


@_losses.vjp
def _losses_vjp(
    primals: tuple[mx.array, mx.array, mx.array],
    cotangents: tuple[mx.array, mx.array],
    outputs: tuple[mx.array, mx.array],
) -> tuple[mx.array, mx.array, mx.array]:
    logits, labels, smoothing = primals
    weights, probabilities = cotangents[0][:, None], outputs[1]
    towards = (smoothing - 1) * weights
    spread = (probabilities - smoothing / logits.shape[-1]) * weights
    gradient = mx.array(spread).at[mx.arange(len(labels)), labels].add(towards[:, 0])
    return gradient, mx.zeros_like(labels), mx.zeros_like(smoothing)
