"""Corpora of every format with something done to them: what a disk, a careless program or an attacker would do."""

from __future__ import annotations

import gzip
import json
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from unicodedata import combining

from hypothesis import strategies as st

from mlxdecoder.errors import UserError
from mlxdecoder.text.corpus import CorpusReport, Pair, clean, read_corpus
from mlxdecoder.text.inspection import inspect_corpus
from mlxdecoder.text.inspection.report import describe, to_dict
from mlxdecoder.text.parts import write_parts
from mlxdecoder.text.readers import Choice, Rows, open_rows
from mlxdecoder.text.splits import split_without_leaks
from tests.text.readers.written import ENCODINGS, FORMATS, encoded, table, zipped

PAIRS = [
    ("Go.", "Va !"),
    ('He said "no"; twice.', "Il a dit « non »,\u202fdeux fois."),
    ("", "x"),
    ("é\u0301", "\U0001f600"),
    ("", ""),
]
WRITERS = FORMATS | {
    "b.csv": partial(table, separator=";", header=["en", "fr"]),
    "c.csv": partial(table, separator="\t", header=["source", "target"]),
    "a.en": lambda pairs: "".join(f"{source}\n" for source, _ in pairs),
}
NAMES = [*WRITERS, "a", "a.txt", "a.gz", "a.zip", "a.json", "a.pot"]
CHOICES = [
    Choice(),
    Choice(columns=("1", "2")),
    Choice(columns=("fr", "en")),
    Choice(columns=("msgstr", "msgid")),
    Choice(languages=("en", "fr")),
    Choice(header=True),
    Choice(columns=("1", "2"), header=False),
]
TOKENS = [
    *b'" "" \n \r\n \0 \t , ; \\ { } [ ] {" [" : null \\ud800 \\u0000 #~ #,fuzzy &a; &#0; &eacute; ]]>'.split(b" "),
    b"sep=;\n",
    b"\v\f\r",
    *b"\xff\xfe|\xef\xbb\xbf|\xed\xa0\x80|PK\3\4|PK\5\6|\x1f\x8b".split(b"|"),
    *b"<tu>|</tu>|<tuv>|<seg>|</seg>|<ph>|</ph>|<hi>|<!--|<![CDATA[|</body>|<tuv xml:lang='".split(b"|"),
    *b'msgid "|msgid_plural "|msgstr[1] "|msgctxt "|\nmsgstr ""\n'.split(b"|"),
    b'<?xml version="1.0" encoding="UTF-16"?>',
    b'<?xml version="1.0" encoding="cp037"?>',
    b'<!DOCTYPE tmx [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;">]>',
    b'<!DOCTYPE tmx SYSTEM "tmx14.dtd" [<!ATTLIST tu a CDATA "b">]>',
]
CODECS = ["utf-8", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "latin-1", "cp1252", "utf-7", "shift_jis"]
SIZES = [100] * 20 + [10_000] * 8 + [200_000] * 3 + [3_000_000]
LARGEST = 4_000_000  # bytes of a file
LONGEST_SIDE, VOCABULARY = 100, 900  # tokens and pieces of an inspection
FINE = 1_000_000  # places in a file

Changes = list[tuple[int, int, Callable[[bytes], bytes]]]
How = tuple[int, str, Changes, Callable[[bytes], bytes], Changes]


@dataclass(frozen=True)
class Case:
    """One or two files to be read together, and what is chosen of them."""

    names: tuple[str, ...]
    contents: tuple[bytes, ...]
    choice: Choice
    limit: int | None

    def __repr__(self) -> str:
        contents = ", ".join(f"{content[:1000]!r}, {len(content)} bytes" for content in self.contents)
        return f"Case({self.names}, {contents}, {self.choice}, {self.limit})"


def write_case(case: Case, folder: Path) -> list[Path]:
    """Write the files of a case; gives their paths."""
    paths = [folder / f"{number}{name}" for number, name in enumerate(case.names)]
    for path, content in zip(paths, case.contents, strict=True):
        path.write_bytes(content)
    return paths


def read_files(paths: list[Path], choice: Choice, limit: int | None) -> str:
    """Read, inspect and split them: gives "" for a corpus, or the error; anything but a short error raises."""
    try:
        corpus = read_corpus(paths[0], *paths[1:], limit=limit, choice=choice)
    except UserError as error:
        return _checked(error)
    report = corpus.report
    assert report.lines == report.pairs + report.blank + report.incomplete + report.duplicates
    assert report.pairs == len(corpus.pairs) > 0
    assert all(side and clean(side) == side for pair in corpus.pairs for side in (pair.source, pair.target))
    "".join(side for pair in corpus.pairs for side in (pair.source, pair.target)).encode()
    assert corpus.format.describe().isprintable()
    _inspect(lambda: open_rows(paths[0], *paths[1:], choice=choice), report, limit)
    for two_files in (False, True):
        _split(corpus.pairs, two_files)
    return ""


def _checked(error: UserError) -> str:
    message = str(error)
    assert message.count("\n") < 2, message
    assert len(message) < 1000, message
    assert message.replace("\n", "").isprintable(), message
    return message


