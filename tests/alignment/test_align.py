"""Alignments by models: of the toy grammar they are right, and every pair has its place."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mlxdecoder
from mlxdecoder import UserError, attend
from mlxdecoder.alignment import Aligner, Gold, Links, Place, choose, read_pair, read_toy, score
from mlxdecoder.alignment.choosing import by_agreement, by_gold, by_itself
from mlxdecoder.alignment.forced import LONGEST, places_of, word_weights
from mlxdecoder.alignment.sentences import SentencePair, read_sentence, turned
from mlxdecoder.text.tokenizer import Tokenizer
from mlxdecoder.text.toy import ToySplits, make_splits
from mlxdecoder.training.checkpoint import Checkpoint
from mlxdecoder.words import merge, words_of
from tests.builders import lively

TEXTS = [
    ("The black cat sleeps.", "Le chat noir dort."),
    ("Does she listen to my dog?", "Écoute-t-elle mon chien ?"),
    ("", "Rien."),
    ("I see it.", ""),
    ("I do not see her.", "Je ne la vois pas."),
]


@pytest.fixture(scope="module")
def toy() -> Checkpoint:
    return mlxdecoder.load()


@pytest.fixture(scope="module")
def splits() -> ToySplits:
    return make_splits(held_out_count=200)


@pytest.fixture(scope="module")
def aligner(toy: Checkpoint, splits: ToySplits) -> Aligner:
    pairs, gold = read_toy(toy.tokenizer, splits.validation)
    return choose(toy, pairs, gold=gold)


def known(found: list[Links | None]) -> list[Links]:
    return [links for links in found if links is not None]


def untrained(toy: Checkpoint, **changes: Any) -> Checkpoint:
    """A translator with the toy's vocabulary that has learnt nothing."""
    return Checkpoint(lively("translator", target_vocab=toy.tokenizer.vocab_size, **changes), toy.tokenizer, toy.path)


def test_on_held_out_pairs_of_the_toy_grammar_fewer_than_one_link_in_twenty_is_wrong(
    toy: Checkpoint, splits: ToySplits, aligner: Aligner
) -> None:
    pairs, gold = read_toy(toy.tokenizer, splits.combinations)
    assert score(known(aligner.align(pairs)), gold).error_rate < 0.05


def test_by_gold_the_best_place_is_chosen(toy: Checkpoint, splits: ToySplits, aligner: Aligner) -> None:
    pairs, gold = read_toy(toy.tokenizer, splits.validation[:40])
    rates = {
        place: score(known(choose(toy, pairs, place=place).align(pairs)), gold).error_rate
        for place in places_of(toy.model.config)
    }
    assert len(rates) == 2 * 2 * (1 + 4)  # rows, layers, the mean and the heads
    chosen = choose(toy, pairs, gold=gold)
    assert rates[chosen.forward.place] == min(rates.values())
    assert f"{min(rates.values()):.1%}" in chosen.describe() and chosen.forward.place.describe() in chosen.describe()


def test_without_gold_a_layer_is_chosen_by_itself_and_aligns_well(toy: Checkpoint, splits: ToySplits) -> None:
    pairs, gold = read_toy(toy.tokenizer, splits.combinations)
    chosen = choose(toy, pairs)
    assert "agrees best with itself" in chosen.describe()
    assert score(known(chosen.align(pairs)), gold).error_rate < 0.1


def test_the_words_of_a_sentence_are_linked_across_its_order(toy: Checkpoint) -> None:
    assert mlxdecoder.align(toy, TEXTS[:1]) == [[(0, 0), (1, 2), (2, 1), (3, 3)]]


def test_pairs_that_cannot_be_read_have_no_links_and_keep_their_place(toy: Checkpoint, aligner: Aligner) -> None:
    texts = [*TEXTS, ("cat " * (LONGEST + 1), "chat"), ("cat", "chat " * (LONGEST + 1))]
    found = aligner.align([read_pair(toy.tokenizer, *one) for one in texts])
    assert [links is None for links in found] == [False, False, True, True, False, True, True]
    assert found[0] == aligner.align([read_pair(toy.tokenizer, *TEXTS[0])])[0]


def test_learnt_positions_end_where_they_were_learnt_to(toy: Checkpoint) -> None:
    short = untrained(toy, positions="learned", max_length=8)
    pairs = [read_pair(toy.tokenizer, "cat " * count, "chat " * count) for count in (7, 8, 9)]
    assert [links is None for links in choose(short, pairs).align(pairs)] == [False, True, True]


