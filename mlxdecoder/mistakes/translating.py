"""A sentence to be translated where a mistake can show: with padding, company, a packed neighbour, a past."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import mlx.core as mx
import numpy as np

from mlxdecoder.decoding import generating, token_limit
from mlxdecoder.errors import UserError
from mlxdecoder.heads import Grouping
from mlxdecoder.ids import pad_right
from mlxdecoder.maps import AttentionMap
from mlxdecoder.masks import Documents, Full, Padding, Window
from mlxdecoder.mistakes.entry import Circumstance
from mlxdecoder.mistakes.scene import Scene, Written, best, log_softmax
from mlxdecoder.models import Translator
from mlxdecoder.recipe import RIGHT, Layout
from mlxdecoder.text.protocol import TextTokenizer
from mlxdecoder.trace import Trace
from mlxdecoder.watch import Watch

PADDING = 4  # slots behind a padded sentence
PAD_LABEL = "<pad>"


@dataclass(frozen=True)
class TranslatorScene(Scene):
    """Source rows [B, S] with their layout.

    `prefix` is what the decoder has read before the begin mark of the sentence, [B, P]; `earlier` is a source that is
    translated before, with the same recipe; `keys` are the tokens of row 0, None for padding.
    """

    model: Translator
    source: np.ndarray
    layout: Layout
    prefix: np.ndarray
    keys: tuple[int | None, ...]
    earlier: tuple[int, ...] | None = None

    @classmethod
    def of(
        cls,
        model: Translator,
        source: Sequence[int],
        needs: Sequence[Circumstance],
        beside: Sequence[int] | None = None,
    ) -> TranslatorScene:
        """The scene in which all of `needs` are given; `beside` is the other sentence (default: this one, reversed).

        Raises `UserError` for needs that no scene has together.
        """
        other = tuple(beside or reversed(source))
        if "packing" in needs:
            if beyond := {"padding", "company", "earlier sentence"} & set(needs):
                raise UserError(f"mistakes: one needs packing, another {min(beyond)}; compare them apart.")
            return cls._packed(model, source, other)
        rows = [list(source), list(other)] if "company" in needs else [list(source)]
        width = max(map(len, rows)) + (PADDING if "padding" in needs else 0)
        padded = any(len(row) < width for row in rows)
        layout = Layout(source=Padding.right([len(row) for row in rows], width)) if padded else Layout()
        keys = (*source, *[None] * (width - len(source)))
        prefix = np.zeros((len(rows), 0), np.int32)
        earlier = other if "earlier sentence" in needs else None
        return cls(model, pad_right(rows, model.config.pad_id, width), layout, prefix, keys, earlier)

    @classmethod
    def _packed(cls, model: Translator, source: Sequence[int], other: Sequence[int]) -> TranslatorScene:
        """The other sentence and its translation stand before this one, as documents of the same row."""
        alone, config = cls.of(model, other, ()), model.config
        before = [config.begin_id, *alone.write().tokens[: config.max_length - 2], config.end_id]
        of_source = (0,) * len(other) + (1,) * len(source)
        layout = Layout(Documents((of_source,)), Documents(((0,) * len(before) + (1,),)))
        keys = (*other, *source)
        return cls(model, np.array([keys], np.int32), layout, np.array([before], np.int32), keys)

    def read(self, target: Sequence[int], watch: Watch | None = None) -> np.ndarray:
        rows = np.repeat([[self.model.config.begin_id, *target]], len(self.source), axis=0)
        with generating(self.model):
            logits = self.model(self.source, np.concatenate([self.prefix, rows], axis=1), self.layout, watch)
        return log_softmax(logits[0, self.prefix.shape[1] :])

    def write(self, target: Sequence[int] | None = None, watch: Watch | None = None) -> Written:
        self._write_earlier()
        model, config, cache = self.model, self.model.config, self.model.make_cache()
        with generating(model):
            memory = model.encode(self.source, self.layout, watch)
        read = mx.full((len(self.source), 1), config.begin_id, mx.int32)
        tokens = mx.concatenate([mx.array(self.prefix), read], axis=1)
        limit = self._limit if target is None else len(target)
        said: list[int] = []
        steps: list[np.ndarray] = []
        while True:
            with generating(model):
                logits = model.decode(tokens, memory, cache, watch)[:, -1]  # [B, V]
            steps.append(log_softmax(logits[:1])[0])
            tokens = best(logits, config, read, len(said) + 1 == limit)
            if target is not None and len(said) < limit:
                tokens = mx.full(tokens.shape, target[len(said)])
            if len(said) == limit or (target is None and tokens[0, 0].item() in config.end_ids):
                return Written(said, np.stack(steps), stale=cache[0].cross.source is not memory.source)
            said.append(int(tokens[0, 0].item()))
            read = mx.concatenate([read, tokens], axis=1)

    def maps(
        self, tokenizer: TextTokenizer, target: Sequence[int], trace: Trace, stale: bool
    ) -> dict[str, AttentionMap]:
        """Cross-attention has the keys of an earlier sentence behind those of this one."""
        keys = [PAD_LABEL if token is None else tokenizer.pieces([token])[0] for token in self.keys]
        queries = tokenizer.pieces([*self.prefix[0].tolist(), self.model.config.begin_id, *target])
        earlier = tokenizer.pieces(list(self.earlier or ()))
        intended = self._intended(len(queries), len(keys))
        crossing = trace.stage("cross")  # [L, H, T, S]
        unseen = np.zeros((*crossing.shape[:3], len(keys) if stale else len(earlier)), np.float32)
        weights = {
            "encoder": trace.stage("encoder"),
            "decoder": trace.stage("decoder"),
            "cross": np.concatenate([unseen, crossing] if stale else [crossing, unseen], axis=-1),
        }
        intended["cross"] = np.pad(intended["cross"], ((0, 0), (0, len(earlier))))
        labels = {"encoder": (keys, keys), "decoder": (queries, queries), "cross": (queries, [*keys, *earlier])}
        grouping = Grouping(self.model.config.n_heads, self.model.config.kv_heads)
        return {
            kind: AttentionMap(kind, weights[kind], intended[kind], *labels[kind], grouping=grouping)
            for kind in weights
        }

    def _intended(self, T: int, S: int) -> dict[str, np.ndarray]:
        """Who may attend to whom by the right recipe, in row 0."""
        window = Full() if self.model.config.window is None else Window(self.model.config.window)
        masks = {
            "encoder": RIGHT.encoder_mask(self.layout).array(S, S),
            "decoder": RIGHT.decoder_mask(Layout(self.layout.source, self.layout.target, window)).array(T, T),
            "cross": RIGHT.cross_mask(self.layout).array(T, S, offset=0),
        }
        return {kind: np.array(mask)[0, 0] for kind, mask in masks.items()}

    def _write_earlier(self) -> None:
        if self.earlier is not None:
            rows = np.repeat([self.earlier], len(self.source), axis=0)  # what is kept serves as many rows only
            prefix = np.zeros((len(rows), 0), np.int32)
            TranslatorScene(self.model, rows, Layout(), prefix, self.earlier).write()

    @property
    def _limit(self) -> int:
        """How many tokens may be written, so that all of them can be read too."""
        limit, config = token_limit(self.model, self.source[0].tolist(), None), self.model.config
        return min(limit, config.max_length - 1) if config.positions == "learned" else limit
