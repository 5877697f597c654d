"""The page in a browser: what is painted, said and reached is what NumPy says and the keyboard can reach."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("selenium", reason="selenium is not installed: pip install 'mlxdecoder[dev]'")

from selenium import webdriver
from selenium.webdriver.common.keys import Keys

from mlxdecoder.html import AttentionView
from mlxdecoder.html.colours import DIFFERENCES, WEIGHTS
from mlxdecoder.maps import AttentionMap
from tests.html.browser import Page, start
from tests.html.examples import ATTACK, SOURCE, TARGET, all_kinds, attention, long_maps, of_weights


@pytest.fixture(scope="module")
def chrome(tmp_path_factory: pytest.TempPathFactory) -> Iterator[webdriver.Chrome]:
    yield from start(tmp_path_factory.mktemp("profile"))


@pytest.fixture
def page(chrome: webdriver.Chrome, tmp_path: Path) -> Iterator[Page]:
    page = Page(chrome, tmp_path)
    yield page
    assert page.complaints() == []
    page.emulate()


def coloured(values: np.ndarray, stops: list[str], low: float, high: float) -> np.ndarray:
    parts = np.array([[int(stop[at : at + 2], 16) for at in (0, 2, 4)] for stop in stops])
    places = np.clip((values - low) / (high - low), 0, 1) * (len(stops) - 1)
    return np.stack([np.interp(places, np.arange(len(stops)), part) for part in parts.T], axis=-1)


def assert_painted(pixels: np.ndarray, values: np.ndarray, stops: list[str] = WEIGHTS, low: float = 0, high: float = 1):
    np.testing.assert_allclose(pixels[..., :3], coloured(values, stops, low, high), atol=3)
    assert (pixels[..., 3] == 255).all()


def spoken(readout: str) -> list[float]:
    """The numbers of the first line, with any sign of minus."""
    line = readout.splitlines()[0].rpartition("with weight")[2]
    return [float(number) for number in re.findall(r"[-+]?\d+\.\d+", line.replace("−", "-"))]


def test_the_first_look_explains_itself(page: Page) -> None:
    page.open(AttentionView(all_kinds(), "A title", "A note"))
    guide = page.text(".guide")
    assert all(word in guide for word in ("A row is a query", "A column is a key", "The outline"))
    assert (page.text("h1"), page.text(".note")) == ("A title", "A note")
    assert page.text("#axes") == "rows: queries · columns: keys"
    assert page.readout.startswith("For example: query ‘")


def test_every_kind_layer_and_head_shows_its_own_numbers(page: Page) -> None:
    maps = all_kinds()
    page.open(AttentionView(maps))
    for place, map in enumerate(maps):
        page.choose(kind=place)
        for layer, head in ((0, 0), (1, 0), (1, 3), (0, 2)):
            page.choose(layer=layer, head=head)
            assert_painted(page.pixels(), map.weights[layer, head])
            assert f"layer {layer}, head {head}" in page.text("#heading")
    assert len(page.all(".plot")) == 1


def test_numbers_of_chosen_layers_and_heads_are_those_of_the_model(page: Page) -> None:
    page.open(AttentionView([attention(layers=2, heads=4).select([1], [2, 3])]))
    assert page.text("#heading") == "decoder self-attention, layer 1, head 2"
    assert [option.text for option in page.all("#head option")] == ["2", "3"]


def test_the_overview_shows_every_head_and_enlarges_one(page: Page) -> None:
    map = attention(layers=2, heads=4)
    page.open(AttentionView([map]))
    assert len(page.all(".thumb")) == 8
    page.all(".thumb")[6].click()
    assert_painted(page.pixels(), map.weights[1, 2])
    page.keys(Keys.ARROW_UP)
    page.keys(Keys.ARROW_RIGHT)
    assert_painted(page.pixels(), map.weights[0, 3])
    assert [thumb.get_attribute("aria-pressed") for thumb in page.all(".thumb")].index("true") == 3
    assert page.find("#head").get_property("selectedIndex") == 3


def test_pointing_at_a_cell_says_its_value(page: Page) -> None:
    map = attention("cross")
    page.open(AttentionView([map]))
    for t, s in ((0, 0), (2, 1), (6, 4)):
        page.hover(t, s)
        query, key = TARGET[t].lstrip("▁"), SOURCE[s].lstrip("▁")
        assert page.readout.startswith(f"query ‘{query}’ looks at key ‘{key}’ with weight")
        assert spoken(page.readout) == pytest.approx([map.weights[0, 0, t, s]], abs=0.001)
        assert f"row {t}, column {s} · row sum 1.000" in page.readout
        assert page.pointed() == [(t, s)]


def test_arrow_keys_go_from_cell_to_cell_and_stay_inside(page: Page) -> None:
    map = attention("cross")
    page.open(AttentionView([map]))
    page.run("document.getElementById('plots').focus()")
    page.keys(Keys.CONTROL, Keys.HOME)
    assert page.pointed() == [(0, 0)]
    for keys, cell in (
        ([Keys.ARROW_LEFT, Keys.ARROW_UP], (0, 0)),
        ([Keys.ARROW_DOWN, Keys.ARROW_DOWN, Keys.ARROW_RIGHT], (2, 1)),
        ([Keys.END], (2, 4)),
        ([Keys.PAGE_DOWN], (6, 4)),
        ([Keys.ARROW_RIGHT, Keys.ARROW_DOWN], (6, 4)),
        ([Keys.HOME, Keys.ARROW_UP], (5, 0)),
    ):
        for key in keys:
            page.keys(key)
        assert page.pointed() == [cell]
        assert spoken(page.readout) == pytest.approx([map.weights[0, 0, *cell]], abs=0.001)
        assert page.find("#readout").get_attribute("aria-live") == "polite"


def test_the_tab_key_reaches_everything_in_order(page: Page) -> None:
    page.open(AttentionView(all_kinds()))
    reached = []
    for _ in range(6):
        page.keys(Keys.TAB)
        reached.append(
            page.run("const e = document.activeElement; return e.id || e.name || e.className || e.localName")
        )
        outline = page.run("""const e = document.activeElement, next = e.name === 'kind' ? e.nextSibling : e;
            return getComputedStyle(next).outlineStyle""")
        assert outline == "solid", reached
    assert reached == ["summary", "kind", "layer", "head", "thumb", "plots"]


def test_kinds_can_be_chosen_by_arrow_keys(page: Page) -> None:
    maps = all_kinds()
    page.open(AttentionView(maps))
    for key in (Keys.TAB, Keys.TAB, Keys.ARROW_RIGHT):
        page.keys(key)
    assert_painted(page.pixels(), maps[1].weights[0, 0])


def test_weight_outside_the_mask_is_painted_outlined_and_flagged(page: Page) -> None:
    map = attention(leaks=True)
    page.open(AttentionView([map]))
    assert_painted(page.pixels(), map.weights[0, 0])
    flags = [text for text in page.all(".plot text") if text.text == "◂"]
    assert len(flags) == (map.mass_outside()[0, 0] > 1e-3).sum()
    assert "outside the intended mask" in page.text("figcaption")
    page.hover(1, 4)
    assert "(outside the intended mask)" in page.readout
    page.hover(4, 1)
    assert "(outside the intended mask)" not in page.readout


def test_the_outline_is_the_border_of_the_intended_mask(page: Page) -> None:
    mask = np.random.default_rng(1).random((6, 5)) < 0.5
    page.open(AttentionView([of_weights(np.full((6, 5), 0.2), mask)]))
    padded = np.pad(mask, 1)
    across = {((s, t), (s + 1, t)) for t, s in zip(*np.nonzero(padded[:-1, 1:-1] != padded[1:, 1:-1]), strict=True)}
    down = {((s, t), (s, t + 1)) for t, s in zip(*np.nonzero(padded[1:-1, :-1] != padded[1:-1, 1:]), strict=True)}
    path = page.find(".plot path.line").get_attribute("d") or ""
    drawn = set()
    for x, y, way, end in re.findall(r"M(\d+) (\d+)([HV])(\d+)", path):
        start, fixed = (int(x), int(y)) if way == "H" else (int(y), int(x))
        for at in range(start, int(end)):
            drawn.add(((at, fixed), (at + 1, fixed)) if way == "H" else ((fixed, at), (fixed, at + 1)))
    assert drawn == across | down


def test_where_everything_is_allowed_nothing_is_outlined(page: Page) -> None:
    page.open(AttentionView([attention("cross")]))
    assert page.all(".plot path") == []
    page.open(AttentionView([of_weights([[0.5, 0.5]])]))
    assert "intended mask is not known" in page.text("figcaption")


def test_wrong_row_sums_stand_beside_their_rows(page: Page) -> None:
    page.open(AttentionView([of_weights([[0.5, 0.5], [0.25, 0.5], [1.0, 0.0]], np.ones((3, 2), bool))]))
    assert [text.text for text in page.all(".plot .sum")] == ["sum", "1.00", "0.75", "1.00"]
    assert [text.text for text in page.all(".plot .sum.alarm")] == ["0.75"]


def test_what_is_not_finite_is_hatched_and_said(page: Page) -> None:
    weights = [[np.nan, 0.5, 1.5], [np.inf, -np.inf, -0.25]]
    page.open(AttentionView([of_weights(weights)]))
    np.testing.assert_array_equal(page.pixels()[..., 3], np.where(np.isfinite(weights), 255, 0))
    assert "gradient" in page.find(".plot canvas").value_of_css_property("background-image")
    said = {(0, 0): "NaN, which is not finite", (1, 0): "∞, which is not finite", (1, 1): "−∞, which is not finite"}
    for (t, s), words in {**said, (0, 2): "1.500", (1, 2): "−0.250"}.items():
        page.hover(t, s)
        assert f"with weight {words}" in page.readout
    assert "▨ 3 of 6 cells not finite" in page.text("figcaption")


def test_two_models_stand_side_by_side_on_one_scale(page: Page) -> None:
    correct, mistaken = all_kinds(), all_kinds(leaks=True, seed=5)
    page.open(AttentionView({"correct": correct, "mistaken": mistaken}))
    page.choose(kind=1, layer=1, head=3)
    first, second = correct[1].weights[1, 3], mistaken[1].weights[1, 3]
    reach = max(np.abs(b.weights - a.weights).max() for a, b in zip(correct, mistaken, strict=True))
    assert_painted(page.pixels(0), first)
    assert_painted(page.pixels(1), second)
    assert_painted(page.pixels(2), second - first, DIFFERENCES, -reach, reach)
    assert [caption.text.splitlines()[0] for caption in page.all("figcaption")] == ["correct", "mistaken", "difference"]
    tops = {canvas.rect["y"] for canvas in page.all(".plot canvas")}
    assert len(tops) == 1
    ends = [[end.text for end in bar.find_elements("css selector", ".ends span")] for bar in page.all(".scale")]
    assert ends[0] == ends[1] == ["0", "0.5", "1"]
    assert [float(end.replace("−", "-")) for end in ends[2]] == pytest.approx([-reach, 0, reach], abs=0.001)


def test_the_same_cell_is_marked_in_all_panels(page: Page) -> None:
    correct, mistaken = attention(), attention(leaks=True, seed=5)
    page.open(AttentionView({"correct": [correct], "mistaken": [mistaken]}))
    for panel, (t, s) in enumerate(((2, 5), (3, 1), (6, 6))):
        page.hover(t, s, panel)
        assert page.pointed() == [(t, s)] * 3
        first, second = correct.weights[0, 0, t, s], mistaken.weights[0, 0, t, s]
        assert spoken(page.readout) == pytest.approx([first, second, second - first], abs=0.001)
        assert ("outside the intended mask" in page.readout.splitlines()[0]) == (s > t)


def test_two_hundred_tokens_in_three_kinds(page: Page) -> None:
    maps = long_maps()
    page.open(AttentionView(maps))
    requests = page.requests()
    assert [url.rpartition("/")[2] for url in requests] == ["view.html"]
    page.choose(kind=2, layer=1, head=3)
    assert_painted(page.pixels(), maps[2].weights[1, 3])
    page.hover(150, 73)
    t, s = page.pointed()[0]
    assert abs(t - 150) <= 1 and abs(s - 73) <= 1
    assert f"query ‘token{t}’ looks at key ‘token{s}’" in page.readout
    assert spoken(page.readout) == pytest.approx([maps[2].weights[1, 3, t, s]], abs=0.001)
    assert len(page.all(".plot svg *")) < 1000
    boxes = sorted(text.rect["y"] for text in page.all(".plot text[text-anchor=end]:not(.cursor text)"))
    assert np.diff(boxes).min() >= 9


def test_hostile_tokens_and_titles_are_only_text(page: Page) -> None:
    map = of_weights([[0.5, 0.5], [1.0, 0.0]], None, [ATTACK, "</title><svg onload='window.attacked = 1'>"])
    page.open(AttentionView({ATTACK: [map], "b": [map]}, ATTACK, ATTACK))
    page.hover(0, 0)
    assert f"query ‘{ATTACK}’" in page.readout
    assert page.text("h1") == ATTACK
    assert page.all("img") == []
    assert page.run("return window.attacked ?? null") is None


def test_any_script_keeps_its_order_and_place(page: Page) -> None:
    tokens = ["مرحبا", "שלום", "你好", "👩\u200d🔬", "e\u0301", "\u202e"]
    page.open(AttentionView([of_weights(np.eye(6), None, tokens)]))
    page.hover(0, 1)
    assert [word.text for word in page.all("#readout bdi")] == ["‘مرحبا’", "‘שלום’"]
    page.hover(5, 3)
    assert [word.text for word in page.all("#readout bdi")] == ["‘U+202E’", "‘👩\u200d🔬’"]


def test_views_in_one_notebook_do_not_meet(page: Page) -> None:
    first, second = attention(heads=2), attention("cross", heads=2)
    cells = AttentionView([first])._repr_html_() + second._repr_html_()
    (page.folder / "notebook.html").write_text(f"<!doctype html><meta charset=utf-8>{cells}", encoding="utf-8")
    page.visit(page.folder / "notebook.html")
    frames = page.all("iframe")
    for frame, map, head in ((frames[0], first, 1), (frames[1], second, 0), (frames[0], first, 1)):
        page.chrome.switch_to.frame(frame)
        page.choose(head=head)
        assert_painted(page.pixels(), map.weights[0, head])
        page.chrome.switch_to.default_content()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_words_stand_out_from_their_ground(page: Page, scheme: str) -> None:
    page.emulate(prefers_color_scheme=scheme)
    page.open(AttentionView([attention(leaks=True)], "Title", "Note"))
    ground = luminance(page.find("html").value_of_css_property("background-color"))
    assert (ground < 0.05) == (scheme == "dark")
    for selector in ("h1", ".note", "#heading", "#axes", "#readout", "figcaption .alarm", "label", "footer"):
        ink = luminance(page.find(selector).value_of_css_property("color"))
        assert (max(ink, ground) + 0.05) / (min(ink, ground) + 0.05) >= 4.5, selector


def luminance(colour: str) -> float:
    parts = np.array([float(part) for part in re.findall(r"[\d.]+", colour)[:3]]) / 255
    return float(np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4) @ (0.2126, 0.7152, 0.0722))


def test_a_narrow_window_cuts_nothing_off(page: Page) -> None:
    page.chrome.set_window_size(520, 900)
    page.open(AttentionView({"correct": [attention()], "mistaken": [attention(leaks=True)]}))
    widths = page.run("return [document.documentElement.scrollWidth, document.documentElement.clientWidth]")
    page.chrome.set_window_size(1200, 1000)
    assert widths[0] <= widths[1]


def test_one_cell_is_enough(page: Page) -> None:
    page.open(AttentionView([AttentionMap("encoder", np.ones((1, 1, 1, 1)), None, ["a"], ["b"])]))
    page.hover(0, 0)
    assert page.readout.startswith("query ‘a’ looks at key ‘b’ with weight 1.000")
    assert not page.find("#overview").is_displayed()
