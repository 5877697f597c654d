"""Alignments by models: of the toy grammar they are right, and every pair has its place."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sentencepiece import SentencePieceProcessor

import mlxdecoder
from mlxdecoder import UserError, attend
from mlxdecoder.alignment import Aligner, Gold, Links, Place, choose, read_pair, read_toy, score
from mlxdecoder.alignment.aligner import Reader
from mlxdecoder.alignment.choosing import by_agreement, by_gold, by_itself
from mlxdecoder.alignment.forced import places_of, word_weights
from mlxdecoder.alignment.links import as_links, links_of
from mlxdecoder.alignment.sentences import SentencePair, read_sentence, turned
from mlxdecoder.text.foreign import MarianTokenizer, SentencePieceTokenizer
from mlxdecoder.text.protocol import TextTokenizer
from mlxdecoder.text.tokenizer import Tokenizer
from mlxdecoder.text.toy import ToySplits, make_splits
from mlxdecoder.training.checkpoint import Checkpoint
from mlxdecoder.translate import LONGEST
from mlxdecoder.words import merge, words_of
from tests.builders import lively
from tests.pretrained.folders import FIXTURES
from tests.pretrained.spoken import spoken

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


def test_by_gold_the_best_place_of_a_reverse_model_is_chosen_too(toy: Checkpoint, splits: ToySplits) -> None:
    pairs, gold = read_toy(toy.tokenizer, splits.validation[:10])
    reverse = untrained(toy)
    back = [turned(toy.tokenizer, pair) for pair in pairs]
    rates = {}
    for place in places_of(reverse.model.config):
        found = known(Aligner(Reader(reverse, place), None, "").align(back))
        as_forward = [frozenset((source, target) for target, source in links) for links in found]
        rates[place] = score(as_forward, gold).error_rate
    chosen = choose(toy, pairs, gold=gold, reverse=reverse)
    assert chosen.backward is not None
    assert rates[chosen.backward.place] == min(rates.values())
    assert f"the reverse model: {min(rates.values()):.1%}" in chosen.describe()


def test_links_are_those_of_both_directions_together(toy: Checkpoint, splits: ToySplits) -> None:
    """The weights of each are those that it has where it is alone, the reverse model's turned."""
    pairs, _ = read_toy(toy.tokenizer, splits.combinations[:30])
    forward, backward = Reader(toy, Place(1)), Reader(untrained(toy), Place(0))
    ahead = word_weights(toy.model, pairs, [forward.place])
    back = word_weights(backward.checkpoint.model, [turned(toy.tokenizer, one) for one in pairs], [backward.place])
    wanted = [as_links(links_of(one[0] + other[0].T)) for one, other in zip(ahead, back, strict=True)]
    assert Aligner(forward, backward, "").align(pairs) == wanted
    assert wanted != Aligner(forward, None, "").align(pairs)


def test_long_pairs_are_not_chosen_by(toy: Checkpoint) -> None:
    """All places of a model are looked at, which takes memory for the product of the lengths."""
    pairs = [read_pair(toy.tokenizer, "cat " * count, "chat " * count) for count in (50, 51, 200)]
    assert "on one pair" in choose(toy, pairs).describe()


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


def test_words_are_told_as_they_are_written(toy: Checkpoint) -> None:
    text = "Die\u00a0Mu\u0308he  lohnt\u2581sich \ufdd0 \U0001f600!"
    wanted = ["Die\u00a0M\u00fche", "lohnt\u2581sich", "\ufdd0", "\U0001f600!"]
    assert read_sentence(toy.tokenizer, text).spelled() == wanted


def test_both_directions_share_the_words_of_the_first(toy: Checkpoint) -> None:
    other = Tokenizer.train(["猫が 寝る", "我喜欢猫", "我喜欢"] * 5, 290)
    pair: SentencePair = (read_sentence(toy.tokenizer, "我喜欢猫"), read_sentence(toy.tokenizer, "Le chat noir dort."))
    target, source = turned(other, pair)
    assert (len(target.begins), len(source.begins)) == (4, len(pair[0].begins))
    assert source.words.max() < len(source.begins)


