"""Scores against their definitions, worked out by hand, and against sacreBLEU; intervals against the binomial."""

from __future__ import annotations

import math
import sys
from collections import Counter
from collections.abc import Sequence
from unittest.mock import patch

import numpy as np
import pytest
import sacrebleu
from hypothesis import given, settings
from hypothesis import strategies as st

from mlxdecoder.errors import UserError
from mlxdecoder.text import metrics, scores
from mlxdecoder.text.scores import Scorer, bleu

SENTENCES = st.lists(st.sampled_from("the cat sat on a Mat . Rug".split()), max_size=9).map(" ".join)


def right_or_wrong(right: Sequence[bool]) -> list[str]:
    """One translation a sentence, all right or all wrong, so that BLEU is the share of the right ones."""
    return ["a b c d" if one else "e f g h" for one in right]


def multi_bleu(translations: Sequence[str], references: Sequence[str]) -> float:
    """BLEU of tokens between spaces, without smoothing; Papineni et al. 2002, section 2.3."""
    logs, made, wanted = 0.0, *(sum(len(line.split()) for line in lines) for lines in (translations, references))
    for n in range(1, 5):
        hits = total = 0
        for pair in zip(translations, references, strict=True):
            ours, theirs = (Counter(zip(*(line.split()[i:] for i in range(n)), strict=False)) for line in pair)
            hits, total = hits + (ours & theirs).total(), total + ours.total()
        if not hits:
            return 0.0
        logs += math.log(hits / total) / 4
    return 100 * math.exp(logs + min(0, 1 - wanted / made))


def test_bleu_is_that_of_its_definition() -> None:
    """Of 6 words 5 match, of 5 pairs 4, of 4 triples 3, of 3 quadruples 2; lengths are equal: no penalty."""
    score, _ = bleu(["the cat sat on a mat"], ["the cat sat on a rug"])
    assert score == pytest.approx(100 * math.exp(sum(map(math.log, (5 / 6, 4 / 5, 3 / 4, 2 / 3))) / 4))


def test_punctuation_is_split_off_by_sacrebleu_and_the_signature_says_so() -> None:
    assert bleu(["It sleeps here now."], ["It sleeps here now ."])[0] == pytest.approx(100)
    _, signature = bleu(["a b c d"], ["a b c d"])
    assert "tok:13a" in signature
    assert "case:mixed" in signature
    assert "version:" in signature


