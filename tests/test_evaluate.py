"""Evaluation from Python: the packaged model on sentences of the toy grammar that it has not seen."""

from __future__ import annotations

import json
import math
import random
from typing import Any

import pytest
import sacrebleu
from sentencepiece import SentencePieceProcessor

import mlxdecoder
from mlxdecoder.errors import UserError
from mlxdecoder.evaluate import Evaluation, evaluate
from mlxdecoder.text.foreign import MarianTokenizer
from mlxdecoder.text.toy import make_splits
from mlxdecoder.training.checkpoint import Checkpoint
from mlxdecoder.translate import SearchOptions, load, translate
from tests.builders import lively
from tests.perplexity import perplexity_of

GREEDY = {"greedy": SearchOptions()}


@pytest.fixture(scope="module")
def toy() -> Checkpoint:
    return load()


@pytest.fixture(scope="module")
def pairs() -> list[tuple[str, str]]:
    """Longer ones than the model was trained on, so that it errs; with a blank source and one that comes twice."""
    held_out = [(pair.source, pair.target) for pair in make_splits(2000, 30).lengths]
    return [*held_out[:20], ("", "Le chat dort."), *held_out[19:]]


def run(toy: Checkpoint, pairs: list[tuple[str, str]], searches: Any = GREEDY, **options: Any) -> Evaluation:
    return evaluate(toy, [source for source, _ in pairs], [wanted for _, wanted in pairs], searches, **options)


def test_greedy_and_beam_are_searched_and_each_is_scored_on_its_own_translations(
    toy: Checkpoint, pairs: list[tuple[str, str]]
) -> None:
    sources, references = (list(side) for side in zip(*pairs, strict=True))
    found = mlxdecoder.evaluate(toy, sources, references)
    assert list(found.outcomes) == ["greedy", "beam 5"]
    for outcome, beam in zip(found.outcomes.values(), (1, 5), strict=True):
        made = [one.text for one in outcome.translations]
        assert made == translate(toy, sources, beam=beam)
        assert outcome.scores.bleu.value == pytest.approx(sacrebleu.corpus_bleu(made, [references]).score)
        hits = sum(one == wanted for one, wanted in zip(made, references, strict=True))
        assert 0 < hits < len(pairs)
        assert outcome.scores.exact_match == pytest.approx(hits / len(pairs))


def test_a_batch_of_one_equals_a_batch_of_all(toy: Checkpoint, pairs: list[tuple[str, str]]) -> None:
    alone = run(toy, pairs, {"it": SearchOptions(batch_size=1)}).outcomes["it"]
    together = run(toy, pairs, {"it": SearchOptions(batch_size=64)}).outcomes["it"]
    assert [one.text for one in alone.translations] == [one.text for one in together.translations]
    assert alone.scores == together.scores


def test_the_order_of_the_test_set_is_kept(toy: Checkpoint, pairs: list[tuple[str, str]]) -> None:
    order = random.Random(0).sample(range(len(pairs)), len(pairs))
    straight, mixed = run(toy, pairs).outcomes["greedy"], run(toy, [pairs[i] for i in order]).outcomes["greedy"]
    assert [one.source for one in straight.translations] == [source for source, _ in pairs]
    assert [one.text for one in mixed.translations] == [straight.translations[i].text for i in order]
    assert mixed.scores.bleu.value == pytest.approx(straight.scores.bleu.value)


def test_a_blank_source_counts_as_a_translation_of_nothing(toy: Checkpoint) -> None:
    outcome = run(toy, [("The cat sleeps.", "Le chat dort."), ("", "Le chien court.")]).outcomes["greedy"]
    assert [one.text for one in outcome.translations] == ["Le chat dort.", ""]
    assert outcome.scores.exact_match == 0.5
    assert outcome.scores.length_ratio == 0.5


def test_the_share_that_was_stopped_at_the_limit_is_told(toy: Checkpoint) -> None:
    pairs = [("The cat sleeps.", "Le chat dort."), ("I see the big house.", "Je vois la grande maison."), ("", "")]
    short = run(toy, pairs, {"it": SearchOptions(max_tokens=5)}).outcomes["it"]
    assert [one.finish_reason for one in short.translations] == ["stop", "length", "stop"]
    assert short.stopped == pytest.approx(1 / 3)
    assert run(toy, pairs).outcomes["greedy"].stopped == 0


