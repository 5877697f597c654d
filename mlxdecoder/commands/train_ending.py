"""What `mlxdecoder train` shows when a run has ended: translations by its best checkpoint."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from mlxdecoder.commands.common import command_line
from mlxdecoder.text.corpus import Pair
from mlxdecoder.text.scores import bleu
from mlxdecoder.training.prepare import encode_pairs
from mlxdecoder.translate import load, translate

N_SHOWN = 5


def show_translations(folder: Path, validation: Sequence[Pair]) -> None:
    """Print some held-out pairs that were measured by as the best checkpoint translates them, and BLEU over all."""
    checkpoint = load(folder)
    pairs = [pair for pair in validation if encode_pairs(checkpoint.tokenizer, [pair])]
    made = translate(checkpoint, [pair.source for pair in pairs])
    print(f"\nHeld-out sentences, translated by the best checkpoint, {checkpoint.path}:")
    for pair, text in list(zip(pairs, made, strict=True))[:: -(-len(made) // N_SHOWN)]:
        print(f"  {pair.source}\n  → {text}\n    (wanted: {pair.target})")
    if find_spec("sacrebleu"):
        score, signature = bleu(made, [pair.target for pair in pairs])
        print(f"BLEU {score:.1f} over {len(made)} sentences, greedy ({signature})")
    print(f"\nGo on with:\n  {command_line()} translate --model {folder}")
