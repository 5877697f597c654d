"""The same pairs come back from every format, in every compression and encoding, with the same account."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from mlxdecoder.text.corpus import Pair, read_corpus
from tests.text.readers.written import ENCODINGS, FORMATS, Texts, encoded, packed

FIRST = ("The first one.", "Le premier.")  # from which a table is told from prose
KINDS = {
    "a.tsv": "tab-separated",
    "a.csv": "CSV",
    "a.tmx": "TMX",
    "a.po": "gettext PO",
    "a.jsonl": "JSON lines",
    "b.jsonl": "JSON lines",
}

# Line ends and other controls cannot stand in each format, and what Unicode has not assigned tells no encoding.
texts = st.text(st.characters(exclude_categories=["Cc", "Cn", "Co", "Cs"]), max_size=12)
many_pairs = st.lists(st.tuples(texts, texts) | st.just(FIRST), max_size=8)


def cleaned(pairs: Texts) -> list[Pair]:
    """What should be read, said anew."""
    both = [tuple(unicodedata.normalize("NFC", side.replace("\ufeff", "")).strip() for side in pair) for pair in pairs]
    return list(dict.fromkeys(Pair(source, target) for source, target in both if source and target))


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    with TemporaryDirectory() as name:
        yield Path(name)


@given(
    more=many_pairs,
    compression=st.sampled_from(["", "gzip", "zip"]),
    encoding=st.sampled_from(list(ENCODINGS)),
)
@pytest.mark.parametrize("name", list(FORMATS))
def test_pairs_come_back(folder: Path, name: str, more: Texts, compression: str, encoding: str) -> None:
    pairs = [FIRST, *more]
    assume(name != "a.tsv" or not any(side.startswith('"') for pair in pairs for side in pair))
    path = packed(folder, name, encoded(FORMATS[name](pairs), encoding), compression)
    corpus = read_corpus(path)
    assert corpus.pairs == cleaned(pairs)
    found = corpus.format
    assert (found.kind, found.compression, found.encoding) == (KINDS[name], compression, encoding)
    report = corpus.report
    assert report.lines == len(pairs) == report.pairs + report.blank + report.incomplete + report.duplicates
    assert corpus.name == path.name
    assert "\n" not in found.describe()


@given(
    more=many_pairs,
    compressions=st.tuples(*[st.sampled_from(["", "gzip", "zip"])] * 2),
    encodings=st.tuples(*[st.sampled_from(list(ENCODINGS))] * 2),
)
def test_pairs_come_back_from_two_files(
    folder: Path, more: Texts, compressions: tuple[str, str], encodings: tuple[str, str]
) -> None:
    pairs = [FIRST, *more]
    paths = [
        packed(folder, name, encoded("".join(f"{side}\n" for side in sides), encoding), compression)
        for name, sides, encoding, compression in zip(
            ["a.en", "a.fr"], zip(*pairs, strict=True), encodings, compressions, strict=True
        )
    ]
    corpus = read_corpus(*paths)
    assert corpus.pairs == cleaned(pairs)
    assert corpus.report.lines == len(pairs)
    assert corpus.format.kind == "two files"
    for encoding in encodings:
        assert encoding in corpus.format.describe()
