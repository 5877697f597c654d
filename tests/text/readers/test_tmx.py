"""TMX: inline tags, variants, languages, and XML that would harm."""

from __future__ import annotations

from pathlib import Path

import pytest

from mlxdecoder.errors import UserError
from mlxdecoder.text.readers import Choice, Rows, open_rows
from tests.text.readers.written import encoded


def opened(folder: Path, units: str, choice: Choice = Choice(), srclang: str = "*all*", head: str = "") -> Rows:
    path = folder / "a.tmx"
    text = f'{head}<tmx version="1.4"><header srclang="{srclang}"/><body>{units}</body></tmx>'
    path.write_bytes(text.encode())
    return open_rows(path, choice=choice)


def read(folder: Path, units: str, choice: Choice = Choice(), **more: str) -> list[tuple[str, str]]:
    return [(row.source, row.target) for row in opened(folder, units, choice, **more)]


def unit(**texts: str) -> str:
    segments = (f'<tuv xml:lang="{name.replace("_", "-")}"><seg>{text}</seg></tuv>' for name, text in texts.items())
    return f"<tu>{''.join(segments)}</tu>"


def test_texts_are_read_without_the_code_between_them(tmp_path: Path) -> None:
    marked = (
        'Press <bpt i="1">&lt;b <sub>title</sub>&gt;</bpt>the <hi type="x">red</hi> one<ept i="1">&lt;/b&gt;</ept>, '
        'or<ph x="1">{0}</ph> <it pos="begin">&lt;i&gt;</it>A &amp; B<ut>\\par</ut>!<!-- no --><![CDATA[ <3]]>'
    )
    assert read(tmp_path, unit(en=marked, fr="Oui")) == [("Press the red one, or A & B! <3", "Oui")]


@pytest.mark.parametrize(
    ("marked", "text"),
    [
        ("one<ph>&lt;br/&gt;</ph>two", "one two"),
        ('one<ph x="1"/>two', "one two"),
        ("one <ph/>two", "one two"),
        ("one<ph/> two", "one two"),
        ("one<ph>{0}</ph>, two<ph/>", "one, two"),
        ("<ph/>one", "one"),
        ("un<bpt>&lt;b&gt;</bpt>do<ept>&lt;/b&gt;</ept>ne", "undone"),
    ],
)
def test_a_placeholder_between_letters_is_a_space(tmp_path: Path, marked: str, text: str) -> None:
    assert read(tmp_path, unit(en=marked, fr="x") + unit(en="two", fr="y")) == [(text, "x"), ("two", "y")]


def test_each_variant_goes_with_each_of_the_other_language(tmp_path: Path) -> None:
    variants = (
        '<tu><tuv xml:lang="en"><prop type="x">no text</prop><seg>Hi</seg></tuv><tuv lang="fr"><seg>Salut</seg></tuv>'
        '<tuv lang="fr"><note>nor this</note><seg>Bonjour</seg></tuv></tu>'
    )
    rows = list(opened(tmp_path, variants + unit(en="Go", fr="Va")))
    assert [(row.source, row.target, row.place) for row in rows] == [
        ("Hi", "Salut", "unit 1"),
        ("Hi", "Bonjour", "unit 1"),
        ("Go", "Va", "unit 2"),
    ]


def test_a_missing_language_is_a_missing_side(tmp_path: Path) -> None:
    units = unit(en="one", fr="un") + unit(en="two") + unit(fr="trois") + "<tu/>"
    assert read(tmp_path, units) == [("one", "un"), ("two", ""), ("", "trois"), ("", "")]


def test_the_two_most_usual_languages_are_taken_and_the_others_said(tmp_path: Path) -> None:
    units = unit(de="Los", en="Go", fr="Va") + unit(fr="Oui", en_GB="Yes") + unit(FR="Non", en_US="No")
    rows = opened(tmp_path, units)
    assert rows.format.languages == ("en", "fr")
    assert rows.format.left_out == ("de",)
    assert rows.format.describe() == (
        'TMX, UTF-8; source: language "en", target: language "fr"; not taken: language "de"'
    )
    assert [(row.source, row.target) for row in rows] == [("Go", "Va"), ("Yes", "Oui"), ("No", "Non")]


def test_the_language_of_the_header_comes_first(tmp_path: Path) -> None:
    assert read(tmp_path, unit(fr="Va", en="Go"), srclang="EN-us") == [("Go", "Va")]
    assert read(tmp_path, unit(fr="Va", en="Go"), srclang="en") == [("Go", "Va")]
    assert read(tmp_path, unit(fr="Va", en="Go")) == [("Va", "Go")]


def test_two_kinds_of_one_language_are_a_pair_when_there_is_no_other(tmp_path: Path) -> None:
    assert read(tmp_path, unit(en_GB="colour", en_US="color")) == [("colour", "color")]


