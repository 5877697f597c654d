"""Files unpacked and decoded: by what they are, whatever their names; damage, bombs and other files are refused."""

from __future__ import annotations

import gzip
import io
import struct
import zipfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlxdecoder.errors import UserError
from mlxdecoder.text.corpus import Pair, read_corpus
from mlxdecoder.text.readers import Choice, open_rows, read_lines
from tests.text.readers.written import ENCODINGS, encoded, zipped

ONE = b"one\tun\n"
GZIP = gzip.compress(ONE, mtime=0)  # without the time, which would go into the names of tests


def write(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


def test_lines_end_at_line_feeds_alone_and_blank_ones_count(tmp_path: Path) -> None:
    content = "\ufeffa\r\n\n\u2028b\u2028c\x85d\x0be\rf\r\r\n \n"
    lines = ["a", "", "\u2028b\u2028c\x85d\x0be\rf", " "]
    assert list(read_lines(write(tmp_path / "a.txt", content.encode()))) == lines
    assert list(read_lines(str(write(tmp_path / "a.txt.gz", gzip.compress(content.encode()))))) == lines
    assert list(read_lines(io.BytesIO(content.encode()))) == lines


@given(st.lists(st.text(st.characters(exclude_characters="\n\r\0\ufeff", exclude_categories=["Cs"]))))
def test_a_stream_has_as_many_lines_as_were_written(lines: list[str]) -> None:
    assert list(read_lines(io.BytesIO("".join(f"{line}\n" for line in lines).encode()))) == lines


def test_a_stream_stays_open_and_is_read_no_further_than_asked() -> None:
    stream = io.BytesIO(b"a\nb\nc\n")
    assert next(read_lines(stream)) == "a"
    assert stream.read() == b"b\nc\n"


@pytest.mark.parametrize("encoding", list(ENCODINGS))
def test_long_files_are_decoded_piece_by_piece(tmp_path: Path, encoding: str) -> None:
    lines = [
        f"{number} \U0001f600é{'x' * (number % 50)}\r" for number in range(5000)
    ]  # pairs of surrogates at any place
    path = write(tmp_path / "a.txt", encoded("".join(f"{line}\n" for line in lines), encoding))
    assert list(read_lines(path)) == [line.removesuffix("\r") for line in lines]


@pytest.mark.parametrize("name", ["a.tsv", "a.tsv.gz", "a.zip", "a"])
@pytest.mark.parametrize("data", [ONE, GZIP, gzip.compress(b"", mtime=0) + GZIP, zipped({"b": ONE})])
def test_what_is_packed_is_told_by_content_and_not_by_name(tmp_path: Path, name: str, data: bytes) -> None:
    assert read_corpus(write(tmp_path / name, data)).pairs == [Pair("one", "un")]


def test_a_zip_file_is_read_past_what_describes_it(tmp_path: Path) -> None:
    beside = ["_about.txt", "README.md", "x/LICENSE", "__MACOSX/._fra.txt", ".DS_Store", "folder/"]
    path = write(tmp_path / "fra-eng.zip", zipped({name: b"nothing" for name in beside} | {"fra.txt": ONE}))
    assert read_corpus(path).pairs == [Pair("one", "un")]


def test_a_zip_file_can_hold_the_two_sides(tmp_path: Path) -> None:
    sides = {"a/x.en-fr.fr": b"un\n", "a/x.en-fr.en": b"one\n"}
    path = write(tmp_path / "x.zip", zipped(sides))
    assert read_corpus(path).pairs == [Pair("un", "one")]
    rows = open_rows(write(path, zipped(sides | {"a/x.en-fr.ids": b"7\n"})), choice=Choice(languages=("en", "fr")))
    told = 'two files, zip, UTF-8; source: language "en", target: language "fr"'
    assert rows.format.describe() == f'{told}; not taken: language "ids"'
    assert [(row.source, row.target) for row in rows] == [("one", "un")]


@pytest.mark.parametrize("other", ["x.en-fr.xml", "x.en-fr.scores", "x.en-fr.ids"])
def test_sides_whose_endings_their_stem_names_are_told_from_what_stands_beside(tmp_path: Path, other: str) -> None:
    sides = {"README": b"a", "LICENSE": b"b", other: b"7\n", "x.en-fr.en": b"one\n", "x.en-fr.fr": b"un\n"}
    rows = open_rows(write(tmp_path / "en-fr.txt.zip", zipped(sides)))
    assert rows.format.languages == ("en", "fr")
    assert [(row.source, row.target) for row in rows] == [("one", "un")]


@pytest.mark.parametrize(
    ("languages", "message"),
    [(("en", "EN"), "is chosen as source and as target"), (("en", "de"), "Choose two by their endings")],
)
def test_endings_that_do_not_choose_two_sides_are_refused(
    tmp_path: Path, languages: tuple[str, str], message: str
) -> None:
    path = write(tmp_path / "a.zip", zipped({"a.en": b"one\n", "a.fr": b"un\n"}))
    with pytest.raises(UserError, match=message):
        open_rows(path, choice=Choice(languages=languages))


@pytest.mark.parametrize(
    ("members", "found"),
    [
        ({"a.tsv": ONE, "b.tsv": ONE}, 'found "a.tsv", "b.tsv"'),
        ({"a.en": ONE, "a.fr": ONE, "a.de": ONE}, 'found "a.en", "a.fr", "a.de"'),
        ({f"{part}.{side}": ONE for part in ("dev", "train") for side in ("en", "fr")}, r"\nUnpack it, and give"),
        ({f"{n}\n.tsv": ONE for n in range(99)}, r"91 more"),
        ({}, "found nothing"),
        ({"README": b""}, "found nothing"),
        ({"[Content_Types].xml": b"", "xl/workbook.xml": b""}, "an office document; .* save the table as CSV"),
    ],
)
def test_a_zip_file_that_leaves_it_open_is_refused(tmp_path: Path, members: dict[str, bytes], found: str) -> None:
    with pytest.raises(UserError, match=found) as error:
        read_corpus(write(tmp_path / "a.zip", zipped(members)))
    assert str(error.value).count("\n") < 2


def test_a_zip_file_with_two_sides_is_no_side_itself(tmp_path: Path) -> None:
    path = write(tmp_path / "a.zip", zipped({"x.en": b"one\n", "x.fr": b"un\n"}))
    with pytest.raises(UserError, match="two texts in one zip file"):
        read_corpus(path, path)


def test_a_file_that_holds_both_languages_is_no_side(tmp_path: Path) -> None:
    path = write(tmp_path / "a.txt", b'{"en": "one", "fr": "un"}\n')
    with pytest.raises(UserError, match=r"a\.txt: is JSON lines, which holds both languages; give it alone"):
        read_corpus(path, path)
    with pytest.raises(UserError, match=r"a\.txt: is TMX, which holds both languages; give it alone"):
        read_corpus(path, write(path, b"<!-- by hand -->\n<tmx>\n"))


@pytest.mark.parametrize("first", ["{", "[", '["Hello" he said.', "{'a': 1} is code.", "<!-- a comment -->"])
def test_a_side_may_begin_like_another_format(tmp_path: Path, first: str) -> None:
    sides = [write(tmp_path / name, f"{first}\nGo.\n".encode()) for name in ("a.en", "a.fr")]
    assert read_corpus(*sides).pairs == [Pair(first, first), Pair("Go.", "Go.")]


def locked() -> bytes:
    data = bytearray(zipped({"a.tsv": ONE}))
    for place in (data.index(b"PK\x03\x04") + 6, data.index(b"PK\x01\x02") + 8):
        data[place] |= 1
    return bytes(data)


def with_long_list() -> bytes:
    data = bytearray(zipped({"a.tsv": ONE}) + b"\0" * 2**23)
    end = zipfile.ZipFile(io.BytesIO(data[: -(2**23)])).start_dir
    return bytes(data[:end]) + b"\0" * 2**23 + struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, 1, 1, 2**23, end, 0)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"a\tb\ncaf\xe9\tb\n", r"a\.tsv, line 2: byte 0xE9 at position 4 is not UTF-8"),
        ("猫\t私".encode("shift_jis"), r"byte 0x94 at position 1 is not UTF-8; .* -f CP1252, SHIFT_JIS, GB18030"),
        (b"\x7fELF\x02\0\0", r"a\.tsv, line 1: .*binary"),
        (b"a\tb\na\0\tb\n", r"a\.tsv, line 2: .*binary"),
        ("a\tb\n".encode("utf-32"), r"a\.tsv, line 1: .*binary"),
        (b"\xff\xfe" + "a\tb\n".encode("utf-16-le") + b"\0\xd8a\0", r"line 1 or later: not UTF-16"),
        (b"\xff\xfea\0\t\0b", r"not UTF-16: truncated data"),
        (b"a\tb\rc\td\r", r"a\.tsv: its lines end in CR alone"),
        (b"a" * 2**20 + b"\tb\n", r"a\.tsv, line 1: more than 1,048,576 bytes"),
        (b"BZh91AY&SY", "bzip2 data"),
        (b"\xfd7zXZ\0", "xz data"),
        (locked(), r'a\.tsv: "a.tsv" is locked by a password'),
        (zipped({"a.tsv": ONE}, zipfile.ZIP_LZMA), r"is packed in a rare way"),
        (zipped({"a.tsv": ONE})[:-5], "not a whole zip file"),
        (zipped({"a.tsv": ONE}, zipfile.ZIP_STORED).replace(b"un", b"Un"), "not a whole zip file .Bad CRC-32"),
        (with_long_list(), "not a whole zip file .a list of members of 8,388,608 bytes"),
        (gzip.compress(b"one\tun\n" * 2**18, mtime=0), r"a\.tsv: unpacks to more than 100 times its size"),
        (zipped({"a.tsv": b"one\tun\n" * 2**18}), r"a\.tsv: unpacks to more than 100 times its size"),
        (b"\x1f\x8b\x08\x08\0\0\0\0\0\xff" + b"a" * 2**17, "not a whole gzip file .a header without end"),
        (gzip.compress(b"\0" * 2**25, mtime=0), r"a\.tsv: unpacks to more than 100 times its size"),
    ],
)
def test_files_that_are_no_text_are_refused_for_what_they_are(tmp_path: Path, data: bytes, message: str) -> None:
    with pytest.raises(UserError, match=message) as error:
        read_corpus(write(tmp_path / "a.tsv", data))
    assert "\n" not in str(error.value)


def test_a_long_list_of_members_does_not_make_room_for_what_is_packed_too_well(tmp_path: Path) -> None:
    """The list is read first; only what is read of the member itself may unpack to a hundred times as much."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.tsv", b"one\tun\n" * 600_000)
        archive.comment = b"x" * 65_000
    with pytest.raises(UserError, match=r"a\.zip: unpacks to more than 100 times its size"):
        read_corpus(write(tmp_path / "a.zip", packed.getvalue()))


@pytest.mark.parametrize("harm", ["cut", "changed", "no end"])
def test_a_damaged_gzip_file_is_refused_by_name(tmp_path: Path, harm: str) -> None:
    whole = gzip.compress("\n".join(f"{n}\tx{n * n}" for n in range(500)).encode())
    damaged = {"cut": whole[: len(whole) // 2], "changed": whole[:-6] + b"\0\1\2\3\4\5", "no end": whole[:-4]}
    with pytest.raises(UserError, match=r"a\.tsv\.gz: not a whole gzip file"):
        read_corpus(write(tmp_path / "a.tsv.gz", damaged[harm]))
