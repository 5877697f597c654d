"""Files are whole or not there; what is no file is written to as it is, and the name that was asked for is told."""

from __future__ import annotations

import errno
import os
import threading
from pathlib import Path

import pytest

from mlxdecoder.files import check_writable, replacing, write_bytes, write_text


def test_a_reader_sees_the_old_file_until_the_new_one_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "folder" / "text"
    write_text(path, "old\n")
    with replacing(path) as file:
        file.write(b"ne")
        file.flush()
        assert path.read_bytes() == b"old\n"
        file.write(b"w")
    assert path.read_bytes() == b"new"
    assert list(path.parent.iterdir()) == [path]


def test_what_ends_a_write_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "text"
    path.write_bytes(b"old")
    with pytest.raises(ValueError, match="closed"), replacing(path) as file:
        file.close()
    assert [(each.name, each.read_bytes()) for each in tmp_path.iterdir()] == [("text", b"old")]


def test_a_link_stays_a_link_and_its_file_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    file, link = tmp_path / "elsewhere" / "text", tmp_path / "link"
    file.write_bytes(b"old")
    link.symlink_to(file)
    write_bytes(link, b"new")
    assert link.is_symlink()
    assert file.read_bytes() == b"new"
    assert sorted(tmp_path.rglob("*")) == [file.parent, file, link]


def test_a_link_to_what_is_not_there_yet_makes_it(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "text")
    write_bytes(tmp_path / "link", b"new")
    assert (tmp_path / "text").read_bytes() == b"new"


def test_a_pipe_is_written_to_and_stays_one(tmp_path: Path) -> None:
    pipe, heard = tmp_path / "pipe", list[bytes]()
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: heard.append(pipe.read_bytes()))
    reader.start()
    write_bytes(pipe, b"told")
    reader.join()
    assert heard == [b"told"]
    assert pipe.is_fifo()


def test_a_device_is_written_to_and_stays_one() -> None:
    check_writable("/dev/null")
    write_bytes("/dev/null", b"told")
    assert Path("/dev/null").is_char_device()


def test_the_file_that_was_asked_for_is_named_when_it_cannot_be_written(tmp_path: Path) -> None:
    for write in (check_writable, lambda path: write_bytes(path, b"new")):
        with pytest.raises(IsADirectoryError) as refused:
            write(tmp_path)
        assert refused.value.filename == str(tmp_path)
    with pytest.raises(OSError, match="No space left .*text'$"), replacing(tmp_path / "text"):
        raise OSError(errno.ENOSPC, "No space left on device")


def test_a_place_is_tried_without_a_trace(tmp_path: Path) -> None:
    (tmp_path / "text").write_bytes(b"old")
    check_writable(tmp_path / "text")
    assert [(each.name, each.read_bytes()) for each in tmp_path.iterdir()] == [("text", b"old")]
    with pytest.raises(OSError, match="text"):
        check_writable(tmp_path / "text" / "made")