@pytest.mark.parametrize(
    ("languages", "pair"),
    [(("de", "fr"), ("Los", "Va")), (("fr", "EN_GB"), ("Va", "Go")), (("en", "de"), ("Go", "Los"))],
)
def test_languages_are_chosen_with_or_without_their_country(
    tmp_path: Path, languages: tuple[str, str], pair: tuple[str, str]
) -> None:
    assert read(tmp_path, unit(de="Los", en_GB="Go", fr="Va"), Choice(languages=languages)) == [pair]


def test_a_document_type_elsewhere_is_passed_over_and_its_entities_read_as_in_html(tmp_path: Path) -> None:
    head = '<?xml version="1.0"?>\n<!DOCTYPE tmx SYSTEM "tmx14.dtd">\n'
    assert read(tmp_path, unit(en="caf&eacute;", fr="caf&#233;"), head=head) == [("café", "café")]


def test_the_encoding_that_the_xml_declares_is_used_and_said(tmp_path: Path) -> None:
    path = tmp_path / "a.tmx"
    text = f'<?xml version="1.0" encoding="ISO-8859-1"?><tmx><body>{unit(en="coffee", fr="café")}</body></tmx>'
    path.write_bytes(text.encode("latin-1"))
    rows = open_rows(path)
    assert rows.format.encoding == "ISO-8859-1"
    assert [(row.source, row.target) for row in rows] == [("coffee", "café")]


@pytest.mark.parametrize("encoding", ["UTF-16 LE", "UTF-16 BE", "UTF-16 LE without a byte order mark"])
@pytest.mark.parametrize("declared", ["", ' encoding="utf-8"', ' encoding="UTF-16"'])
def test_utf_16_is_read_whatever_the_declaration_says(tmp_path: Path, encoding: str, declared: str) -> None:
    path = tmp_path / "a.tmx"
    units = unit(en="coffee", fr="café") * 1000
    path.write_bytes(encoded(f'<?xml version="1.0"{declared}?><tmx><body>{units}</body></tmx>', encoding))
    rows = open_rows(path)
    assert rows.format.encoding == encoding
    assert {(row.source, row.target) for row in rows} == {("coffee", "café")}


LAUGHS = '<!DOCTYPE tmx [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]>'
LOCAL_FILE = '<!DOCTYPE tmx [<!ENTITY a SYSTEM "file:///etc/passwd">]>'


@pytest.mark.parametrize(
    ("units", "more", "message"),
    [
        (unit(en="&b;", fr="x"), {"head": LAUGHS}, "XML with entities"),
        (unit(en="&a;", fr="x"), {"head": LOCAL_FILE}, "XML with entities"),
        (unit(en="&a;", fr="x"), {}, r"a\.tmx, line 1: damaged XML: undefined entity"),
        (unit(en="a", fr="b") + "<tu>", {}, r"line 1: damaged XML"),
        (unit(en="a"), {}, 'found "en" as languages of its units; wanted two'),
        ("", {}, "found no text as languages"),
        ("<a>" * 400_000, {}, r"unit 1: more than 1,048,576 bytes"),
        (unit(en="a" * 2**21, fr="b"), {}, r"unit 1: more than 1,048,576 bytes"),
        (unit(en="a", fr="b") + f"<tu a='{'a' * 2**21}'/>", {}, r"unit 2: more than 1,048,576 bytes"),
        (f"<tu>{unit(en='a')[4:-5] * 40}{unit(fr='a')[4:-5] * 40}</tu>", {}, "unit 1: 40 by 40 variants"),
        ("".join(f"<tu><a{n}/></tu>" for n in range(2000)), {}, "more than 1,000 names of tags"),
        ("", {"head": '<?xml version="1.0" encoding="nothing"?>'}, "XML that cannot be read: unknown encoding"),
        ("", {"head": '<?xml version="1.0"?><xliff/>'}, 'XML, but of another kind, "xliff"; wanted TMX'),
    ],
)
def test_what_would_harm_or_is_no_tmx_is_refused(
    tmp_path: Path, units: str, more: dict[str, str], message: str
) -> None:
    with pytest.raises(UserError, match=message) as error:
        read(tmp_path, units, **more)
    assert "\n" not in str(error.value)


def test_languages_that_are_nowhere_and_columns_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match='no unit in the language "de"; found "en", "fr"'):
        read(tmp_path, unit(en="Go", fr="Va"), Choice(languages=("de", "fr")))
    for twice in (("en", "en"), ("en_GB", "EN-gb")):
        with pytest.raises(UserError, match="language .* is chosen as source and as target; wanted two languages"):
            read(tmp_path, unit(en_GB="Go", fr="Va"), Choice(languages=twice))
    with pytest.raises(UserError, match="is TMX, which has no header"):
        read(tmp_path, unit(en="Go", fr="Va"), Choice(header=True))
    with pytest.raises(UserError, match="is TMX, which has no columns to choose"):
        read(tmp_path, unit(en="Go", fr="Va"), Choice(columns=("1", "2")))
