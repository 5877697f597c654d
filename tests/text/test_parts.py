"""Parts in files: whatever the pairs are, they read back as they were, or nothing is written."""

from __future__ import annotations

import errno
import gzip
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mlxdecoder.errors import UserError
from mlxdecoder.text.corpus import Pair, clean, read_corpus
from mlxdecoder.text.parts import write_parts

PAIRS = [Pair("Go.", "Va\u202f!"), Pair("a\u2028b", 'a "quote"'), Pair("\U0001f600", "نعم")]

odd = st.sampled_from(
    ['"', '""', "\r", "\u2028", "{", "<?xml", "no", "en", "1", ",", ";", "e\u0301", 'msgid "', "\x1f"]
)
sides = st.lists(odd | st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])), max_size=4)
cells = sides.map("".join).map(clean).filter(bool)
corpora = st.lists(st.builds(Pair, cells, cells), min_size=1, max_size=6, unique=True)


@given(corpora, st.booleans(), st.booleans())
@example([Pair("no", "it"), Pair("Go.", "Va !")], False, False)  # names of languages, like a header
@example([Pair('"a ""b"""', '"c"')], False, True)
def test_parts_read_back_as_the_same_pairs_or_nothing_is_written(
    tmp_path_factory: pytest.TempPathFactory, pairs: list[Pair], two_files: bool, packed: bool
) -> None:
    folder = tmp_path_factory.mktemp("any") / "parts"
    try:
        names = write_parts(folder, {"train": pairs}, two_files=two_files, packed=packed)
    except UserError:
        assert not list(folder.iterdir())
        return
    files = sorted(folder.iterdir())
    assert [file.name for file in files] == names
    assert len(files) == 1 + two_files and all((file.suffix == ".gz") == packed for file in files)
    assert read_corpus(*files).pairs == pairs


@pytest.mark.parametrize(
    ("pair", "two_files", "said"),
    [
        (Pair('"a ""b"""', '"c"'), False, "tab-separated text; write two files"),
        (Pair('{"a": "b"}', "c"), True, "two files; write tab-separated text"),
    ],
)
def test_pairs_that_look_like_another_format_are_refused_with_a_way_out(
    tmp_path: Path, pair: Pair, two_files: bool, said: str
) -> None:
    with pytest.raises(UserError, match=f"train: .* as {said} instead"):
        write_parts(tmp_path / "parts", {"train": [pair]}, two_files=two_files)
    write_parts(tmp_path / "parts", {"train": [pair]}, two_files=not two_files)
    assert read_corpus(*sorted((tmp_path / "parts").iterdir())).pairs == [pair]


def test_usual_pairs_are_tab_separated_without_a_header(tmp_path: Path) -> None:
    assert write_parts(tmp_path / "parts", {"train": PAIRS, "validation": [], "test": PAIRS[:1]}) == [
        "test.tsv",
        "train.tsv",
    ]
    text = (tmp_path / "parts" / "train.tsv").read_bytes().decode()
    assert text == "".join(f"{pair.source}\t{pair.target}\n" for pair in PAIRS)


def test_two_files_have_a_side_each(tmp_path: Path) -> None:
    write_parts(tmp_path, {"train": PAIRS}, two_files=True)
    assert (tmp_path / "train.target").read_bytes().decode() == "".join(f"{pair.target}\n" for pair in PAIRS)


def test_the_same_pairs_give_the_same_packed_bytes(tmp_path: Path) -> None:
    for name in ("one", "other"):
        write_parts(tmp_path / name, {"train": PAIRS}, packed=True)
    one, other = ((tmp_path / name / "train.tsv.gz").read_bytes() for name in ("one", "other"))
    assert one == other and one[4:8] == bytes(4)  # no time inside
    assert gzip.decompress(one).startswith(b"Go.\tVa")


@pytest.mark.parametrize("two_files", [False, True])
def test_lines_that_would_not_be_read_again_are_not_written(tmp_path: Path, two_files: bool) -> None:
    side = "語" * (2**20 // 3)
    pairs = [Pair("Go.", "Va !"), Pair(side[:-1], "x") if two_files else Pair(side[: 2**18], side[: 2**18])]
    with pytest.raises(UserError, match=r"line of 1,\d\d\d,\d\d\d bytes; wanted 1,048,576 at most"):
        write_parts(tmp_path, {"train": [*pairs, Pair(f"{side}語", "y")]}, two_files=two_files)
    assert not list(tmp_path.iterdir())
    if two_files:
        write_parts(tmp_path, {"train": pairs}, two_files=True)
        assert read_corpus(*sorted(tmp_path.iterdir())).pairs == pairs


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("mlxdecoder.text.parts.os.replace", full)
    with pytest.raises(OSError, match="No space left") as error:
        write_parts(tmp_path / "parts", {"train": PAIRS})
    assert error.value.filename == str(tmp_path / "parts")
    assert not list((tmp_path / "parts").iterdir())


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    write_parts(tmp_path / "parts", {"train": PAIRS})
    for taken in (tmp_path / "parts", tmp_path / "parts" / "train.tsv"):
        with pytest.raises(UserError, match="nothing is overwritten"):
            write_parts(taken, {"train": PAIRS[:1]})
    assert read_corpus(tmp_path / "parts" / "train.tsv").pairs == PAIRS


def test_what_breaks_off_leaves_nothing_behind(tmp_path: Path) -> None:
    class Broken(list[Pair]):
        def __iter__(self):
            yield PAIRS[0]
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_parts(tmp_path / "parts", {"train": PAIRS, "test": Broken(PAIRS)})
    assert not list((tmp_path / "parts").iterdir())
