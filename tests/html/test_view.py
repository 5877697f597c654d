"""The page as text: whole, harmless whatever the tokens are, true to the numbers, and small enough."""

from __future__ import annotations

import base64
import hashlib
import html
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from mlxdecoder.errors import UserError
from mlxdecoder.heads import Grouping
from mlxdecoder.html import AttentionView
from mlxdecoder.html.colours import DIFFERENCES, WEIGHTS
from mlxdecoder.html.content import content
from mlxdecoder.maps import AttentionMap
from tests.html.examples import ATTACK, Parsed, all_kinds, attention, decoded, long_maps, of_weights

TABLES = array_shapes(min_dims=2, max_dims=2, max_side=7)
SHARES = arrays(np.float32, TABLES, elements=st.floats(0, 1, width=32))
ANYTHING = arrays(np.float32, TABLES, elements=st.floats(width=32, allow_subnormal=False))
TEXTS = st.text(st.characters(codec=None), max_size=12) | st.sampled_from([ATTACK, "<!--", "]]>", "\ud800", "\0", "\r"])


def shown(map: AttentionMap) -> dict[str, object]:
    """The only head of the only map of a page."""
    data = Parsed(AttentionView([map]).html()).data
    return data["variants"][0]["maps"][0]["heads"][0][0]


@given(SHARES)
def test_weights_are_within_two_thousandths_of_the_truth(weights: np.ndarray) -> None:
    np.testing.assert_allclose(decoded(shown(of_weights(weights))), weights.ravel(), atol=0.002, rtol=0)


@given(ANYTHING)
def test_what_no_weight_should_be_is_kept_exactly(weights: np.ndarray) -> None:
    values = decoded(shown(of_weights(weights))).astype(np.float32)
    strange = ~((weights >= 0) & (weights <= 1)).ravel()
    np.testing.assert_array_equal(values[strange], weights.ravel()[strange])
    np.testing.assert_allclose(values[~strange], weights.ravel()[~strange], atol=0.002, rtol=0)


def test_every_head_of_every_layer_and_kind_is_there() -> None:
    maps = all_kinds()
    data = Parsed(AttentionView(maps).html()).data
    for map, there in zip(maps, data["variants"][0]["maps"], strict=True):
        for layer, head in np.ndindex(2, 4):
            values = decoded(there["heads"][layer][head])
            np.testing.assert_allclose(values, map.weights[layer, head].ravel(), atol=0.002, rtol=0)


@given(TEXTS, TEXTS, TEXTS, TEXTS)
def test_no_text_becomes_a_part_of_the_page(title: str, note: str, token: str, name: str) -> None:
    def page(title: str, note: str, token: str, name: str) -> Parsed:
        maps = [of_weights(np.eye(2), None, [token, "b"])]
        return Parsed(AttentionView({f"{name} ": maps, "other": maps}, title, note).html())

    found, harmless = page(title, note, token, name), page("t", "n", "a", "m")
    assert found.tags == harmless.tags
    assert [found.texts[part] for part in ("style", "module")] == [harmless.texts[part] for part in ("style", "module")]
    assert found.data["variants"][0]["maps"] == harmless.data["variants"][0]["maps"]


@pytest.mark.parametrize(
    ("token", "text"),
    [
        ("▁the", "the"),
        ("", "∅"),
        ("\u202e", "U+202E"),
        ("a\u200bb", "aU+200Bb"),
        ("\u3164", "U+3164"),
        ("\u200d", "U+200D"),
        ("👩\u200d🔬", "👩\u200d🔬"),
        ("\ud800", "U+D800"),
        (" x", "␣x"),
        ("你好", "你好"),
        ("e\u0301", "e\u0301"),
    ],
)
def test_every_token_can_be_seen(token: str, text: str) -> None:
    data = Parsed(AttentionView([of_weights([[1.0]], None, [token])]).html()).data
    assert data["kinds"][0]["keys"][0]["text"] == text


