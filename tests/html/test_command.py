"""`mlxdecoder attend --out page.html`: every kind of attention at once, the chosen one first."""

from __future__ import annotations

import json

import numpy as np
import pytest

import mlxdecoder
from tests.html.examples import Parsed, decoded

SENTENCE = "The black cat sleeps."


@pytest.mark.parametrize("kind", ["cross", "decoder", "encoder"])
def test_the_page_has_all_kinds_and_begins_with_the_chosen_one(run, tmp_path, kind):
    status, out, _ = run("attend", SENTENCE, "--kind", kind, "--out", tmp_path / "view.html")
    assert (status, out.splitlines()) == (0, ["Le chat noir dort.", str(tmp_path / "view.html")])
    data = Parsed((tmp_path / "view.html").read_text(encoding="utf-8")).data
    names = [each["name"] for each in data["kinds"]]
    assert len(set(names)) == 3
    assert names[0].startswith(kind)


def test_words_may_take_the_place_of_pieces_and_that_is_said(run, tmp_path):
    sentence = "Does she listen to my dog?"
    assert run("attend", sentence, "--words", "--out", tmp_path / "view.html")[0] == 0
    data = Parsed((tmp_path / "view.html").read_text(encoding="utf-8")).data
    assert all("merged into words" in each["about"] for each in data["kinds"])
    assert [key["text"] for key in data["kinds"][0]["keys"]] == ["Does", "she", "listen", "to", "my", "dog?"]
    printed = json.loads(run("attend", sentence, "--words", "--json")[1])
    assert printed["queries"] == ["<s>", "Écoute-t-elle", "mon", "chien", "?"]
    assert "merged into words" in printed["note"]
    run("attend", sentence, "--words", "--out", tmp_path / "numbers.npz")
    with np.load(tmp_path / "numbers.npz") as archive:
        assert "merged into words" in str(archive["map0_note"])
        np.testing.assert_allclose(archive["map0_weights"], printed["weights"], atol=1e-6)


def test_a_notebook_may_show_words(run):
    pages = [mlxdecoder.show(mlxdecoder.load(), SENTENCE, words=words).html() for words in (False, True)]
    assert ["merged into words" in page for page in pages] == [False, True]


def test_the_page_shows_the_numbers_of_the_model(run, tmp_path):
    run("attend", SENTENCE, "--layer", 1, "--out", tmp_path / "view.html")
    _, printed, _ = run("attend", SENTENCE, "--layer", 1, "--json")
    data = Parsed((tmp_path / "view.html").read_text(encoding="utf-8")).data
    assert data["kinds"][0]["layers"] == [1]
    heads = data["variants"][0]["maps"][0]["heads"][0]
    for head, weights in zip(heads, json.loads(printed)["weights"][0], strict=True):
        np.testing.assert_allclose(decoded(head), np.ravel(weights), atol=0.002)
