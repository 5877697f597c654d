"""Settings: what is set holds beyond the life of the app, and nonsense in their file counts as not set."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import QByteArray

from mlxdecoder.app.settings import Settings


def written(folder: Path, text: str) -> Settings:
    folder.mkdir(exist_ok=True)
    (folder / "settings.ini").write_text(text)
    return Settings(folder)


def test_what_is_set_is_there_again(tmp_path: Path) -> None:
    settings = Settings(tmp_path)
    settings.font_size, settings.theme, settings.restores, settings.runs = 14, "dark", False, tmp_path / "runs"
    settings.set_layout("window", QByteArray(b"\x00state"))
    settings.add_recent(tmp_path / "settings.ini")
    del settings
    again = Settings(tmp_path)
    assert (again.font_size, again.theme, again.restores, again.runs) == (14, "dark", False, tmp_path / "runs")
    assert again.layout("window") == QByteArray(b"\x00state")
    assert again.recent == [tmp_path / "settings.ini"]


def test_without_a_file_everything_is_as_the_system_has_it(tmp_path: Path) -> None:
    settings = Settings(tmp_path)
    assert (settings.font_size, settings.theme, settings.restores, settings.recent) == (0, "system", True, [])
    assert settings.runs.is_absolute()


@pytest.mark.parametrize(
    "text",
    [
        "\x00\x01junk",
        "[General]\nfont_size=huge\ntheme=pink\n",
        "[General]\nfont_size=999\ntheme=@Invalid()\n[layout]\nwindow=3\n",
    ],
)
def test_nonsense_counts_as_not_set(tmp_path: Path, text: str) -> None:
    settings = written(tmp_path, text)
    assert (settings.font_size, settings.theme) == (0, "system")
    assert settings.layout("window").isEmpty()


@pytest.mark.parametrize("name", ["x" * 300, "a/" * 3000])
def test_a_recent_session_of_an_impossible_name_is_not_there(tmp_path: Path, name: str) -> None:
    settings = Settings(tmp_path)
    settings.add_recent(tmp_path / name)
    assert settings.recent == []


def test_of_two_apps_only_the_first_keeps_its_session(tmp_path: Path) -> None:
    first, second = Settings(tmp_path / "settings"), Settings(tmp_path / "settings")
    assert first.keeps
    assert not second.keeps
    del first
    assert not second.keeps  # what the first has kept is not its own
    assert Settings(tmp_path / "settings").keeps
