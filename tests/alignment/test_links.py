"""Links: how they are drawn from weights, written, read and scored."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some

from mlxdecoder.alignment import Gold, links_of, read_gold, score, to_pharaoh
from mlxdecoder.alignment.links import as_links
from mlxdecoder.errors import UserError

links = some.frozensets(some.tuples(some.integers(0, 30), some.integers(0, 30)))


def test_the_error_rate_is_that_of_och_and_ney() -> None:
    """By hand: |A| = 4, |S| = 3; A and S share 2 links, A and P 3."""
    gold = Gold.parse("0-0 1-1 2-2 2?3", "line 1")
    found = score([frozenset({(0, 0), (1, 1), (2, 3), (5, 5)})], [gold])
    assert found.precision == pytest.approx(3 / 4)
    assert found.recall == pytest.approx(2 / 3)
    assert found.error_rate == pytest.approx(1 - (2 + 3) / (4 + 3))


def test_pairs_are_counted_together_not_averaged() -> None:
    """By hand: 1 of 1 and 0 of 3 links are right, of 1 and 1 sure ones."""
    gold = [Gold.parse(line, "") for line in ("0-0", "0-0")]
    found = score([frozenset({(0, 0)}), frozenset({(1, 1), (2, 2), (3, 3)})], gold)
    assert (found.precision, found.recall) == (1 / 4, 1 / 2)
    assert found.error_rate == pytest.approx(1 - 2 / (4 + 2))


@given(links)
def test_what_is_right_has_no_errors_and_where_all_is_sure_the_rate_is_one_minus_f1(one: frozenset) -> None:
    gold = Gold.parse(to_pharaoh(one), "")
    assert (gold.sure, gold.possible) == (one, one)
    if one:
        assert score([one], [gold]).error_rate == pytest.approx(0)
    found = one | {(40, 40)}
    measured = score([found], [gold])
    f1 = 2 * len(one) / (len(found) + len(one))
    assert measured.error_rate == pytest.approx(1 - f1)


def test_where_nothing_is_there_nothing_is_said() -> None:
    measured = score([frozenset()], [Gold.parse("", "")])
    assert all(math.isnan(value) for value in (measured.precision, measured.recall, measured.error_rate))


def test_possible_links_are_written_with_a_question_mark_or_a_p(tmp_path: Path) -> None:
    path = tmp_path / "gold.txt"
    path.write_text("0-0 1?2 3p4\n\n7-8\n", encoding="utf-8")
    first, blank, last = read_gold(path)
    assert first.sure == {(0, 0)} and first.possible == {(0, 0), (1, 2), (3, 4)}
    assert blank == Gold(frozenset(), frozenset()) and last.sure == {(7, 8)}


@pytest.mark.parametrize("wrong", ["0", "0-", "a-b", "-1-0", "0-0,1-1", "1-2-3", "²-1", "0-9999999999"])
def test_other_notations_are_refused_by_line(tmp_path: Path, wrong: str) -> None:
    path = tmp_path / "gold.txt"
    path.write_text(f"0-0\n{wrong}\n", encoding="utf-8")
    with pytest.raises(UserError, match="line 2"):
        read_gold(path)


def test_words_that_look_at_each_other_alone_are_linked() -> None:
    order = [2, 0, 3, 1]
    weights = np.eye(4)[order] * 0.9 + 0.025
    assert as_links(links_of(weights)) == {(source, target) for target, source in enumerate(order)}


def test_a_mark_that_draws_weight_from_everywhere_is_not_linked_to_everything() -> None:
    # The second word gives less to its own word than to the full stop, as all do.
    weights = np.array([[0.6, 0.0, 0.4], [0.0, 0.4, 0.6], [0.0, 0.0, 1.0]])
    assert as_links(links_of(weights)) == {(0, 0), (1, 1), (2, 2)}


def test_several_words_may_belong_to_one() -> None:
    weights = np.array([[0.5, 0.5, 0.0], [0.0, 0.0, 1.0]])
    assert as_links(links_of(weights)) == {(0, 0), (1, 0), (2, 1)}


def test_words_without_weight_are_linked_to_nothing() -> None:
    weights = np.array([[1.0, 0.0], [0.0, 0.0]])
    assert as_links(links_of(weights)) == {(0, 0)}
    assert not links_of(np.full((2, 2), np.nan)).any()


@given(some.integers(1, 8), some.integers(1, 8), some.integers(0, 99))
def test_the_best_of_all_is_linked_and_order_plays_no_part(targets: int, sources: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    weights = random.dirichlet(np.ones(sources), targets)
    linked = links_of(weights)
    assert linked.shape == weights.shape and linked.any()
    rows, columns = random.permutation(targets), random.permutation(sources)
    np.testing.assert_array_equal(links_of(weights[rows][:, columns]), linked[rows][:, columns])
