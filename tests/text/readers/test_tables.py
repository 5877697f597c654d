"""Tab-separated text and CSV: what is told from their first rows, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from mlxdecoder.errors import UserError
from mlxdecoder.text.readers import Choice, Rows, open_rows
from tests.text.readers.written import tab, table

GO = [("Go.", "Va !"), ("Run!", "Cours !")]


def opened(folder: Path, name: str, text: str, choice: Choice = Choice()) -> Rows:
    path = folder / name
    path.write_bytes(text.encode())
    return open_rows(path, choice=choice)


def read(folder: Path, name: str, text: str, choice: Choice = Choice()) -> list[tuple[str, str]]:
    return [(row.source, row.target) for row in opened(folder, name, text, choice)]


def columns(one: str, other: str) -> Choice:
    return Choice(columns=(one, other))


@pytest.mark.parametrize(
    ("name", "text", "kind"),
    [
        ("a.txt", "Go.\tVa !\nRun!\tCours !\n", "tab-separated"),
        ("a.csv", "Go.\tVa !\nRun!\tCours !\n", "tab-separated"),
        ("a.csv", "Go.;Va !\nRun!;Cours !\n", "CSV with semicolons"),
        ("a.txt", "Go.;Va !\r\nRun!;Cours !\r\n", "CSV with semicolons"),
        ("a.txt", "Go.,Va !\nRun!,Cours !\n", "CSV"),
        ("a.txt", '"Go.","Va !"\n"Run!","Cours !"', "CSV"),
        ("a.csv", '"Go.", "Va !"\n"Run!", "Cours !"', "CSV"),
        ("a.txt", '"Go."\t"Va !"\n"Run!"\t"Cours !"\n', "CSV with tabs"),
        ("a.txt", "1\tGo.\t2\tVa !\n3\tRun!\t4\tCours !\n", "tab-separated"),  # pairs of Tatoeba
        ("a.txt", "1.25\tGo.\tVa !\n9.9e-05\tRun!\tCours !\n", "tab-separated"),
        ("a.csv", "English words/sentences,French words/sentences\nGo.,Va !\nRun!,Cours !\n", "CSV"),
        ("a.txt", "source\ttarget\nGo.\tVa !\nRun!\tCours !\n", "tab-separated"),
        ("a.csv", ",English,French\n0,Go.,Va !\n1,Run!,Cours !\n", "CSV"),  # of pandas
        ("a.csv", ",one,other\n0,Go.,Va !\n1,Run!,Cours !\n", "CSV"),
        ("a.csv", "id,fr,score,en-GB,note\n7,Va !,1,Go.,\n8,Cours !,1,Run!,\n", "CSV"),
        ("a.csv", "Target Text,Source Text\nVa !,Go.\nCours !,Run!\n", "CSV"),
    ],
)
def test_a_table_is_recognised_by_its_content(tmp_path: Path, name: str, text: str, kind: str) -> None:
    rows = opened(tmp_path, name, text)
    assert rows.format.kind == kind
    pairs = [(row.source, row.target) for row in rows]
    assert pairs in (GO, [(target, source) for source, target in GO])
    assert rows.format.header == any(name in text for name in ("target", "Target", "id,", ",English", ",one", "words"))


def test_source_and_target_are_told_by_their_names_whatever_their_order(tmp_path: Path) -> None:
    assert read(tmp_path, "a.csv", "target,source\nVa !,Go.\nCours !,Run!\n") == GO


def test_a_word_list_has_no_header(tmp_path: Path) -> None:
    words = [("cat", "chat"), ("dog", "chien"), ("no", "non")]
    assert read(tmp_path, "a.tsv", tab(words)) == words
    assert read(tmp_path, "a.tsv", tab([("English", "English"), *words])) == [("English", "English"), *words]


def test_a_header_can_be_said_to_be_there_or_not(tmp_path: Path) -> None:
    text = "English,French\nGo.,Va !\n"
    assert read(tmp_path, "a.csv", text) == GO[:1]
    assert read(tmp_path, "a.csv", text, Choice(header=False)) == [("English", "French"), *GO[:1]]
    assert read(tmp_path, "a.csv", "eins,zwei\nGo.,Va !\n", Choice(header=True)) == GO[:1]


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_quotes_line_ends_and_separators_stand_inside_cells(tmp_path: Path, separator: str) -> None:
    pairs = [('He said "no".', "Il a dit « non »,\nvraiment."), ("a,b;c\td", '"'), ("", "x"), ("Go, now", "Va; vite")]
    assert read(tmp_path, "a.csv", table(pairs, separator)) == pairs


def test_quotes_in_tab_separated_text_are_text(tmp_path: Path) -> None:
    pairs = [('"Go," he said.', "« Va », dit-il."), ('"Stop."', '"Halte."'), ('He said "no', "Non")]
    assert read(tmp_path, "a.txt", "".join(f"{source}\t{target}\n" for source, target in pairs)) == pairs


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ('"The first," he said.\tone\n\t"\t"\n', [('"The first," he said.', "one"), ("", '"')]),
        ('Go.\tVa !\n\t\t"\n', [("Go.", "Va !"), ("", "")]),
    ],
)
def test_quotes_that_would_hold_a_tab_or_a_line_end_are_text_where_others_are(
    tmp_path: Path, text: str, rows: list[tuple[str, str]]
) -> None:
    assert opened(tmp_path, "a.txt", text).format.kind == "tab-separated"
    assert read(tmp_path, "a.txt", text) == rows


@pytest.mark.parametrize("padding", range(0, 900, 100))  # moves the place where the beginning ends
@pytest.mark.parametrize(
    "pair",
    [('He said "no", ' + "and again " * 40, "Non."), ("One\n" + "and another, " * 30, "Une\n" + "et une autre, " * 30)],
)
def test_a_long_file_is_told_from_its_beginning_even_if_that_ends_within_a_cell(
    tmp_path: Path, pair: tuple[str, str], padding: int
) -> None:
    pairs = [('"' + "x" * padding, "x"), *((f"{n} {pair[0]}", pair[1]) for n in range(300))]
    rows = opened(tmp_path, "a.txt", table(pairs, "\t"))
    assert rows.format.kind == "CSV with tabs"
    assert [(row.source, row.target) for row in rows] == pairs


def test_ragged_rows_lack_a_side_or_have_more_than_is_wanted(tmp_path: Path) -> None:
    text = "en,fr\nGo.,Va !\nalone\n\nRun!,Cours !,a comment,\n"
    assert read(tmp_path, "a.csv", text) == [GO[0], ("alone", ""), ("", ""), GO[1]]


def test_places_are_the_lines_where_rows_begin(tmp_path: Path) -> None:
    rows = opened(tmp_path, "a.csv", 'en,fr\n"a\nb",c\nd,e\n')
    assert [row.place for row in rows] == ["line 2", "line 4"]
    assert [row.place for row in opened(tmp_path, "a.tsv", "a\tb\n\nc\td\n")] == ["line 1", "line 2", "line 3"]


@pytest.mark.parametrize(
    ("choice", "expected"),
    [
        (columns("de", "fr"), [("Los.", "Va !")]),
        (columns("FR", "en"), [("Va !", "Go.")]),
        (columns("4", "2"), [("Va !", "Go.")]),
        (columns("3", "fr"), [("Los.", "Va !")]),
    ],
)
def test_columns_are_chosen_by_name_or_number(tmp_path: Path, choice: Choice, expected: list[tuple[str, str]]) -> None:
    rows = opened(tmp_path, "a.csv", "id,en,de,fr\n1,Go.,Los.,Va !\n", choice)
    assert [(row.source, row.target) for row in rows] == expected
    assert len(rows.format.left_out) == 2


def test_columns_of_a_table_without_header_are_chosen_by_number(tmp_path: Path) -> None:
    text = "Go.\tLos.\tVa !\tVe.\n"
    assert read(tmp_path, "a.tsv", text, columns("3", "1")) == [("Va !", "Go.")]


def test_what_is_taken_and_what_is_not_is_said(tmp_path: Path) -> None:
    told = opened(tmp_path, "a.csv", "id,english,french\n1,Go.,Va !\n").format.describe()
    assert told == 'CSV, UTF-8, header; source: column "english", target: column "french"; not taken: column "id"'


@pytest.mark.parametrize(
    ("name", "text", "choice", "message"),
    [
        ("a.csv", "en,fr\nGo.,Va !\n", columns("en", "de"), r'a\.csv: no column "de"; found "en", "fr"'),
        ("a.csv", "en,fr\nGo.,Va !\n", columns("1", "3"), r"no column 3; found"),
        ("a.csv", "en,fr\nGo.,Va !\n", columns("0", "1"), r"no column 0; found"),
        ("a.csv", "en,fr\nGo.,Va !\n", columns("9" * 5000, "1"), "no column .9999"),
        ("a.csv", "en,fr\nGo.,Va !\n", columns("en", "1"), "as source and as target"),
        ("a.csv", "en,fr\nGo.,Va !\n", Choice(languages=("en", "fr")), "languages are not told; choose columns"),
        ("a.csv", "text\nhello\n", Choice(), r"a\.csv: one column; wanted two, with commas, semicolons, tabs or |"),
        ("a.tsv", "a.\tb.\tc.\td.\n", Choice(), "4 columns of text, 1, 2, 3, 4; choose two"),
        ("a.tsv", "a\tb\nc\td\ne\n", Choice(), r"a\.tsv, line 3: no tab"),
        ("a.csv", 'en,fr\na,b\n"c,d\ne,f\n', Choice(), r"a\.csv, line 3: a quote begins there that never ends"),
        ("a.csv", f'en,fr\na,b\n"{"c,d" * 50_000}', Choice(), r"a\.csv, line 3: a cell of more than 131,072"),
        ("a.csv", "a,b\n" + '"a\n",' * 600_000, Choice(), r"a\.csv, line 2: a row of more than 1,048,576"),
        ("a.csv", "a,b\nc\rd,e\n", Choice(), r"a\.csv, line 2: a carriage return"),
        ("a.tsv", '"a\nb"\tc\n"The first," he said.\tone\n', Choice(), "line 1: no tab"),
        ("a.txt", "A text,as it is.\nNo columns here.\nNor here.\n", Choice(), "line 1: no tab"),
        ("a.txt", "A plain text, as it is.\nNo, it has no columns.\n", Choice(), r"line 1: no tab; .*\n.*two files"),
    ],
)
def test_what_cannot_be_read_or_chosen_is_refused(
    tmp_path: Path, name: str, text: str, choice: Choice, message: str
) -> None:
    with pytest.raises(UserError, match=message) as error:
        read(tmp_path, name, text, choice)
    assert str(error.value).count("\n") < 2
    assert len(str(error.value)) < 600


GREETINGS = [
    ("I see the cat.", "Je vois le chat."),
    ("The house is big.", "La maison est grande."),
    ("Hello.", "Salut."),
]


@pytest.mark.parametrize(
    "header",
    [
        "English,French,Attribution",
        "en,fr,licence",
        "English (US),French (France)",
        "Anglais,Français",
        "Englisch,Deutsch",
        "español,中文",
        "question,answer",
        "No.,English,French",
        "en,de",
        "it,es",
        "EN,ES",
        "eng,fin",
    ],
)
@pytest.mark.parametrize("separator", [",", "\t"])
def test_names_of_languages_and_sides_are_a_header(tmp_path: Path, header: str, separator: str) -> None:
    names = header.split(",")
    rows = [["7"] * names.index("English") + [*pair] if "No." in header else [*pair] for pair in GREETINGS]
    text = "".join(separator.join([*row, *["x 1"] * (len(names) - len(row))]) + "\n" for row in [names, *rows])
    found = opened(tmp_path, "a.csv", text)
    assert found.format.header
    assert [(row.source, row.target) for row in found] == GREETINGS


@pytest.mark.parametrize(
    "first",
    [("He.", "El."), ("No.", "So."), ("English.", "French."), ("Hi", "Is"), ("English", "Anglais"), ("no", "No")],
)
def test_a_first_pair_of_short_words_is_no_header(tmp_path: Path, first: tuple[str, str]) -> None:
    assert read(tmp_path, "a.tsv", tab([first, *GREETINGS])) == [first, *GREETINGS]


def test_words_that_are_codes_of_languages_too_are_a_pair_in_a_word_list(tmp_path: Path) -> None:
    words = [("it", "es"), ("is", "ist"), ("cat", "Katze")]
    assert read(tmp_path, "a.tsv", tab(words)) == words


@pytest.mark.parametrize("separator", [";", ",", "\t", "|"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_the_separator_that_excel_says_is_obeyed(tmp_path: Path, separator: str, end: str) -> None:
    lines = [f"sep={separator}", f"English{separator}French", *(f'"{a}"{separator}"{b}"' for a, b in GREETINGS)]
    rows = opened(tmp_path, "a.csv", end.join(lines))
    assert [(row.source, row.target, row.place) for row in rows] == [
        (*pair, f"line {number}") for number, pair in enumerate(GREETINGS, 3)
    ]


def test_vertical_bars_separate(tmp_path: Path) -> None:
    rows = opened(tmp_path, "a.csv", "English|French\n" + "".join(f"{a}|{b}\n" for a, b in GREETINGS))
    assert rows.format.kind == "CSV with vertical bars"
    assert [(row.source, row.target) for row in rows] == GREETINGS


def test_blank_cells_at_the_end_of_a_line_do_not_count(tmp_path: Path) -> None:
    text = "".join(f"{a}\t{b}\t\t \t\n" for a, b in GREETINGS)
    assert read(tmp_path, "a.tsv", text) == GREETINGS
    assert read(tmp_path, "a.tsv", tab(GREETINGS) + "Go.\t\t\t\t\n") == [*GREETINGS, ("Go.", "")]


def sentences(*columns: str) -> str:
    """A table with these columns, in which N stands for a number, and A and B for different texts."""
    cells = {"N": "{n}", "A": "text {n}", "B": "texte {n}"}
    return "".join("\t".join(cells.get(one, one).format(n=n) for one in columns) + "\n" for n in range(9))


def test_labels_are_no_text(tmp_path: Path) -> None:
    texts = [(f"text {n}", f"texte {n}") for n in range(9)]
    for columns in (
        ["eng", "A", "fra", "B"],
        ["N", "CK", "A", "B"],
        ["A", "web", "B"],
        ["A", "B", "CC-BY", "eng", "\\N"],
    ):
        assert read(tmp_path, "a.tsv", sentences(*columns)) == texts
    languages = "".join(f"{code}\ttext {n}\ttexte {n}\n" for n in range(9) for code in ("eng", "fra"))
    assert read(tmp_path, "a.tsv", languages)[0] == texts[0]
    assert read(tmp_path, "a.tsv", tab([("web", "x y")] * 9)) == [("web", "x y")] * 9  # two columns are the sides


@pytest.mark.parametrize("columns", [["N", "eng", "A"], ["N", "eng", "A", "CK", "\\N"]])  # sentences of Tatoeba
def test_a_table_with_texts_in_one_column_is_refused(tmp_path: Path, columns: list[str]) -> None:
    with pytest.raises(UserError, match="texts in column 3 alone; choose two"):
        opened(tmp_path, "a.tsv", sentences(*columns))


def test_rows_with_more_cells_than_columns_are_marked(tmp_path: Path) -> None:
    text = 'en,fr\nGo.,Va !\nHello, my friend,Bonjour\n"Hello, friend",Salut\nRun!,Cours !,\n'
    wide = [row.place for row in opened(tmp_path, "a.csv", text) if row.wide]
    assert wide == ["line 3"]
    assert [row.wide for row in opened(tmp_path, "a.csv", text, columns("en", "fr"))] == [False, True, False, False]
    tabs = opened(tmp_path, "a.tsv", tab(GREETINGS) + "one\ttwo\tthree\n")
    assert [row.place for row in tabs if row.wide] == ["line 4"]


def test_a_table_whose_rows_mostly_have_more_cells_than_columns_is_refused(tmp_path: Path) -> None:
    text = "en,fr\nHello, my friend,Bonjour\nGo.,Va !\nNo, thanks,Non, merci\n"
    with pytest.raises(UserError, match=r"2 of the first 3 rows have more than 2 cells; .* quotes") as error:
        opened(tmp_path, "a.csv", text)
    assert str(error.value).count("\n") == 1
    assert len(read(tmp_path, "a.csv", text, columns("1", "2"))) == 3
