"""`mlxdecoder translate`: as many lines as are asked for, whatever the model reads and writes."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from tests.commands.line_ends import write_line_ends

Run = Callable[..., tuple[int, str, str]]
LINES = "The black cat sleeps.\n\nThe dog runs.\n"
WANTED = ["Le chat noir dort.", "", "Le chien court."]


@pytest.mark.parametrize("end", ["\n", "\r", "\r\n", "\x0b", "\x0c", "\x1c", "\x85", "\u2028", "\u2029"])
def test_a_line_comes_out_for_each_that_goes_in_whatever_the_model_writes(
    run: Run, monkeypatch: pytest.MonkeyPatch, end: str
) -> None:
    write_line_ends(monkeypatch, "translate", end)
    status, out, err = run("translate", stdin=LINES.encode())
    assert status == 0, err
    assert out.splitlines() == WANTED


def test_of_n_best_there_are_n_lines_of_a_blank_line_too(run: Run) -> None:
    _, out, _ = run("translate", "--beam", 4, "--n-best", 3, stdin=LINES.encode())
    lines = out.split("\n")[:-1]
    assert len(lines) == 9
    assert (lines[0], lines[3:6], lines[6]) == (WANTED[0], ["", "", ""], WANTED[2])


def test_a_line_that_is_too_long_stays_blank_and_is_told_by_its_number(run: Run) -> None:
    lines = f"The black cat sleeps.\n{'cat ' * 30_000}\nThe dog runs.\n"
    status, out, err = run("translate", stdin=lines.encode())
    assert status == 0
    assert out.split("\n") == [*WANTED, ""]
    assert "mlxdecoder: line 2: not translated, for it has more pieces than 512" in err
    _, out, _ = run("translate", "--json", stdin=lines.encode())
    assert [json.loads(line)["finish_reason"] for line in out.splitlines()] == ["stop", "too long", "stop"]


def test_lines_are_counted_on_over_several_pieces_of_the_input(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mlxdecoder.commands.asked.LINES_AT_ONCE", 2)
    _, out, err = run("translate", stdin=f"\n\n\n{'cat ' * 600}\n\n".encode())
    assert out == "\n" * 5
    assert "line 4: not translated" in err
