"""Maps to show, and what a page says about them, read from the page itself."""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from html.parser import HTMLParser
from typing import Any

import numpy as np

from mlxdecoder.maps import AttentionMap

SOURCE = ["▁the", "▁cat", "▁sleep", "s", "."]
TARGET = ["<s>", "▁le", "▁chat", "▁dort", "▁un", "▁peu", "."]
TOKENS = {"encoder": (SOURCE, SOURCE), "decoder": (TARGET, TARGET), "cross": (TARGET, SOURCE)}
ATTACK = '</script><img src=x onerror="window.attacked = 1"><script>window.attacked = 1</script>&lt;\''


def softmax(scores: np.ndarray, allowed: np.ndarray) -> np.ndarray:
    powers = np.where(allowed, np.exp(scores), 0.0)
    return np.asarray(powers / np.maximum(powers.sum(axis=-1, keepdims=True), 1e-9))


def intended(kind: str, T: int, S: int) -> np.ndarray:
    return np.tri(T, S, dtype=bool) if kind == "decoder" else np.ones((T, S), bool)


def attention(
    kind: str = "decoder", layers: int = 1, heads: int = 1, seed: int = 0, leaks: bool = False
) -> AttentionMap:
    """Random weights that obey the mask, or all of them do not."""
    queries, keys = TOKENS[kind]
    mask = intended(kind, len(queries), len(keys))
    scores = 2 * np.random.default_rng(seed).normal(size=(layers, heads, len(queries), len(keys)))
    return AttentionMap(kind, softmax(scores, np.ones_like(mask) if leaks else mask), mask, queries, keys)


def all_kinds(leaks: bool = False, seed: int = 0) -> list[AttentionMap]:
    return [attention(kind, 2, 4, seed + n, leaks) for n, kind in enumerate(TOKENS)]


def of_weights(weights: Any, mask: np.ndarray | None = None, tokens: Sequence[str] | None = None) -> AttentionMap:
    """One head [T, S] of cross-attention."""
    T, S = np.shape(weights)
    names = list(tokens) if tokens is not None else [f"w{n}" for n in range(max(T, S))]
    return AttentionMap("cross", np.array(weights, np.float32)[None, None], mask, names[:T], names[:S])


def long_maps(tokens: int = 200) -> list[AttentionMap]:
    """Three kinds, two layers, four heads, so that nothing in them is small or repeats."""
    random, names = np.random.default_rng(0), [f"token{n}" for n in range(tokens)]
    masks = {kind: intended(kind, tokens, tokens) for kind in TOKENS}
    return [
        AttentionMap(kind, softmax(random.normal(size=(2, 4, tokens, tokens)), mask), mask, names, names)
        for kind, mask in masks.items()
    ]


class Parsed(HTMLParser):
    """A page as its tags with their attributes, in order, and the texts of its styles and scripts."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, tuple[tuple[str, str | None], ...]]] = []
        self.texts: dict[str, str] = {}
        self._inside = ""
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, tuple(attrs)))
        self._inside = dict(attrs).get("type") or tag

    def handle_endtag(self, tag: str) -> None:
        self.tags.append((f"/{tag}", ()))
        self._inside = ""

    def handle_data(self, text: str) -> None:
        self.texts[self._inside] = self.texts.get(self._inside, "") + text

    @property
    def data(self) -> Any:
        return json.loads(self.texts["application/json"])


def decoded(head: dict[str, Any]) -> np.ndarray:
    """The values that a head's levels stand for: 12 bits each, as Base64 has them."""
    bits = int.from_bytes(base64.b64decode(head["levels"] + "AA" * (len(head["levels"]) // 2 % 2)), "big")
    count, length = len(head["levels"]) // 2, (len(head["levels"]) + 3) // 4 * 24
    codes = [bits >> (length - 12 * (n + 1)) & 4095 for n in range(count)]
    exact, special = iter(head["exact"]), {4093: np.nan, 4094: np.inf, 4095: -np.inf}
    return np.array([code / 4091 if code <= 4091 else next(exact) if code == 4092 else special[code] for code in codes])
