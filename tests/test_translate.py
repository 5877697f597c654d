"""Translation from Python: how long a sentence may be, and what is taken for a model."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from mlxdecoder.alignment import align
from mlxdecoder.errors import UserError
from mlxdecoder.evaluate import evaluate
from mlxdecoder.mistakes.effects import compare
from mlxdecoder.show import show
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


@pytest.mark.parametrize(
    "use",
    [
        lambda model: translate(model, ["cat"]),
        lambda model: show(model, "cat"),
        lambda model: align(model, [("cat", "chat")]),
        lambda model: evaluate(model, ["cat"], ["chat"]),
        lambda model: compare(model, ["no-scale"], "cat"),
    ],
    ids=["translate", "show", "align", "evaluate", "compare"],
)
def test_a_model_without_its_tokenizer_is_refused_by_name(use: Callable[[Any], Any]) -> None:
    with pytest.raises(UserError, match=r"checkpoint: Translator found, what mlxdecoder.load\(\) gives is wanted"):
        use(load().model)