def test_long_tokens_are_short_on_the_axes_and_whole_when_asked_for() -> None:
    data = Parsed(AttentionView([of_weights([[1.0]], None, ["a" * 90])]).html()).data
    assert data["kinds"][0]["keys"][0]["text"] == "a" * 90
    assert len(data["kinds"][0]["keys"][0]["label"]) <= 16


def test_the_page_asks_nobody_for_anything() -> None:
    page = AttentionView({"correct": all_kinds(), "mistaken": all_kinds(leaks=True)}, "Title", "Note").html()
    assert not re.search(r"https?:|//[a-z]|url\(|@import|\bimport\b|fetch|XMLHttp|WebSocket|eval\(", page)
    names = {name for _, attributes in Parsed(page).tags for name, _ in attributes}
    assert not names & {"src", "href", "action", "data", "srcdoc"}
    assert not [name for name in names if name.startswith("on")]


def test_only_the_pages_own_script_and_style_may_act() -> None:
    parsed = Parsed(AttentionView([attention()]).html())
    (policy,) = [
        dict(each)["content"] for tag, each in parsed.tags if ("http-equiv", "Content-Security-Policy") in each
    ]
    for directive, part in (("style-src", "style"), ("script-src", "module")):
        digest = base64.b64encode(hashlib.sha256(parsed.texts[part].encode()).digest()).decode()
        assert f"{directive} 'sha256-{digest}'" in policy
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy


def test_two_hundred_tokens_fit_into_four_megabytes() -> None:
    maps = long_maps()
    assert len(AttentionView(maps).html()) < 4_000_000
    assert len(AttentionView({"correct": maps, "mistaken": maps}).html()) < 4_500_000


def test_rows_are_flagged_where_they_leak_or_have_a_wrong_sum() -> None:
    weights, mask = [[0.5, 0.5, 0.0], [0.2, 0.2, 0.0], [0.0, 0.0, 1.0]], np.tri(3, dtype=bool)
    head = shown(of_weights(weights, mask))
    assert (head["leaking"], head["wrong"]) == ([0], [1])
    np.testing.assert_allclose(head["sums"], [1.0, 0.4, 1.0], atol=1e-6)
    assert [words[0] for words in head["findings"]] == ["◂", "○"]
    assert "1 of 3 rows" in head["findings"][0] and "0.5" in head["findings"][0]


def test_what_is_not_finite_is_said() -> None:
    head = shown(of_weights([[np.nan, 1.0], [np.inf, 0.0]], np.ones((2, 2), bool)))
    assert head["sums"] == ["NaN", "Infinity"]
    assert head["wrong"] == [0, 1]
    assert "▨ 2 of 4 cells not finite" in head["findings"]


def test_a_right_map_has_no_findings() -> None:
    assert shown(attention())["findings"] == []


def test_sinks_and_shared_keys_are_said_beside_the_findings() -> None:
    weights = np.full((1, 4, 5, 5), 0.05, np.float32)
    weights[..., 0] = 0.8
    grouped = AttentionMap("cross", weights, None, list("abcde"), ["<s>", "b", "c", "d", "e"], grouping=Grouping(4, 2))
    head = content({"": [grouped]})["variants"][0]["maps"][0]["heads"][0][3]
    assert head["remarks"] == [
        "▽ sink: ‘<s>’ (key 0) takes 80% of the weight on average",
        "Key/value head 1 of 2, shared by heads 2–3",
    ]
    assert head["findings"] == []
    assert shown(attention())["remarks"] == []


def test_the_scale_of_differences_is_one_for_all() -> None:
    first, second = of_weights([[0.5, 0.5]]), of_weights([[0.2, 0.8]])
    assert Parsed(AttentionView({"a": [first], "b": [second]}).html()).data["reach"] == pytest.approx(0.3, abs=1e-3)
    assert Parsed(AttentionView({"a": [first], "b": [first]}).html()).data["reach"] == 1
    wild = of_weights([[np.nan, 1e9]])
    assert Parsed(AttentionView({"a": [first], "b": [wild]}).html()).data["reach"] == 1


