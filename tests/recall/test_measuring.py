"""What is read off functions whose reach is known."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mlxdecoder.errors import UserError
from mlxdecoder.recall import TASKS, Cell, Recall, default_lengths, measure, measure_function, measuring
from mlxdecoder.recall.measuring import one_by_one
from mlxdecoder.recall.tasks import distances
from tests.builders import ids, numbers, small
from tests.recall.builders import config, guesses, looks_up

LENGTHS = [8, 16, 32]


def of(cells: list[tuple[int, int, float]], threshold: float = 0.9, refused: dict[int, str] | None = None) -> Recall:
    """A recall of one task, from lengths, distances and accuracies."""
    return Recall(16, tuple(Cell("needle", *cell) for cell in cells), refused or {}, threshold)


class TestKnownFunctions:
    def test_one_that_looks_everything_up_is_right_everywhere(self) -> None:
        found = measure_function(looks_up, config(), LENGTHS, rows=4)
        asked = {(cell.task, cell.length, cell.distance) for cell in found.cells}
        assert asked == {(task, n, d) for task in TASKS for n in LENGTHS for d in distances(task, n)}
        assert {cell.accuracy for cell in found.cells} == {1.0}
        assert found.effective_length() == 32
        assert found.configured == 16

    @pytest.mark.parametrize("reach", [4, 8, 14, 20])
    def test_one_that_looks_back_so_far_is_right_so_far(self, reach: int) -> None:
        found = measure_function(lambda tokens: looks_up(tokens, reach), config(), LENGTHS, rows=4)
        for cell in found.cells:
            assert cell.accuracy == (cell.distance <= reach)
        for task in TASKS:
            reached = [n for n in LENGTHS if max(distances(task, n)) <= reach]
            assert found.effective_length(task) == max(reached, default=0)
        assert found.effective_length() == max([n for n in LENGTHS if n - 2 <= reach], default=0)

    def test_one_that_guesses_is_as_good_as_chance(self) -> None:
        found = measure_function(guesses, config(), LENGTHS, rows=32)
        asked = [32 * (cell.distance - 1 if cell.task == "copy" else 1) for cell in found.cells]
        right = sum(cell.accuracy * n for cell, n in zip(found.cells, asked, strict=True))
        assert abs(right / sum(asked) - 1 / 80) < 5 * (1 / 80 / sum(asked)) ** 0.5
        assert found.effective_length() == 0

    def test_lengths_that_are_refused_are_noted_with_the_reason(self) -> None:
        def read(tokens: np.ndarray) -> np.ndarray:
            if tokens.shape[1] > 16:
                raise UserError("too long for me")
            return looks_up(tokens)

        found = measure_function(read, config(), [8, 16, 20, 24], rows=2)
        assert found.refused == {20: "too long for me", 24: "too long for me"}
        assert {cell.length for cell in found.cells} == {8, 16}
        assert found.lengths == [8, 16, 20, 24]
        assert (found.effective_length(), found.worst(20)) == (16, 0.0)

    def test_lengths_for_which_there_are_too_few_words_are_noted_and_cost_no_others(self) -> None:
        found = measure_function(looks_up, config(), [8, 16, 400], rows=2)
        assert list(found.refused) == [400]
        assert "vocabulary" in found.refused[400]
        assert {cell.length for cell in found.cells if cell.accuracy == 1} >= {8, 16}

    def test_the_same_seed_asks_the_same(self) -> None:
        seen: list[list[np.ndarray]] = []
        for seed in (3, 3, 4):
            seen.append([])
            measure_function(lambda tokens: seen[-1].append(tokens) or guesses(tokens), config(), [16], seed=seed)
        assert all(map(np.array_equal, seen[0], seen[1]))
        assert not any(map(np.array_equal, seen[0], seen[2]))

    def test_passes_are_no_larger_than_memory_allows(self, monkeypatch: pytest.MonkeyPatch) -> None:
        whole = measure_function(looks_up, config(), [16], rows=7)
        monkeypatch.setattr(measuring, "NUMBERS_AT_ONCE", 3 * 16 * 80)
        sizes = set()
        found = measure_function(lambda tokens: sizes.add(len(tokens)) or looks_up(tokens), config(), [16], rows=7)
        assert found == whole
        assert sizes == {3, 1}

    def test_rows_whose_scores_would_fill_the_memory_are_refused(self, monkeypatch: pytest.MonkeyPatch) -> None:
        model = small("language_model", target_vocab=80, n_heads=2)
        monkeypatch.setattr(measuring, "MOST_SCORES", 2 * 16**2)
        found = measure(model, [8, 16, 20], rows=1)
        assert list(found.refused) == [20]
        assert f"{2 * 20**2 * 4:,} bytes" in found.refused[20]
        assert {cell.length for cell in found.cells} == {8, 16}

    def test_progress_names_what_comes(self) -> None:
        told: list[tuple[str, int]] = []
        measure_function(guesses, config(), [8], rows=1, progress=lambda *at: told.append(at))
        assert told == [(task, 8) for task in TASKS]


class TestEffectiveLength:
    def test_ends_before_the_first_length_that_fails_at_any_distance(self) -> None:
        found = of([(8, 4, 1.0), (16, 4, 1.0), (16, 14, 0.91), (32, 4, 0.89), (32, 30, 1.0), (64, 4, 1.0)])
        assert found.effective_length() == 16
        assert found.worst(32) == 0.89

    def test_a_stricter_threshold_is_shorter(self) -> None:
        cells = [(8, 4, 1.0), (16, 4, 0.95), (32, 4, 0.9)]
        assert [of(cells, threshold).effective_length() for threshold in (0.9, 0.92, 0.99)] == [32, 16, 8]

    def test_nothing_at_all(self) -> None:
        assert of([(8, 4, 0.2), (16, 4, 1.0)]).effective_length() == 0

    @settings(max_examples=50)
    @given(st.lists(st.lists(st.floats(0, 1), min_size=1, max_size=3), min_size=1, max_size=5), st.floats(0.1, 1))
    def test_everything_up_to_it_passes_and_what_follows_does_not(
        self, curves: list[list[float]], threshold: float
    ) -> None:
        cells = [(8 + i, d, value) for i, curve in enumerate(curves) for d, value in enumerate(curve)]
        good = of(cells, threshold).effective_length()
        for i, curve in enumerate(curves):
            if 8 + i <= good:
                assert min(curve) >= threshold
            elif 8 + i == good + 1:
                assert min(curve) < threshold

    def test_of_one_task_alone(self) -> None:
        cells = (Cell("copy", 8, 4, 1.0), Cell("copy", 16, 4, 1.0), Cell("needle", 8, 4, 1.0))
        found = Recall(16, (*cells, Cell("needle", 16, 4, 0.1)))
        assert [found.effective_length(task) for task in ("copy", "needle", None)] == [16, 8, 8]


@settings(max_examples=20)
@given(
    st.lists(st.tuples(st.integers(8, 99), st.integers(4, 9), st.floats(0, 1)), max_size=5, unique_by=lambda c: c[:2]),
    st.booleans(),
)
def test_json_both_ways(cells: list[tuple[int, int, float]], refuses: bool) -> None:
    found = of(cells, refused={128: "too long"} if refuses else {})
    values = json.loads(json.dumps(found.to_dict()))
    again = Recall.from_dict(values)
    assert sorted(again.cells, key=str) == sorted(found.cells, key=str)
    assert replace(again, cells=()) == replace(found, cells=())
    assert values["effective_length"] == found.effective_length()


class TestModels:
    def test_a_learned_table_is_refused_past_its_end(self) -> None:
        found = measure(small(positions="learned", max_length=16), [8, 16, 20], rows=2)
        assert list(found.refused) == [20]
        assert "max_length = 16" in found.refused[20]

    def test_default_lengths_lie_around_the_configured_one(self) -> None:
        assert default_lengths(64) == [16, 32, 64, 96, 128, 256]
        assert default_lengths(4) == [8, 16]
        found = measure(small(positions="alibi", max_length=8), tasks=["copy"], rows=1)
        assert found.lengths == [8, 12, 16, 32]

    def test_dropout_is_off_while_asking_and_on_again(self) -> None:
        model = small(positions="alibi", dropout=0.5)
        model.train()
        assert measure(model, [16], rows=3) == measure(model, [16], rows=3)
        assert model.training

    def test_another_kind_of_model_is_refused(self) -> None:
        with pytest.raises(UserError, match="Translator"):
            measure(small("translator"), [16])


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"lengths": []}, "lengths"),
        ({"lengths": [16, 7]}, "lengths: 7"),
        ({"tasks": []}, "tasks"),
        ({"tasks": ["haystack"]}, "tasks: 'haystack'.*associative, copy, needle"),
        ({"rows": 0}, "rows"),
        ({"threshold": 0.0}, "threshold"),
        ({"threshold": 1.5}, "threshold"),
    ],
)
def test_what_makes_no_sense_is_named(options: dict[str, Any], named: str) -> None:
    with pytest.raises(UserError, match=named):
        measure_function(guesses, config(), **{"lengths": [16], **options})


def test_one_by_one_reads_as_a_whole_pass_does() -> None:
    model = small(positions="rotary")
    tokens = ids(2, 9)
    np.testing.assert_allclose(one_by_one(model)(tokens), numbers(model(tokens)), atol=1e-5)