@pytest.mark.parametrize("place", [Place(1), Place(0, 3), Place(1, 2, shifted=True)])
def test_weights_are_those_of_a_trace_whatever_the_batch(toy: Checkpoint, place: Place) -> None:
    texts = [one for one in TEXTS if all(one)] * 3
    pairs = [read_pair(toy.tokenizer, *one) for one in texts]
    for (source, target), found in zip(texts, word_weights(toy.model, pairs, [place]), strict=True):
        ids, read = toy.tokenizer.encode(source), toy.tokenizer.encode(target)
        layer = attend(toy.model, ids, [toy.model.config.begin_id, *read]).stage("cross")[place.layer]
        head = layer.mean(axis=0) if place.head is None else layer[place.head]
        rows = head[1:] if place.shifted else head[:-1]
        words = [words_of(toy.tokenizer.pieces(each)) for each in (read, ids)]
        np.testing.assert_allclose(found[0], merge(rows, *words), atol=1e-5)


def test_a_place_that_is_not_there_is_refused_with_those_that_are(toy: Checkpoint) -> None:
    with pytest.raises(UserError, match="2 layers and 4 heads"):
        mlxdecoder.align(toy, TEXTS, place=Place(1, 4))


def test_a_model_that_does_not_translate_is_refused(toy: Checkpoint) -> None:
    speaker = Checkpoint(lively("language_model", target_vocab=toy.tokenizer.vocab_size), toy.tokenizer, toy.path)
    with pytest.raises(UserError, match="a translator is wanted"):
        mlxdecoder.align(speaker, TEXTS)


def test_a_model_that_has_learnt_nothing_is_no_reason_to_fail(toy: Checkpoint) -> None:
    assert len(mlxdecoder.align(untrained(toy), TEXTS, reverse=untrained(toy))) == len(TEXTS)


def test_nothing_to_align_is_no_reason_to_fail_either(toy: Checkpoint) -> None:
    assert mlxdecoder.align(toy, []) == []
    assert mlxdecoder.align(toy, [("", "")], reverse=toy) == [[]]


# Two directions -----------------------------------------------------------------------------------------------------

RIGHT, OFF, LOST = np.eye(3), np.roll(np.eye(3), 1, axis=0), np.full((3, 3), 1 / 3)


def test_two_directions_choose_the_places_where_they_agree() -> None:
    forward = [np.stack([LOST, OFF, RIGHT]), np.stack([OFF, RIGHT, RIGHT])]
    backward = [np.stack([OFF.T @ OFF.T, LOST, OFF, RIGHT]), np.stack([LOST, OFF, LOST, RIGHT])]
    assert by_agreement(forward, backward) == (2, 3, 1.0)


def test_a_direction_is_compared_as_it_is_seen_from_the_other() -> None:
    assert by_agreement([OFF[None]], [OFF.T[None]]) == (0, 0, 1.0)
    assert by_agreement([OFF[None]], [OFF[None]])[2] == 0.0


def test_one_direction_chooses_the_place_where_rows_and_columns_agree() -> None:
    sink = np.array([[0.1, 0.0, 0.9], [0.0, 0.1, 0.9], [0.0, 0.0, 1.0]])
    assert by_itself([np.stack([sink, LOST, OFF])])[0] == 2


def test_the_place_with_the_fewest_errors_is_chosen_even_if_none_finds_anything() -> None:
    gold = [Gold.parse("0-0 1-1 2-2", "")]
    assert by_gold([np.stack([LOST, OFF, RIGHT])], gold) == (2, 0.0)
    assert by_gold([np.full((2, 3, 3), np.nan)], [Gold.parse("", "")])[1] == 1.0


def test_a_reverse_model_may_have_another_vocabulary(toy: Checkpoint) -> None:
    other = Tokenizer.train(["Le chat noir dort.", "The black cat sleeps."] * 3, 300)
    reverse = Checkpoint(lively("translator", target_vocab=other.vocab_size), other, toy.path)
    assert all(mlxdecoder.align(toy, [TEXTS[0], TEXTS[4]], reverse=reverse))


def test_what_the_reverse_model_cannot_read_has_no_links(toy: Checkpoint) -> None:
    short = untrained(toy, positions="learned", max_length=8)
    texts = [("cat " * 4, "chat"), ("cat " * 9, "chat"), ("cat", "chat " * 9)]
    assert [bool(links) for links in mlxdecoder.align(toy, texts, reverse=short)] == [True, False, False]


def test_both_directions_share_the_words_of_the_first(toy: Checkpoint) -> None:
    other = Tokenizer.train(["猫が 寝る", "我喜欢猫", "我喜欢"] * 5, 290)
    pair: SentencePair = (read_sentence(toy.tokenizer, "我喜欢猫"), read_sentence(toy.tokenizer, "Le chat noir dort."))
    target, source = turned(other, pair)
    assert (len(target.begins), len(source.begins)) == (4, len(pair[0].begins))
    assert source.words.max() < len(source.begins)