@pytest.mark.parametrize("stops", [WEIGHTS, DIFFERENCES])
def test_brighter_always_means_more(stops: list[str]) -> None:
    parts = np.array([[int(stop[at : at + 2], 16) for at in (0, 2, 4)] for stop in stops]) / 255
    linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    assert (np.diff(linear @ (0.2126, 0.7152, 0.0722)) > 0).all()


@pytest.mark.parametrize(("name", "stops"), [("viridis", WEIGHTS), ("cividis", DIFFERENCES)])
def test_colours_are_those_of_the_figures(name: str, stops: list[str]) -> None:
    matplotlib = pytest.importorskip("matplotlib")
    wanted = matplotlib.colormaps[name](np.linspace(0, 1, len(stops)))
    assert [matplotlib.colors.to_hex(colour)[1:] for colour in wanted] == stops


def folded(page: str) -> str:
    """A page as a notebook gets it: with the explanation closed."""
    return page.replace('<details class="guide" open>', '<details class="guide">')


def test_a_notebook_gets_each_view_as_a_page_of_its_own() -> None:
    views = [AttentionView([attention()], 'A "title"'), AttentionView([attention("cross")])]
    for view in views:
        ((tag, attributes), closing) = Parsed(view._repr_html_()).tags
        assert (tag, closing[0]) == ("iframe", "/iframe")
        assert dict(attributes)["srcdoc"] == folded(view.html())
        assert dict(attributes)["sandbox"] == "allow-scripts"


def test_a_map_shows_itself_in_a_notebook() -> None:
    map = attention("cross")
    assert html.unescape(map._repr_html_()).count(folded(AttentionView([map]).html())) == 1


def test_higher_maps_get_more_room_within_limits() -> None:
    views = [AttentionView([of_weights(np.eye(size))]) for size in (1, 8, 40)]
    styles = [dict(Parsed(view._repr_html_()).tags[0][1])["style"] or "" for view in views]
    heights = [int(re.findall(r"height: (\d+)px", style)[0]) for style in styles]
    assert heights == sorted(heights)
    assert heights[0] >= 500 and heights[-1] <= 1300


def test_a_page_needs_no_matplotlib() -> None:
    code = "import sys, mlxdecoder.html; print('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.split() == ["False"]


def test_saving_writes_the_whole_page(tmp_path: Path) -> None:
    view = AttentionView([attention()], "Ünïcode – 你好")
    view.save(tmp_path / "new" / "view.html")
    assert (tmp_path / "new" / "view.html").read_text(encoding="utf-8") == view.html()
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["view.html"]


@pytest.mark.parametrize("name", ["view.png", "view", "view.html.gz"])
def test_another_ending_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"must end in \.html"):
        AttentionView([attention()]).save(tmp_path / name)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("variants", "message"),
    [
        ([], "at least one"),
        ({}, "variants: 0 found"),
        ({"a": [attention()], "b": []}, r"variants\['b'\]"),
        ({name: [attention()] for name in "abc"}, "variants: 3 found; one or two"),
        (attention(), "a list of AttentionMap"),
        (["x"], "a list of AttentionMap"),
        ([attention(), attention()], "each may be there once"),
        ({"a": [attention()], "b": [attention("cross")]}, "differ in kinds, tokens"),
        ({"a": [attention(heads=2)], "b": [attention()]}, "differ in kinds, tokens"),
        ([of_weights(np.zeros((3000, 3000)))], "select"),
    ],
)
def test_what_cannot_be_shown_is_refused(variants: object, message: str) -> None:
    with pytest.raises(UserError, match=message):
        AttentionView(variants)  # type: ignore[arg-type]
