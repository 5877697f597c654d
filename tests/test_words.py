"""Pieces as words, and weights of pieces as weights of words: nothing is lost, and nothing that is wrong is hidden."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some

from mlxdecoder import load
from mlxdecoder.maps import AttentionMap
from mlxdecoder.words import MERGED, WordMap, merge, merge_mask, word_labels, words_of

SENTENCES = {  # pieces, and the words that they make up
    "spaces divide": (["▁The", "▁bl", "ack", "▁cat", "▁sleep", "s", "."], ["The", "black", "cat", "sleeps."]),
    "punctuation after a space": (["▁chien", "▁", "?"], ["chien", "?"]),
    "several spaces": (["▁a", "▁", "▁", "▁b"], ["a", "b"]),
    "marks stand alone": (["<s>", "▁", "L", "e", "</s>", "<pad>"], ["<s>", "Le", "</s>", "<pad>"]),
    "marks of other models stand alone": (
        ["[CLS]", "▁the", "[SEP]", "<|begin_of_text|>", "a", "<bos>", ">>fr<<", "▁b"],
        ["[CLS]", "the", "[SEP]", "<|begin_of_text|>", "a", "<bos>", ">>fr<<", "b"],
    ),
    "what is unknown belongs to its word": (["▁", "<unk>", "s", "▁a"], ["<unk>s", "a"]),
    "bytes make characters": (["▁", "<0xC3>", "<0x89>", "coute"], ["Écoute"]),
    "bytes alone": (["▁a", "▁", "<0xF0>", "<0x9F>", "<0x98>", "<0x80>"], ["a", "😀"]),
    "half a character": (["▁a", "<0xC3>"], ["a\ufffd"]),
    "NBSP joins": (["▁Non", "<U+00A0>", "!"], ["Non<U+00A0>!"]),
    "Chinese by pieces": (["▁", "我", "喜欢", "▁Tom", "的", "猫", "。"], ["我", "喜欢", "Tom", "的", "猫", "。"]),
    "Thai by pieces": (["▁ฉัน", "รัก", "แมว"], ["ฉัน", "รัก", "แมว"]),
    "Korean by spaces": (["▁고양", "이", "를", "▁좋아"], ["고양이를", "좋아"]),
    "Arabic by spaces": (["▁ال", "قط", "▁ينام"], ["القط", "ينام"]),
    "nothing but a space": (["▁"], [""]),
    "nothing": ([], []),
}  # fmt: skip


@pytest.mark.parametrize("name", SENTENCES)
def test_pieces_make_words(name: str) -> None:
    pieces, words = SENTENCES[name]
    assert word_labels(pieces) == words
    numbers = words_of(pieces).tolist()
    assert sorted(set(numbers)) == list(range(len(words)))
    assert numbers == sorted(numbers)


TOKENIZER = load().tokenizer
LETTERS = some.text("abcé😀ßж", min_size=1, max_size=6)


@given(some.lists(LETTERS, min_size=1, max_size=6))
def test_the_words_of_a_text_are_what_its_spaces_divide(words: list[str]) -> None:
    assert word_labels(TOKENIZER.pieces(TOKENIZER.encode(" ".join(words)))) == words


@some.composite
def sentences(draw: some.DrawFn) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Weights [H, T, S], and the words of T and S pieces."""
    query_words, key_words = (np.repeat(np.arange(len(sizes)), sizes) for sizes in draw(SIZES))
    scores = np.random.default_rng(draw(some.integers(0, 99))).normal(size=(2, len(query_words), len(key_words)))
    return np.exp(scores) / np.exp(scores).sum(-1, keepdims=True), query_words, key_words


SIZES = some.tuples(*[some.lists(some.integers(1, 4), min_size=1, max_size=5)] * 2)


