"""Every question can be answered from its row, stands at its distance, and has one answer only."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mlxdecoder.config import ModelConfig
from mlxdecoder.errors import UserError
from mlxdecoder.recall.tasks import TASKS, Alphabet, Questions, distances
from tests.recall.builders import N_IDS, config

LENGTHS = st.integers(8, 70)
KINDS = st.sampled_from(sorted(TASKS))


def draw(task: str, length: int, distance: int | None, seed: int = 0, rows: int = 3) -> Questions:
    return TASKS[task](np.random.default_rng(seed), Alphabet.of(config()), rows, length, distance)


@settings(max_examples=60)
@given(KINDS, LENGTHS, st.data(), st.integers(0, 99))
def test_the_fact_stands_once_at_the_stated_distance(task: str, length: int, data: st.DataObject, seed: int) -> None:
    distance = data.draw(st.sampled_from(distances(task, length)))
    questions = draw(task, length, distance, seed)
    assert questions.tokens.shape == questions.answers.shape == questions.asked.shape == (3, length)
    assert (questions.asked.sum(axis=1) == (distance - 1 if task == "copy" else 1)).all()
    for row, t in np.argwhere(questions.asked):
        tokens = questions.tokens[row]
        before = np.flatnonzero(tokens[:t] == tokens[t])
        assert before.tolist() == [t - distance]
        assert questions.answers[row, t] == tokens[t - distance + 1]


@settings(max_examples=60)
@given(KINDS, LENGTHS, st.integers(0, 99))
def test_practice_asks_at_any_distance_what_stands_in_the_row(task: str, length: int, seed: int) -> None:
    questions = draw(task, length, None, seed)
    assert questions.tokens.shape == (3, length)
    assert questions.asked.any(axis=1).all()
    for row, t in np.argwhere(questions.asked):
        tokens = questions.tokens[row]
        after = {int(tokens[s + 1]) for s in np.flatnonzero(tokens[:t] == tokens[t])}
        assert after == {questions.answers[row, t]}


@pytest.mark.parametrize("task", sorted(TASKS))
def test_labels_are_the_row_moved_by_one(task: str) -> None:
    questions = draw(task, 20, 4)
    np.testing.assert_array_equal(questions.tokens[:, 1:], questions.answers[:, :-1])


@pytest.mark.parametrize("task", sorted(TASKS))
def test_the_same_seed_draws_the_same_rows_and_another_one_others(task: str) -> None:
    first, again, other = (draw(task, 20, 4, seed).tokens for seed in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()
    assert (first[0] != first[1]).any()


@pytest.mark.parametrize("task", sorted(TASKS))
def test_practice_reaches_all_distances(task: str) -> None:
    seen = set()
    for seed in range(200):
        questions = draw(task, 16, None, seed)
        for row, t in np.argwhere(questions.asked):
            seen.add(t - np.flatnonzero(questions.tokens[row][:t] == questions.tokens[row, t])[0])
    assert seen >= set(distances(task, 16))


def test_distances_double_up_to_the_longest() -> None:
    assert distances("needle", 64) == distances("associative", 64) == [4, 8, 16, 32, 62]
    assert distances("copy", 64) == [4, 8, 16, 32]
    assert distances("needle", 17) == [4, 8, 14]
    assert distances("copy", 8) == [4]


class TestAlphabet:
    def test_leaves_out_what_pads_and_ends(self) -> None:
        shape = ModelConfig(architecture="language_model", target_vocab=12, pad_id=1, begin_id=5, end_id=11)
        ids = Alphabet.of(shape)
        assert (ids.begin, ids.mark, ids.words.tolist()) == (5, 0, [2, 3, 4, 6, 7, 8, 9, 10])

    def test_rows_hold_no_other_ids(self) -> None:
        ids = Alphabet.of(config())
        for task in TASKS:
            tokens = draw(task, 40, 8).tokens
            assert set(np.unique(tokens)) <= {ids.begin, ids.mark, *ids.words.tolist()}
            assert (tokens[:, 0] == ids.begin).all()
        assert N_IDS - 1 in ids.words

    def test_too_few_words_for_a_length_is_said(self) -> None:
        with pytest.raises(UserError, match=r"100 different words.*has 76"):
            draw("associative", 200, 4)

    def test_too_few_ids_at_all(self) -> None:
        with pytest.raises(UserError, match="target_vocab = 4"):
            Alphabet.of(ModelConfig(architecture="language_model", target_vocab=4))


@pytest.mark.parametrize("task", ["associative", "copy"])
def test_the_lengths_that_a_small_vocabulary_is_enough_for_are_named(task: str) -> None:
    ids, random = Alphabet(1, 4, np.arange(5, 14)), np.random.default_rng(0)
    with pytest.raises(UserError, match="enough for lengths up to 19"):
        TASKS[task](random, ids, 1, 20, distances(task, 20)[-1])
    TASKS[task](random, ids, 1, 19, distances(task, 19)[-1])
