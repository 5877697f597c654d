"""`mlxdecoder attend --out page.html`: every kind of attention at once, the chosen one first."""

from __future__ import annotations

import json

import numpy as np
import pytest

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


def test_the_page_shows_the_numbers_of_the_model(run, tmp_path):
    run("attend", SENTENCE, "--layer", 1, "--out", tmp_path / "view.html")
    _, printed, _ = run("attend", SENTENCE, "--layer", 1, "--json")
    data = Parsed((tmp_path / "view.html").read_text(encoding="utf-8")).data
    assert data["kinds"][0]["layers"] == [1]
    heads = data["variants"][0]["maps"][0]["heads"][0]
    for head, weights in zip(heads, json.loads(printed)["weights"][0], strict=True):
        np.testing.assert_allclose(decoded(head), np.ravel(weights), atol=0.002)
