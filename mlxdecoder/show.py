"""The attention of a model for one text or image, ready to be looked at."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mlxdecoder.errors import UserError
from mlxdecoder.generate import generate
from mlxdecoder.html import AttentionView
from mlxdecoder.maps import KINDS, AttentionMap
from mlxdecoder.models import Encoder, Translator
from mlxdecoder.trace import Trace, attend
from mlxdecoder.training.checkpoint import Checkpoint, check_checkpoint
from mlxdecoder.translate import as_translator
from mlxdecoder.words import WordMap

Maps = dict[str, AttentionMap]


def show(checkpoint: Checkpoint, text: Any, target: str | None = None, *, words: bool = False) -> AttentionView:
    """The attention of all kinds, layers and heads for a text: shows itself in a notebook, saves itself as a page.

    A translator reads the text and translates it, or reads `target` as its translation; a language model and an encoder
    read the text. A model of images reads an array [height, width, channels] in its place, as the model wants its
    numbers. `words` merges the pieces of the vocabulary into words. Raises `UserError` for a text without words.
    """
    maps, translation = attention_maps(checkpoint, text, target, words=words)
    kinds = [kind for kind in reversed(KINDS) if kind in maps]
    return AttentionView([maps[kind] for kind in kinds], titled(text, translation))


def titled(text: Any, translation: str | None) -> str:
    """What stands above the maps of a text, and of its translation."""
    if not isinstance(text, str):
        return "Image"
    return text if translation is None else f"{text} → {translation}"


def attention_maps(
    checkpoint: Checkpoint, text: Any, target: str | None = None, *, words: bool = False
) -> tuple[Maps, str | None]:
    """The attention of all kinds that a model has for a text, and the translation, where it makes or is given one."""
    check_checkpoint(checkpoint)
    maps, translation = _seen(checkpoint, text, target)
    return {kind: WordMap(each) if words else each for kind, each in maps.items()}, translation


def _seen(checkpoint: Checkpoint, text: Any, target: str | None) -> tuple[Maps, str | None]:
    if isinstance(checkpoint.model, Translator) or target is not None:
        return _translated(checkpoint, text, target)
    return _read(checkpoint, text), None


def _translated(checkpoint: Checkpoint, text: str, target: str | None) -> tuple[Maps, str]:
    model, tokenizer = as_translator(checkpoint), checkpoint.tokenizer
    source = _ids(checkpoint, text)
    if target is None:
        trace = Trace()
        generation = generate(model, [source], watch=trace)[0]
        read = [model.config.begin_id, *generation.tokens][: len(generation.path)]
        target = tokenizer.decode(generation.tokens)
    else:
        read = [model.config.begin_id, *tokenizer.encode_target(target)]
        trace = attend(model, source, read)
    keys, queries = tokenizer.pieces(source), tokenizer.pieces(read)
    maps = {
        "encoder": trace.attention_map("encoder", keys, keys),
        "decoder": trace.attention_map("decoder", queries, queries, window=model.config.window),
        "cross": trace.attention_map("cross", queries, keys),
    }
    return maps, target


def _read(checkpoint: Checkpoint, text: Any) -> Maps:
    """The self-attention of a model that reads a text, or an image, and does no more."""
    model = checkpoint.model
    kind = "encoder" if isinstance(model, Encoder) else "decoder"
    if model.config.n_patches:
        labels = patch_labels(checkpoint)
        return {kind: attend(model, _image(checkpoint, text)).attention_map(kind, labels, labels)}
    ids = _ids(checkpoint, text)
    labels = checkpoint.tokenizer.pieces(ids)
    return {kind: attend(model, ids).attention_map(kind, labels, labels, window=model.config.window)}


def patch_labels(checkpoint: Checkpoint) -> list[str]:
    """The tokens of an image: row and column of each patch, from 0, behind the token that stands for all."""
    config = checkpoint.model.config
    side = (config.image_size or 0) // (config.patch_size or 1)
    patches = [f"{row},{column}" for row in range(side) for column in range(side)]
    return ["[CLS]", *patches] if config.pooling == "cls" else patches


def _ids(checkpoint: Checkpoint, text: Any) -> Sequence[int]:
    if not isinstance(text, str):
        raise UserError(f"text: {type(text).__name__} found; this model reads text.")
    if not text.strip():
        raise UserError("text: no words found in it; a sentence is wanted.")
    return checkpoint.read(text)


def _image(checkpoint: Checkpoint, image: Any) -> Any:
    if isinstance(image, str):
        raise UserError(
            f"text: {checkpoint.path} reads images; from Python, mlxdecoder.show(mlxdecoder.load(...), image) takes "
            "one, as an array [height, width, channels]."
        )
    return image