def test_the_perplexity_is_that_of_each_reference_read_alone(toy: Checkpoint, pairs: list[tuple[str, str]]) -> None:
    wanted = perplexity_of(toy, [pair for pair in pairs if pair[0]])
    assert run(toy, pairs).perplexity == pytest.approx(wanted, rel=1e-4)


def test_the_perplexity_of_a_model_from_elsewhere_is_that_of_its_target_pieces(
    toy: Checkpoint, pairs: list[tuple[str, str]]
) -> None:
    """Its tokenizer ends what is read with a mark, but not what is written."""
    processor = SentencePieceProcessor.from_proto(toy.tokenizer.files["tokenizer.model"])
    vocabulary = {processor.id_to_piece(i): i for i in range(processor.get_piece_size())}
    files = dict.fromkeys(("source.spm", "target.spm"), toy.tokenizer.files["tokenizer.model"])
    tokenizer = MarianTokenizer({**files, "vocab.json": json.dumps(vocabulary).encode()})
    marian, full = Checkpoint(toy.model, tokenizer, toy.path), [pair for pair in pairs if pair[0]][:5]
    assert run(marian, full).perplexity == pytest.approx(perplexity_of(marian, full), rel=1e-4)


def test_what_is_too_long_counts_as_translated_as_nothing_and_not_for_the_perplexity(toy: Checkpoint) -> None:
    fine, long = [("The cat sleeps.", "Le chat dort."), ("", "Rien.")], "cat " * 513
    found = run(toy, [*fine, (long, "Le chat."), ("The cat.", long)], {"it": SearchOptions(max_tokens=9)})
    assert [one.finish_reason for one in found.outcomes["it"].translations] == ["stop", "stop", "too long", "stop"]
    assert found.outcomes["it"].translations[2].text == ""
    assert found.too_long == 2
    assert found.perplexity == pytest.approx(perplexity_of(toy, fine[:1]), rel=1e-4)


def test_learned_positions_are_a_limit_too_and_the_begin_mark_takes_one_of_them(toy: Checkpoint) -> None:
    model = lively("translator", target_vocab=toy.tokenizer.vocab_size, positions="learned", max_length=8)
    short = Checkpoint(model, toy.tokenizer, toy.path)
    pairs = [("cat " * 8, "chat"), ("cat " * 9, "chat"), ("cat", "chat " * 7), ("cat", "chat " * 8)]
    found = run(short, pairs)
    reasons = [one.finish_reason for one in found.outcomes["greedy"].translations]
    assert [reason == "too long" for reason in reasons] == [False, True, False, False]
    assert found.too_long == 2


def test_where_no_pair_has_both_sides_there_is_no_perplexity(toy: Checkpoint) -> None:
    assert math.isnan(run(toy, [("The cat sleeps.", ""), ("", "Le chat dort.")]).perplexity)


def test_progress_is_told_for_every_sentence_of_every_search(toy: Checkpoint, pairs: list[tuple[str, str]]) -> None:
    done: list[int] = []
    run(toy, pairs, GREEDY | {"again": SearchOptions(batch_size=3)}, progress=done.append)
    assert sum(done) == 2 * sum(bool(source) for source, _ in pairs)


def test_unequal_numbers_and_nothing_to_do_are_refused(toy: Checkpoint) -> None:
    with pytest.raises(UserError, match="references: 1 found for 2 sources"):
        evaluate(toy, ["a", "b"], ["a"])
    with pytest.raises(UserError, match="sources: no text"):
        evaluate(toy, ["", " "], ["a", "b"])
    with pytest.raises(UserError, match="searches: none"):
        evaluate(toy, ["a"], ["b"], {})


def test_a_model_of_another_kind_is_refused(toy: Checkpoint) -> None:
    with pytest.raises(UserError, match="translator is wanted"):
        evaluate(Checkpoint(lively("language_model"), toy.tokenizer, toy.path), ["a"], ["b"])
