"""BLEU by hand, for a case that fits on a page."""

import math

import pytest

from mlxdecoder.errors import UserError
from mlxdecoder.text.bleu import bleu


def test_bleu_is_that_of_its_definition():
    """Of 6 words 5 match, of 5 pairs 4, of 4 triples 3, of 3 quadruples 2; lengths are equal: no penalty."""
    score, _ = bleu(["the cat sat on a mat"], ["the cat sat on a rug"])
    assert score == pytest.approx(100 * math.exp(sum(map(math.log, (5 / 6, 4 / 5, 3 / 4, 2 / 3))) / 4))


def test_punctuation_is_split_off_by_sacrebleu_and_the_signature_says_so():
    assert bleu(["It sleeps here now."], ["It sleeps here now ."])[0] == pytest.approx(100)
    _, signature = bleu(["a b c d"], ["a b c d"])
    assert "tok:13a" in signature
    assert "case:mixed" in signature
    assert "version:" in signature


def test_a_reference_too_few_is_refused():
    with pytest.raises(UserError, match="1 found for 2"):
        bleu(["a", "b"], ["a"])
