"""A prompt to go on from where a mistake can show: in company, behind a packed neighbour."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import cycle, islice

import mlx.core as mx
import numpy as np

from mlxdecoder.decoding import generating, token_limit
from mlxdecoder.heads import Grouping
from mlxdecoder.maps import AttentionMap
from mlxdecoder.masks import Documents, Full, Window
from mlxdecoder.mistakes.entry import Circumstance
from mlxdecoder.mistakes.scene import Scene, Written, best, log_softmax
from mlxdecoder.models import LanguageModel
from mlxdecoder.recipe import RIGHT, Layout
from mlxdecoder.text.protocol import TextTokenizer
from mlxdecoder.trace import Trace
from mlxdecoder.watch import Watch

LONGEST = 24  # tokens of a continuation that are looked at


@dataclass(frozen=True)
class PromptScene(Scene):
    """Prompts [B, P] with their layout; in row 0, `n_before` tokens belong to another text, packed in front."""

    model: LanguageModel
    prompts: np.ndarray
    layout: Layout
    n_before: int = 0

    @classmethod
    def of(
        cls,
        model: LanguageModel,
        prompt: Sequence[int],
        needs: Sequence[Circumstance],
        beside: Sequence[int] | None = None,
    ) -> PromptScene:
        """The scene in which all of `needs` are given; `beside` is the other text (default: this one, reversed)."""
        other = list(beside or [prompt[0], *reversed(prompt[1:])])
        rows, before = [list(prompt)], [*other, model.config.end_id] if "packing" in needs else []
        if "company" in needs:
            rows.append(list(islice(cycle(other), len(prompt))))
        prompts = np.array([[*before, *row] for row in rows], np.int32)
        documents = tuple((0,) * len(before) + (1,) for _ in rows)
        return cls(model, prompts, Layout(target=Documents(documents)) if before else Layout(), len(before))

    def read(self, target: Sequence[int], watch: Watch | None = None) -> np.ndarray:
        rows = np.concatenate([self.prompts, np.repeat([target], len(self.prompts), axis=0).astype(np.int32)], axis=1)
        with generating(self.model):
            logits = self.model(rows, None, self.layout, watch)
        return log_softmax(logits[0, self.n_before :])

    def write(self, target: Sequence[int] | None = None, watch: Watch | None = None) -> Written:
        model, config, cache = self.model, self.model.config, self.model.make_cache()
        tokens = read = mx.array(self.prompts)
        limit = self._limit if target is None else len(target)
        said: list[int] = []
        steps: list[np.ndarray] = []
        while True:
            with generating(model):
                logits = model(tokens, cache, self.layout, watch)  # [B, T, V]
            steps.append(log_softmax(logits[0, 0 if steps else self.n_before :]))
            tokens = best(logits[:, -1], config, read[:, self.n_before :], len(said) + 1 == limit)
            if target is not None and len(said) < limit:
                tokens = mx.full(tokens.shape, target[len(said)])
            if len(said) == limit or (target is None and tokens[0, 0].item() in config.end_ids):
                return Written(said, np.concatenate(steps))
            said.append(int(tokens[0, 0].item()))
            read = mx.concatenate([read, tokens], axis=1)

    def maps(
        self, tokenizer: TextTokenizer, target: Sequence[int], trace: Trace, stale: bool
    ) -> dict[str, AttentionMap]:
        config, labels = self.model.config, tokenizer.pieces([*self.prompts[0].tolist(), *target])
        window = Full() if config.window is None else Window(config.window)
        mask = RIGHT.decoder_mask(Layout(target=self.layout.target, window=window))
        intended = np.array(mask.array(len(labels), len(labels)))[0, 0]
        grouping = Grouping(config.n_heads, config.kv_heads)
        return {"decoder": AttentionMap("decoder", trace.stage("decoder"), intended, labels, labels, grouping=grouping)}

    @property
    def _limit(self) -> int:
        """How many tokens may be written, so that all of them can be read too."""
        limit = min(LONGEST, token_limit(self.model, self.prompts[0].tolist(), None))
        config, length = self.model.config, self.prompts.shape[1]
        return min(limit, config.max_length - length) if config.positions == "learned" else limit