@given(sentences())
def test_rows_are_averaged_and_columns_summed(one: tuple[np.ndarray, np.ndarray, np.ndarray]) -> None:
    weights, query_words, key_words = one
    merged = merge(weights, query_words, key_words)
    assert merged.shape == (2, query_words[-1] + 1, key_words[-1] + 1)
    np.testing.assert_allclose(merged.sum(axis=-1), 1)
    for (head, j, i), value in np.ndenumerate(merged):
        cells = weights[head][query_words == j][:, key_words == i]
        assert value == pytest.approx(cells.sum() / len(cells))


@given(sentences())
def test_words_of_one_piece_change_nothing(one: tuple[np.ndarray, np.ndarray, np.ndarray]) -> None:
    weights = one[0]
    alone = [np.arange(size) for size in weights.shape[1:]]
    np.testing.assert_array_equal(merge(weights, *alone), weights)


def test_what_is_no_number_stays_in_its_words() -> None:
    weights = np.full((4, 3), 1 / 3)
    weights[1, 2] = np.nan
    merged = merge(weights, np.array([0, 0, 1, 2]), np.array([0, 1, 1]))
    assert np.isnan(merged).tolist() == [[False, True], [False, False], [False, False]]


PIECES = ["<s>", "▁Le", "▁ch", "at", "▁dort"]  # the third and the fourth make a word


def causal(**changes: float) -> AttentionMap:
    """One head that looks at itself alone, but for what is changed: r1c2=0.5 sets row 1, column 2."""
    weights = np.eye(5)
    for place, value in changes.items():
        weights[int(place[1]), int(place[3])] = value
    return AttentionMap("decoder", weights[None, None], np.tri(5, dtype=bool), PIECES, PIECES)


def test_a_map_in_words_says_so_and_keeps_its_place() -> None:
    merged = WordMap(causal())
    assert (merged.queries, merged.keys) == (["<s>", "Le", "chat", "dort"], ["<s>", "Le", "chat", "dort"])
    np.testing.assert_array_equal(merged.weights[0, 0], np.eye(4))
    assert merged.intended is not None
    np.testing.assert_array_equal(merged.intended, np.tri(4, dtype=bool))
    assert merged.note == MERGED == merged.to_json()["note"]
    assert "note" not in causal().to_json()


def test_weight_outside_the_mask_is_flagged_even_inside_a_word() -> None:
    merged = WordMap(causal(r2c2=0.6, r2c3=0.4))  # a piece looks at the next one of its own word
    np.testing.assert_array_equal(merged.weights[0, 0], np.eye(4, dtype=np.float32))
    np.testing.assert_allclose(merged.mass_outside()[0, 0], [0, 0, 0.4, 0])


def test_wrong_sums_that_make_up_for_each_other_are_flagged() -> None:
    merged = WordMap(causal(r2c2=0.7, r3c3=1.3))
    np.testing.assert_allclose(merged.row_sums()[0, 0], 1)
    np.testing.assert_allclose(merged.row_sum_errors()[0, 0], [0, 0, 0.3, 0], atol=1e-6)


def test_heads_that_are_chosen_stay_words() -> None:
    weights = np.stack([np.eye(5), np.eye(5)[::-1]])[None]
    merged = WordMap(AttentionMap("encoder", weights, None, PIECES, PIECES, layers=(3,), heads=(4, 7)))
    one = merged.select([3], [7])
    assert (one.layers, one.heads, one.queries) == ((3,), (7,), merged.queries)
    np.testing.assert_array_equal(one.weights[0, 0], merged.weights[0, 1])
    np.testing.assert_array_equal(one.mass_outside(), np.zeros((1, 1, 4)))


def test_a_word_may_look_where_one_of_its_pieces_may() -> None:
    allowed = merge_mask(np.tri(4, dtype=bool), np.array([0, 0, 1, 2]), np.array([0, 1, 1, 2]))
    assert allowed.tolist() == [[True, True, False], [True, True, False], [True, True, True]]


def test_the_window_can_merge_without_mlx() -> None:
    check = "import sys, mlxdecoder.words; sys.exit('mlx.core' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", check], check=False).returncode == 0
