"""Sessions as text: what is written is read again, and whatever else is there is refused in one line."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some

from mlxdecoder.app.messages import KINDS, STAGES
from mlxdecoder.app.session.corpus_choice import CorpusChoice
from mlxdecoder.app.session.document import FORMAT, Document, Sampling, View
from mlxdecoder.errors import UserError

whole = some.integers(0, 2**31 - 1)
texts = some.text(some.characters(exclude_categories=["Cs"]))
numbers = some.floats(0, 1e5)
views = some.builds(
    View,
    kind=some.sampled_from(KINDS),
    layer=whole,
    head=whole,
    stage=some.sampled_from(STAGES),
    step=some.none() | whole,
    average=some.booleans(),
    words=some.booleans(),
    side=some.sampled_from(["wrong", "right", "change"]),
    at_once=some.booleans(),
)
pairs_of_names = some.none() | some.tuples(texts, texts)
files = some.lists(texts, max_size=2).map(tuple)
corpora = some.builds(
    CorpusChoice,
    files=files,
    columns=pairs_of_names,
    languages=pairs_of_names,
    header=some.none() | some.booleans(),
    limit=some.none() | some.integers(1, 2**31 - 1),
    validation=files,
)
documents = some.builds(
    Document,
    model=some.none() | texts,
    fingerprint=texts,
    sentence=texts,
    forced=some.dictionaries(some.integers(0, 999_999_999), whole),
    sampling=some.builds(Sampling, temperature=numbers, top_k=whole, top_p=numbers, beam=whole, seed=whole),
    mistakes=some.lists(texts).map(tuple),
    view=views,
    probe=texts,
    preset=texts,
    corpus=corpora,
)
scalars = some.none() | some.booleans() | some.integers() | some.floats() | some.text()
anything = some.recursive(
    scalars, lambda inner: some.lists(inner) | some.dictionaries(some.text(), inner), max_leaves=9
)
FIELDS = list(json.loads(Document().to_json()))


@given(documents)
def test_what_is_written_is_read_again(document: Document) -> None:
    assert Document.from_json(document.to_json()) == document


def read_or_refused(content: Any) -> None:
    with suppress(UserError):
        read = Document.from_json(json.dumps(content))
        read.to_json().encode()
        assert Document.from_json(read.to_json()) == read


@given(anything)
def test_any_json_is_a_session_or_is_refused(content: Any) -> None:
    read_or_refused(content)


@given(some.sampled_from(FIELDS), anything)
def test_so_is_a_session_with_anything_in_one_field(name: str, value: Any) -> None:
    read_or_refused({**json.loads(Document().to_json()), name: value})


@given(
    some.sampled_from(["forced", "sampling", "view", "corpus"]),
    some.text() | some.sampled_from("0 -1 seed step files columns limit".split()),
    anything,
)
def test_so_is_one_with_anything_inside_a_field(name: str, key: str, value: Any) -> None:
    read_or_refused({"format": FORMAT, name: {key: value}})


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("forced", '{"0": 1e999}'),
        ("forced", '{"0": 1.9}'),
        ("forced", '{"0": true}'),
        ("forced", '{"-3": 1}'),
        ("forced", '{" 3": 1}'),
        ("forced", "[]"),
        ("mistakes", '"abc"'),
        ("mistakes", "{}"),
        ("sampling", "[]"),
        ("view", "null"),
        ("sentence", r'"\ud800"'),
        ("model", r'"\udc80"'),
        ("mistakes", r'["\ud800"]'),
        ("corpus", "[]"),
        ("corpus", '{"files": "a.tsv"}'),
        ("corpus", '{"files": ["a", "b", "c"]}'),
        ("corpus", '{"columns": ["en"]}'),
        ("corpus", '{"languages": ["en", 2]}'),
        ("corpus", '{"header": 1}'),
        ("corpus", '{"limit": 0}'),
        ("corpus", '{"validation": [null]}'),
        ("colour", '"red"'),
        ("format", "true"),
        ("format", "1.0"),
    ],
)
def test_a_field_that_is_wrong_is_refused_by_name_and_in_plain_words(field: str, value: str) -> None:
    text = f'{{"format": 1, "{field}": {value}}}'
    with pytest.raises(UserError) as refused:
        Document.from_json(text, "one.mlxdecoder")
    said = str(refused.value)
    assert said.startswith("one.mlxdecoder: ")
    assert field in said
    assert "object" not in said
    assert "\n" not in said
    said.encode()


@pytest.mark.parametrize("inside", ['"sampling": {"beam": -1}', '"sampling": {"beam": 0.5}', '"view": {"beam": 1}'])
def test_a_field_inside_a_field_is_named_too(inside: str) -> None:
    with pytest.raises(UserError, match="beam"):
        Document.from_json(f'{{"format": 1, {inside}}}')
