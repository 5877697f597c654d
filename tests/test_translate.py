"""Translation from Python: how long a sentence may be."""

from __future__ import annotations

import pytest

from mlxdecoder.training.checkpoint import Checkpoint
from mlxdecoder.translate import SearchOptions, load, one_line, translate, translate_all
from tests.builders import lively


@pytest.mark.parametrize(("positions", "most"), [("rotary", 512), ("learned", 64)])
def test_a_sentence_is_read_up_to_the_limit(positions: str, most: int) -> None:
    toy = load()
    model = lively("translator", target_vocab=toy.tokenizer.vocab_size, positions=positions)  # max_length 64
    checkpoint = Checkpoint(model, toy.tokenizer, toy.path)
    sentences = ["cat " * most, "cat " * (most + 1), "cat"]
    assert [len(toy.tokenizer.encode(sentence)) for sentence in sentences] == [most, most + 1, 1]
    found = translate_all(checkpoint, sentences, SearchOptions(max_tokens=1))
    assert [one.finish_reason == "too long" for one in found] == [False, True, False]
    assert translate(checkpoint, sentences, max_tokens=1) == [one.text for one in found]
    assert found[1].text == ""


def test_one_line_keeps_all_but_the_ends_of_lines() -> None:
    assert one_line("a  b\tc\nd\r\ne\u2028") == "a  b\tc d e"
