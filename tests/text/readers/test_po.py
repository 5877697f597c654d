"""gettext PO: what is translated, and what is not."""

from __future__ import annotations

from pathlib import Path

import pytest

from mlxdecoder.errors import UserError
from mlxdecoder.text.readers import Choice, open_rows

CATALOGUE = r"""
# A comment.
msgid ""
msgstr ""
"Language: fr\n"
"Plural-Forms: nplurals=2; plural=n > 1;\n"

#: main.c:12
#, c-format
msgid "Open %s, or \"%d\" more.\n"
msgstr "Ouvrir %s, ou « %d » de plus.\n"

msgctxt "menu"
msgid "Open"
msgstr "Ouvrir"
msgctxt "menu"
msgid ""
"A tab\t"
"and a backslash \\n."
msgstr ""
"Une tabulation\tet "
"une barre \\n."

#, fuzzy, c-format
#| msgid "Clos"
msgid "Close"
msgstr "Clore"

msgid "Not yet"
msgstr ""

#, c-format
msgid "%d file"
msgid_plural "%d files"
msgstr[0] "%d fichier"
msgstr[1] "%d fichiers"

#, fuzzy
#~ msgid "Old"
#~ msgstr "Vieux"

msgid "Last"
msgstr "Dernier"
"""
ROWS = [
    ('Open %s, or "%d" more.\n', "Ouvrir %s, ou « %d » de plus.\n", "line 10"),
    ("Open", "Ouvrir", "line 13"),
    ("A tab\tand a backslash \\n.", "Une tabulation\tet une barre \\n.", "line 16"),
    ("Close", "", "line 26"),
    ("Not yet", "", "line 29"),
    ("%d file", "%d fichier", "line 33"),
    ("%d files", "%d fichiers", "line 33"),
    ("Last", "Dernier", "line 42"),
]


def write(folder: Path, text: str) -> Path:
    path = folder / "fr.po"
    path.write_bytes(text.encode())
    return path


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_catalogue_is_read_message_by_message(tmp_path: Path, end: str) -> None:
    rows = open_rows(write(tmp_path, CATALOGUE.replace("\n", end)))
    assert rows.format.describe() == 'gettext PO, UTF-8; source: column "msgid", target: column "msgstr"'
    assert [(row.source, row.target, row.place) for row in rows] == ROWS


def test_escapes_are_read_as_gettext_reads_them(tmp_path: Path) -> None:
    """Expected is what msgfmt 0.21 makes of it, but for a zero, where a text would end."""
    text = r"caf\303\251 \x41 \101b \1013 \x414 \\303\\251 \x41\x42z \000"
    (row,) = open_rows(write(tmp_path, f'msgid "{text}"\nmsgstr "x"\n'))
    assert row.source == "café A Ab A3 \x14 \\303\\251 ABz \\000"


@pytest.mark.parametrize("columns", [("msgstr", "msgid"), ("2", "1")])
def test_the_sides_can_be_turned(tmp_path: Path, columns: tuple[str, str]) -> None:
    rows = open_rows(write(tmp_path, CATALOGUE), choice=Choice(columns=columns))
    assert rows.format.columns == ("msgstr", "msgid")
    assert [(row.target, row.source, row.place) for row in rows] == ROWS


@pytest.mark.parametrize(
    ("forms", "expected"),
    [
        (["%d 個のファイル"], [("%d files", "%d 個のファイル")]),
        (["soubor", "soubory", "souborů"], [("%d file", "soubor"), ("%d files", "soubory"), ("%d files", "souborů")]),
    ],
)
def test_a_plural_has_as_many_rows_as_forms(tmp_path: Path, forms: list[str], expected: list[tuple[str, str]]) -> None:
    texts = "".join(f'msgstr[{number}] "{form}"\n' for number, form in enumerate(forms))
    rows = open_rows(write(tmp_path, f'msgid "%d file"\nmsgid_plural "%d files"\n{texts}'))
    assert [(row.source, row.target) for row in rows] == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('msgid "a"\nmsgstr "b\n', r"fr\.po, line 2: not PO; wanted msgstr"),
        ('msgid "a"\nmsgstr "b"c"\n', r"line 2: not PO"),
        ('msgid "a"\nmsgid "b"\nmsgstr "c"\n', r"line 2: not PO; wanted msgstr"),
        ('msgid "a"\nmsgstr "b"\nmsgstr "c"\n', r"line 3: not PO"),
        ('msgstr "a"\nmsgid "b"\n', r"line 1: not PO; wanted msgid"),
        ('"a"\nmsgid "a"\nmsgstr "b"\n', r"line 1: not PO; wanted msgid"),
        ('msgid "a"\nmsgstr "b"\nmsgid "c"\n', r"line 3: a msgid without msgstr at the end"),
        ('msgid "a"\nmsgstr "b"\nfree text\n', r"line 3: not PO"),
        (
            'msgid "a"\nmsgstr "b"\n\nmsgid ""\n' + f'"{"c" * 1000}"\n' * 1100,
            r"line 4: a message of more than 1,048,576",
        ),
        (f'msgid "{"語" * 250_000}"\nmsgstr "{"语" * 250_000}"\n', r"line 1: a message of more than 1,048,576 bytes"),
    ],
)
def test_what_is_no_catalogue_is_refused_with_its_line(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(UserError, match=message) as error:
        list(open_rows(write(tmp_path, text)))
    assert "\n" not in str(error.value)
