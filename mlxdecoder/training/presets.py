"""Sizes that go together: a model, its vocabulary and how it is trained."""

from __future__ import annotations

from dataclasses import dataclass

from mlxdecoder.config import ModelConfig
from mlxdecoder.training.options import TrainingOptions


@dataclass(frozen=True)
class Preset:
    """`vocab_size` is what the tokenizer is asked for; the model takes what it gets.

    `title` and `purpose` are for people: what it is for, and how much work it is.
    """

    vocab_size: int
    model: ModelConfig
    training: TrainingOptions
    title: str = ""
    purpose: str = ""


FOR_TOY, FOR_CORPUS = "toy", "small"  # what is taken when none is chosen

PRESETS = {
    "toy": Preset(
        900,  # a piece for each word
        ModelConfig(d_model=64, n_heads=4, d_ff=256, n_layers=2),
        TrainingOptions(tokens_per_batch=1024, learning_rate=5e-3, warmup=100, label_smoothing=0.05, snapshot_every=10),
        "Toy",
        "The toy sentences, with 0.3 million parameters: about a minute.",
    ),
    "small": Preset(
        2500,
        ModelConfig(d_model=128, n_heads=4, d_ff=512, n_layers=2, n_encoder_layers=3, dropout=0.1),
        TrainingOptions(
            steps=3000, tokens_per_batch=1024, learning_rate=2.5e-3, warmup=300, schedule="inverse_sqrt", average=8
        ),
        "Small",
        "Short real sentences, with 1.5 million parameters: about ten minutes of a processor core.",
    ),
    "real": Preset(
        2500,
        ModelConfig(d_model=128, n_heads=4, d_ff=512, n_layers=2, n_encoder_layers=3, dropout=0.2),
        TrainingOptions(
            steps=16_000,
            tokens_per_batch=1024,
            learning_rate=2.5e-3,
            warmup=500,
            evaluate_every=1000,
            snapshot_every=100,
            average=8,
        ),
        "Real text",
        "Tens of thousands of real sentences, with the small model, trained longer: about an hour of a processor core.",
    ),
    # Transformer-Tiny as Wu et al. 2021 train it, https://aclanthology.org/2021.acl-long.480.
    "mac": Preset(
        10_000,
        ModelConfig(d_model=128, n_heads=4, d_ff=256, n_layers=4, dropout=0.3),
        TrainingOptions(
            steps=8000,
            tokens_per_batch=8192,
            learning_rate=5e-3,
            warmup=2000,
            schedule="inverse_sqrt",
            evaluate_every=500,
            snapshot_every=250,
            average=10,
        ),
        "Real text on a GPU",
        "Tens of thousands of real sentences, with 2.5 million parameters and batches for the GPU of a Mac: without, "
        "eight hours of a processor core, or more.",
    ),
}