@pytest.mark.parametrize(
    ("made", "wanted", "tokens"),
    [
        ("我喜欢黑猫和白狗", "我喜欢黑猫和黑狗", "zh"),
        ("私は黒い猫が好きです", "私は白い猫が好きです", "char"),
        ("나는검은고양이를좋아한다", "나는흰고양이를좋아한다", "char"),
        ("ฉันชอบแมวดำ", "ฉันชอบแมวขาว", "char"),
        ("ខ្ញុំចូលចិត្តឆ្មាខ្មៅ", "ខ្ញុំចូលចិត្តឆ្មាស", "char"),
    ],
)
def test_writing_without_spaces_is_compared_by_characters(
    made: str, wanted: str, tokens: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where no dictionary is installed; of Han alone, sacreBLEU's tokens for Chinese are characters."""
    monkeypatch.setattr(metrics, "find_spec", lambda _: None)
    score, signature = bleu([made], [wanted])
    assert score == pytest.approx(multi_bleu([" ".join(made)], [" ".join(wanted)]))
    assert f"tok:{tokens}|" in signature
    found = Scorer([wanted], lowercase=True).score({"it": [made]})["it"]
    assert found.bleu.value == found.bleu_lowercase.value == pytest.approx(score)
    assert found.length_ratio == pytest.approx(len(made) / len(wanted))


@pytest.mark.parametrize(
    ("references", "name"),
    [
        (["The black cat.", "Кот спит.", "القط ينام"], "13a"),
        (["", "123!"], "13a"),
        (["He lives in 北京 now, and is happy there."], "13a"),
        (["我喜欢 Transformer 模型"], "zh"),
        (["「の」是一个日文假名，写起来很容易"], "zh"),
        (["東京大学の学生"], "ja-mecab"),
        (["나는 고양이를 좋아한다"], "ko-mecab"),
        (["ฉันชอบแมว", "The cat."], "char"),
    ],
)
def test_the_tokenizer_is_that_for_the_script_of_the_references(
    references: list[str], name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(metrics, "find_spec", lambda _: True)
    assert metrics.tokenizer_for(references) == name


def test_another_tokenizer_can_be_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    found = Scorer(["a-b c d e."], tokenize="none").score({"it": ["a-b c d e ."]})["it"].bleu
    assert found.value == pytest.approx(sacrebleu.corpus_bleu(["a-b c d e ."], [["a-b c d e."]], tokenize="none").score)
    assert "tok:none" in found.signature
    with pytest.raises(UserError, match=r"tokenize = 'words': one of 13a, "):
        Scorer(["a"], tokenize="words")
    monkeypatch.setattr(metrics, "find_spec", lambda _: None)
    with pytest.raises(UserError, match=r"tokenize = 'ko-mecab': is not installed: pip install 'sacrebleu\[ko\]'"):
        Scorer(["a"], tokenize="ko-mecab")


def test_a_reference_too_few_is_refused() -> None:
    with pytest.raises(UserError, match="1 found for 2"):
        bleu(["a", "b"], ["a"])
    with pytest.raises(UserError, match="1 found for 2"):
        Scorer(["a"]).score({"greedy": ["a", "b"]})


def test_chrf_is_that_of_its_definition() -> None:
    """Of 3 letters 2 match, of 2 pairs 1, of 1 triple none; longer runs there are not. Precision equals recall."""
    found = Scorer(["abd"]).score({"it": ["abc"]})["it"]
    assert found.chrf.value == pytest.approx(100 * (2 / 3 + 1 / 2 + 0) / 3)


@settings(max_examples=20)
@given(st.lists(st.tuples(SENTENCES, SENTENCES, SENTENCES), min_size=1, max_size=6))
def test_every_score_of_every_system_is_sacrebleus(rows: list[tuple[str, str, str]]) -> None:
    wanted, first, second = (list(column) for column in zip(*rows, strict=True))
    if not any(wanted):
        return
    with patch.object(scores, "RESAMPLES", 100):
        found = Scorer(wanted, lowercase=True).score({"first": first, "second": second})
    for name, texts in (("first", first), ("second", second)):
        direct = sacrebleu.corpus_bleu(texts, [wanted])
        assert found[name].bleu.value == pytest.approx(direct.score)
        assert found[name].length_ratio == pytest.approx(direct.sys_len / direct.ref_len)
        assert found[name].chrf.value == pytest.approx(sacrebleu.corpus_chrf(texts, [wanted]).score)
        lowered = sacrebleu.corpus_bleu(texts, [wanted], lowercase=True)
        assert found[name].bleu_lowercase.value == pytest.approx(lowered.score)


def test_what_nobody_asked_for_is_not_there() -> None:
    found = Scorer(["a"]).score({"it": ["a"]})["it"]
    assert (found.bleu_lowercase, found.bleu_moses) == (None, None)


def test_an_exact_match_is_one_to_the_letter_and_a_blank_reference_is_none() -> None:
    found = Scorer(["a b", "c", "d", ""]).score({"it": ["a b", "C", "d ", ""]})["it"]
    assert found.exact_match == pytest.approx(1 / 3)


@pytest.mark.parametrize("share", [0.5, 0.9])
def test_the_interval_is_that_of_a_share_where_sentences_are_right_or_wrong(share: float) -> None:
    right = np.arange(400) < 400 * share
    score = Scorer(["a b c d"] * 400).score({"it": right_or_wrong(right)})["it"].bleu
    assert score.value == pytest.approx(100 * share)
    assert score.margin == pytest.approx(196 * math.sqrt(share * (1 - share) / 400), rel=0.1)


@pytest.mark.parametrize("better", [1, 4, 10])
def test_the_p_value_is_that_of_a_number_of_better_sentences(better: int) -> None:
    """In a resample, they number about as Poisson says; the test asks how often by more than twice as many."""
    systems = {name: right_or_wrong(np.arange(400) < count) for name, count in (("a", 200), ("b", 200 + better))}
    found = Scorer(["a b c d"] * 400).score(systems)
    at_most = sum(math.exp(-better) * better**k / math.factorial(k) for k in range(2 * better + 1))
    assert found["b"].bleu.p_value == pytest.approx(1 - at_most, abs=0.03)
    assert found["a"].bleu.p_value is None


def test_systems_that_do_not_differ_are_not_told_apart() -> None:
    texts = right_or_wrong([True, False] * 20)
    found = Scorer(["a b c d"] * 40).score({"one": texts, "other": texts})
    assert found["other"].bleu.p_value == found["other"].chrf.p_value == 1


def test_a_single_sentence_has_no_interval() -> None:
    found = Scorer(["a b c d"]).score({"one": ["a b c d"], "other": ["a b c e"]})["other"]
    assert (found.bleu.margin, found.bleu.p_value) == (None, None)


def test_a_large_test_set_is_resampled_less_often_and_the_signature_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scores, "DRAWN", 600)
    assert "|bs:150|" in Scorer(["a b", "c", "d", "e"]).score({"it": ["a"] * 4})["it"].bleu.signature


def test_bleu_of_older_papers_is_multi_bleu_of_the_tokens_of_moses() -> None:
    """French: the apostrophe stays with the article, hyphens split nothing, case and the kind of quotes are gone."""
    made = ["L'homme dit-il « oui », n'a pas d'amis.", "Un chien court vite dans le parc (vert)."]
    wanted = ["l’homme dit-il « Oui », n’a pas d’ami.", "Un chien noir court vite dans le parc vert!"]
    made_tokens = ["l' homme dit-il \" oui \" , n' a pas d' amis .", "un chien court vite dans le parc ( vert ) ."]
    wanted_tokens = [
        "l' homme dit-il \" oui \" , n' a pas d' ami .",
        "un chien noir court vite dans le parc vert !",
    ]
    found = Scorer(wanted, moses="fr").score({"it": made})["it"].bleu_moses
    assert found.value == pytest.approx(multi_bleu(made_tokens, wanted_tokens))
    assert "case:lc" in found.signature
    assert "tok:moses-fr-sacremoses" in found.signature


def test_bleu_of_older_papers_is_not_smoothed() -> None:
    found = Scorer(["a b c d e"], moses="en").score({"it": ["a b c x e"]})["it"]
    assert found.bleu.value > 0
    assert found.bleu_moses.value == 0


@pytest.mark.parametrize(("language", "words"), [("en", 5), ("fr", 4)])
def test_the_language_decides_about_apostrophes(language: str, words: int) -> None:
    """In English the reference begins with "it 's", in French with "it' s", which has no "it"."""
    found = Scorer(["It's fine there now."], moses=language).score({"one": ["It is fine there now."]})["one"]
    precisions = (words / 6, 3 / 5, 2 / 4, 1 / 3)
    assert found.bleu_moses.value == pytest.approx(100 * math.prod(precisions) ** (1 / 4))


@pytest.mark.parametrize("language", ["", "xx", "german"])
def test_a_language_that_moses_does_not_know_is_refused(language: str) -> None:
    with pytest.raises(UserError, match=r"moses = .* de, "):
        Scorer(["a"], moses=language)


def test_references_without_text_are_refused() -> None:
    with pytest.raises(UserError, match="no text found in 2"):
        Scorer(["", ""])


@pytest.mark.parametrize(("package", "options"), [("sacrebleu", {}), ("sacremoses", {"moses": "de"})])
def test_a_missing_package_is_named_with_the_extra(
    package: str, options: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(UserError, match=r"mlxdecoder\[eval\]"):
        Scorer(["a"], **options)
