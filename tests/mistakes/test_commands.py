"""`mlxdecoder mistakes` as a user types it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from mlxdecoder.mistakes import CATALOGUE, MISTAKES
from mlxdecoder.mistakes.experiments import measured

Run = Callable[..., tuple[int, str, str]]
SENTENCE = "The black cat sees the old woman."


def test_list_names_all_and_its_figures_are_those_of_the_record(run: Run) -> None:
    status, out, _ = run("mistakes", "list")
    assert status == 0
    rows = {line.split()[0]: line for line in out.splitlines() if re.match(r"[a-z]+-", line)}
    assert set(rows) == {mistake.id for mistake in CATALOGUE}
    entry = measured()["entries"]["no-causal-mask"]
    shares = [f"{entry[side]['exact_match']:.0%}" for side in ("correct", "mistaken")]
    assert f"{shares[0]} -> {shares[1]}" in rows["no-causal-mask"]
    assert "harmless" in rows["zeroed-and-renormalised"]
    assert out.startswith("28 mistakes, and 3 that only look like one")
    assert sum("(harmless)" in row for row in rows.values()) == 3


@pytest.mark.parametrize("mistake", CATALOGUE, ids=lambda mistake: mistake.id)
def test_show_tells_code_contract_and_measurement_with_seed_and_command(run: Run, mistake) -> None:
    status, out, _ = run("mistakes", "show", mistake.number)
    assert status == 0
    for text in (mistake.title, mistake.right, mistake.wrong, "make experiments", "seed 0", *mistake.contracts):
        assert text in out
    status, out, _ = run("mistakes", "show", mistake.id, "--json")
    told = json.loads(out)
    assert told["measured_by"]["command"] == "make experiments"
    assert told["measured"]["correct"]["exact_match"] > 0.8


def test_the_record_has_every_entry_and_no_mistake_is_without_effect(run: Run) -> None:
    entries = measured()["entries"]
    assert list(entries) == [mistake.id for mistake in CATALOGUE]
    unharmed = {"padding-in-loss"}  # its harm is that the loss is not what it seems
    for mistake in MISTAKES:
        entry = entries[mistake.id]
        exact = [entry["correct"], entry["mistaken"], entry["switched_on_after_training"]]
        lost = min(side["exact_match"] or 0 for side in exact[1:])
        assert lost < exact[0]["exact_match"] - 0.2 or mistake.id in unharmed, mistake.id


def test_compare_prints_both_outputs_and_draws_them(run: Run, tmp_path: Path) -> None:
    out_file = tmp_path / "compared.png"
    status, out, _ = run("mistakes", "compare", "cache-mask-top-left", SENTENCE, "--out", out_file)
    assert status == 0
    assert "correct   Le chat noir voit la vieille femme." in out
    assert "first difference at token" in out
    assert out_file.read_bytes().startswith(b"\x89PNG")


def test_compare_of_two_at_once_as_json_and_as_a_page(run: Run, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    status, out, _ = run("mistakes", "compare", "1, no-scale", SENTENCE, "--json", "--out", page)
    told = json.loads(out)
    assert (status, told["mistakes"]) == (0, ["no-causal-mask", "no-scale"])
    assert "mistaken" in page.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["show", "no-causal"], "no-causal-mask"),
        (["compare", "99", SENTENCE], "not in the catalogue"),
        (["compare", " , ", SENTENCE], "none found"),
        (["compare", "1", "  "], "no words"),
        (["compare", "1", SENTENCE, "--out", "x.gif"], ".html"),
        (["compare", "1", SENTENCE, "--kind", "cross", "--layer", "9", "--out", "x.png"], "layer 9"),
        (["compare", "1", SENTENCE, "--layer", "1", "--out", "x.png"], "--kind"),
        (["compare", "1", SENTENCE, "--kind", "cross", "--out", "x.html"], "picture"),
        (["compare", "1", SENTENCE, "--head", "1"], "--out"),
        (["train"], "--all"),
        (["train", "nonsense"], "not in the catalogue"),
        (["train", "1", "--out", "x.txt"], ".json"),
        (["train", "1", "--steps", "0"], "--steps 0"),
        (["train", "--all"], "--out"),
    ],
)
def test_bad_requests_are_told_in_a_line(
    run: Run, arguments: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    status, _, err = run("mistakes", *arguments)
    assert status == 2
    assert said in err
    assert "Traceback" not in err
    assert not list(tmp_path.iterdir())


def test_compare_says_when_nothing_can_show(run: Run) -> None:
    assert "no key and value heads" in run("mistakes", "compare", "heads-tiled", SENTENCE)[1]
    assert "mistakes train labels-unshifted" in run("mistakes", "compare", "labels-unshifted", SENTENCE)[1]


@pytest.mark.slow
def test_train_gives_a_table_a_figure_and_numbers(run: Run, tmp_path: Path) -> None:
    for ending in ("png", "json"):
        out_file = tmp_path / f"twins.{ending}"
        status, out, _ = run("mistakes", "train", "no-causal-mask", "no-scale", "--steps", "6", "--out", out_file)
        assert status == 0
        assert re.search(r"mistaken from step 1", out)
        assert out_file.stat().st_size > 1000
    told = json.loads(out_file.read_text(encoding="utf-8"))
    assert told["mistakes"] == ["no-causal-mask", "no-scale"]
    assert [one["step"] for one in told["correct"]["history"]][-1] == 6
