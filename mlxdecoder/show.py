"""The attention of a translator for one sentence, ready to be looked at."""

from __future__ import annotations

from mlxdecoder.errors import UserError
from mlxdecoder.generate import generate
from mlxdecoder.html import AttentionView
from mlxdecoder.maps import AttentionMap
from mlxdecoder.trace import Trace
from mlxdecoder.trace import attend as attend_to
from mlxdecoder.training.checkpoint import Checkpoint
from mlxdecoder.translate import as_translator
from mlxdecoder.words import WordMap


def show(checkpoint: Checkpoint, text: str, target: str | None = None, *, words: bool = False) -> AttentionView:
    """The attention of all kinds, layers and heads for a sentence: shows itself in a notebook, saves itself as a page.

    `target` is what is read (default: the model's own translation); `words` merges the pieces of the vocabulary into
    words. Raises `UserError` for a text without words.
    """
    maps, translation = attention_maps(checkpoint, text, target, words=words)
    return AttentionView([maps[kind] for kind in ("cross", "decoder", "encoder")], f"{text} → {translation}")


def attention_maps(
    checkpoint: Checkpoint, text: str, target: str | None = None, *, words: bool = False
) -> tuple[dict[str, AttentionMap], str]:
    """The attention of all kinds for a sentence, and its translation: the model's own, unless one is given."""
    model, tokenizer = as_translator(checkpoint), checkpoint.tokenizer
    source = tokenizer.encode(text)
    if not source:
        raise UserError("text: no words found in it; a sentence is wanted.")
    if target is None:
        trace = Trace()
        generation = generate(model, [source], watch=trace)[0]
        read = [model.config.begin_id, *generation.tokens][: len(generation.path)]
        target = tokenizer.decode(generation.tokens)
    else:
        read = [model.config.begin_id, *tokenizer.encode_target(target)]
        trace = attend_to(model, source, read)
    keys, queries = tokenizer.pieces(source), tokenizer.pieces(read)
    maps = {
        "encoder": trace.attention_map("encoder", keys, keys),
        "decoder": trace.attention_map("decoder", queries, queries, window=model.config.window),
        "cross": trace.attention_map("cross", queries, keys),
    }
    return {kind: WordMap(each) if words else each for kind, each in maps.items()}, target