# Models from elsewhere ----------------------------------------------------------------------------------------------


def in_the_words_of(toy: Checkpoint, make: Callable[[dict[str, bytes]], TextTokenizer]) -> Checkpoint:
    """The packaged model, whose vocabulary is read as models from elsewhere read theirs."""
    return Checkpoint(toy.model, make(toy.tokenizer.files), toy.path)


def as_marian(files: dict[str, bytes]) -> TextTokenizer:
    model = files["tokenizer.model"]
    processor = SentencePieceProcessor.from_proto(model)
    vocabulary = json.dumps({processor.id_to_piece(i): i for i in range(processor.get_piece_size())}).encode()
    return MarianTokenizer({"source.spm": model, "target.spm": model, "vocab.json": vocabulary})


def test_words_are_the_same_by_whatever_class_their_pieces_are_read(toy: Checkpoint, splits: ToySplits) -> None:
    other = in_the_words_of(toy, SentencePieceTokenizer)
    texts = [(pair.source, pair.target) for pair in splits.combinations[:50]]
    place = Place(1, 2, shifted=True)
    assert mlxdecoder.align(other, texts, place=place) == mlxdecoder.align(toy, texts, place=place)


def test_a_mark_at_the_end_of_the_source_is_no_word(toy: Checkpoint, splits: ToySplits) -> None:
    marian = in_the_words_of(toy, as_marian)
    pairs, gold = read_toy(marian.tokenizer, splits.combinations)
    assert all(source.words[-1] == -1 and source.ids[-1] == 3 for source, _ in pairs)
    sample, known_links = read_toy(marian.tokenizer, splits.validation)
    chosen = choose(marian, sample, gold=known_links)
    assert score(known(chosen.align(pairs)), gold).error_rate < 0.1  # though the model was trained without the mark


def test_weights_on_marks_are_left_out(toy: Checkpoint) -> None:
    marian = in_the_words_of(toy, as_marian)
    pair = read_pair(marian.tokenizer, *TEXTS[1])
    (found,) = word_weights(marian.model, [pair], [Place(1, 0)])
    ids, read = marian.tokenizer.encode(TEXTS[1][0]), marian.tokenizer.encode_target(TEXTS[1][1])
    head = attend(marian.model, ids, [2, *read]).stage("cross")[1, 0]  # [T + 1, S + 1]
    words = [words_of(marian.tokenizer.pieces(each)) for each in (read, ids[:-1])]
    np.testing.assert_allclose(found[0], merge(head[:-1, :-1], *words), atol=1e-6)


def test_a_code_that_chooses_the_language_is_a_word_without_links(toy: Checkpoint) -> None:
    marian = in_the_words_of(toy, as_marian)
    (links,) = mlxdecoder.align(marian, [(">>fr<< The black cat sleeps.", "Le chat noir dort.")], place=Place(1))
    assert {source for source, _ in links} == {1, 2, 3, 4}


@pytest.mark.parametrize("name", ["marian", "t5"])
def test_folders_from_elsewhere_align_the_words_of_the_lines(name: str, tmp_path: Path) -> None:
    checkpoint = mlxdecoder.load(spoken(name, tmp_path / name))
    texts = [("the cat  sings, and runs", "Un élève chante"), ("漢 Ж\u00a0a", "a"), ("", "a")]
    found = mlxdecoder.align(checkpoint, texts, place=Place(0))
    assert all(found[:2]) and not found[2]
    for (source, target), links in zip(texts, found, strict=True):
        sizes = len(source.split(" ")), len(target.split(" "))
        assert all(i < sizes[0] and j < sizes[1] for i, j in links)


def test_without_a_tokenizer_ids_are_words() -> None:
    checkpoint = mlxdecoder.load(FIXTURES / "marian")
    (links,) = mlxdecoder.align(checkpoint, [("5 6 7", "8 9")], place=Place(1))
    assert links and all(i < 3 and j < 2 for i, j in links)
    with pytest.raises(UserError, match="without a tokenizer"):
        mlxdecoder.align(checkpoint, [("the cat", "8 9")])