def _inspect(opened: Callable[[], Rows], report: CorpusReport, limit: int | None) -> None:
    """It says the same as reading, in lines that can be printed."""
    found = inspect_corpus(opened(), opened, LONGEST_SIDE, VOCABULARY, limit)
    assert (found.rows, found.pairs) == (report.lines, report.pairs)
    assert sum(one.count for one in found.suspicions if one.id == "wide") == report.wide
    for line in describe(found).split("\n"):
        assert line.isprintable() and sum(not combining(one) for one in line) <= 120, line
    json.dumps(to_dict(found), ensure_ascii=False, allow_nan=False).encode()


def _split(pairs: list[Pair], two_files: bool) -> None:
    """All parts together hold the pairs, or nothing is written."""
    with TemporaryDirectory() as folder:
        try:
            splits = split_without_leaks(pairs, len(pairs) // 5, 0)
            parts = {"train": splits.train, "validation": splits.validation}
            names = write_parts(folder, parts, two_files=two_files)
        except UserError as error:
            _checked(error)
            assert not list(Path(folder).iterdir())
            return
        files = [Path(folder) / name for name in names]
        several = zip(files[::2], files[1::2], strict=True) if two_files else zip(files)
        assert {pair for part in several for pair in read_corpus(*part).pairs} == set(pairs)


def _changed(data: bytes, changes: Changes) -> bytes:
    """Put something else in the place of some pieces, one after the other."""
    for place, length, change in changes:
        start = len(data) * place // FINE
        data = data[:start] + change(data[start : start + length]) + data[start + length :]
        data = data[:LARGEST]
    return data


def _file(name: str, how: How) -> bytes:
    times, encoding, changes, pack, changes_of_packed = how
    data = _changed(encoded(WRITERS[name](PAIRS * times), encoding), changes)
    packed = pack(data)
    return packed if packed is data else _changed(packed, changes_of_packed)


def _case(names: tuple[str, ...], how: list[How], called: list[str], choice: Choice, limit: int | None) -> Case:
    contents = tuple(_file(name, one) for name, one in zip(names, how, strict=False))
    return Case(tuple(other or name for name, other in zip(names, called, strict=False)), contents, choice, limit)


def _filled(size: int, part: bytes) -> bytes:
    return part * max(2, size // (len(part) or 1))


def _flipped(bit: int, part: bytes) -> bytes:
    return bytes([part[0] ^ 1 << bit]) + part[1:] if part else b""


def _recoded(codec: str, part: bytes) -> bytes:
    return part.decode("utf-8", errors="replace").encode(codec, errors="replace")


PACKERS: list[Callable[[bytes], bytes]] = [
    *[lambda data: data] * 4,
    partial(gzip.compress, mtime=0),
    lambda data: gzip.compress(data[:100], mtime=0) + gzip.compress(data[100:], mtime=0),
    lambda data: zipped({"a.tsv": data}),
    lambda data: zipped({"a.tsv": data}, zipfile.ZIP_STORED),
    lambda data: zipped({"a.en": data, "a.fr": data, "README": b""}),
    lambda data: zipped({"a.tsv.gz": gzip.compress(data, mtime=0)}),
    lambda data: gzip.compress(gzip.compress(data, mtime=0), mtime=0),
]

# Each draws a function from the old piece to the new one.
_tokens, _sizes = st.sampled_from(TOKENS), st.sampled_from(SIZES)
_change = st.one_of(
    st.just(lambda part: b""),
    st.binary(max_size=8).map(lambda other: lambda part: other),
    st.binary(max_size=8).map(lambda more: lambda part: more + part),
    _tokens.map(lambda token: lambda part: token + part),
    st.tuples(_tokens, _sizes).map(lambda many: lambda part: _filled(many[1], many[0]) + part),
    st.integers(0, 7).map(lambda bit: partial(_flipped, bit)),
    st.sampled_from([b"\0", b"\xff", b"\x7f"]).map(lambda byte: lambda part: byte * len(part[:1000])),
    _sizes.map(lambda size: partial(_filled, size)),
    st.sampled_from(CODECS).map(lambda codec: partial(_recoded, codec)),
)
_changes = st.lists(st.tuples(st.integers(0, FINE), st.sampled_from([1, 2, 4, 16, 100, LARGEST]), _change), max_size=4)
_how = st.tuples(
    st.sampled_from([1, 1, 1, 50]),
    st.sampled_from([*["UTF-8"] * 5, *ENCODINGS]),
    _changes,
    st.sampled_from(PACKERS),
    _changes,
)
cases = st.builds(
    _case,
    st.sampled_from([*[(name,) for name in WRITERS if name != "a.en"] * 2, ("a.en", "a.en")]),
    st.lists(_how, min_size=2, max_size=2),
    st.lists(st.sampled_from([*[""] * len(NAMES), *NAMES]), min_size=2, max_size=2),
    st.sampled_from([*[Choice()] * len(CHOICES), *CHOICES]),
    st.sampled_from([None, None, None, 1, 2]),
)
