"""The contracts on batches: right triples raise no alarm, wrong ones are found and told apart."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from mlxdecoder.contracts.on_batches import batches_findings
from mlxdecoder.contracts.ours import BatchesFace
from mlxdecoder.errors import UserError
from mlxdecoder.recipe import RIGHT, Recipe
from tests.builders import small

BEGIN, END, PAD, IGNORE = 1, 2, 0, -100
MARKS: dict[str, Any] = {"begin": BEGIN, "end": END, "pad": PAD}
OURS: dict[str, Any] = {"begin": 2, "end": 3, "pad": 0}
Sentences = list[list[int]]


def padded(rows: Sentences, value: int = PAD, left: bool = False) -> np.ndarray:
    width = max(map(len, rows))
    fill = [[value] * (width - len(row)) for row in rows]
    return np.array([[*gap, *row] if left else [*row, *gap] for gap, row in zip(fill, rows, strict=True)])


def sliced(sentences: Sentences, left: bool = False) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rows = padded([[BEGIN, *sentence, END] for sentence in sentences], left=left)
    inputs, labels = rows[:, :-1], rows[:, 1:]
    return inputs, labels, (labels != PAD) & (inputs != PAD)


def ignoring(sentences: Sentences) -> tuple[np.ndarray, np.ndarray, None]:
    inputs = padded([[BEGIN, *sentence] for sentence in sentences])
    return inputs, padded([[*sentence, END] for sentence in sentences], IGNORE), None


def one_mark(sentences: Sentences) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """As in GPT-2: the same mark begins, ends and pads."""
    inputs, labels = (padded(rows, END) for rows in ([[END, *s] for s in sentences], [[*s, END] for s in sentences]))
    return inputs, labels, padded([[1] * (len(s) + 1) for s in sentences], 0)


def packed(sentences: Sentences) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    row = [mark for sentence in sentences for mark in (BEGIN, *sentence, END)]
    inputs, labels = np.array([row[:-1]]), np.array([row[1:]])
    return inputs, labels, np.ones_like(labels)


def sorted_by_length(sentences: Sentences) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return sliced(sorted(sentences, key=len))


def left(sentences: Sentences) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return sliced(sentences, left=True)


@pytest.mark.parametrize(
    ("f", "options"),
    [
        (sliced, MARKS),
        (sorted_by_length, MARKS),
        (left, MARKS),
        (packed, MARKS),
        (ignoring, {**MARKS, "ignore": IGNORE}),
        (ignoring, MARKS),  # -100 in the labels says it all
        (one_mark, {"begin": END, "end": END, "pad": END}),
        (BatchesFace(small()), OURS),
        (BatchesFace(small("translator")), OURS),
    ],
)
def test_right_batches_raise_no_alarm(f: Callable[..., Any], options: dict[str, Any]) -> None:
    report = batches_findings(f, **options)
    assert all(finding.holds for finding in report.findings), str(report)


WRONG: dict[str, tuple[Recipe, set[str]]] = {
    "unshifted": (
        replace(RIGHT, shift_targets=lambda framed: (framed[:, :-1], framed[:, :-1])),
        {"labels.unshifted", "labels.no_end"},
    ),
    "copied": (replace(RIGHT, shift_targets=lambda framed: (framed, framed)), {"labels.unshifted"}),
    "twice": (replace(RIGHT, shift_targets=lambda framed: (framed[:, :-2], framed[:, 2:])), {"labels.twice"}),
    "backwards": (
        replace(RIGHT, shift_targets=lambda framed: (framed[:, 1:], framed[:, :-1])),
        {"labels.other", "labels.begin", "labels.no_end"},
    ),
    "no end": (replace(RIGHT, frame_target=lambda ids, begin, end: [begin, *ids]), {"labels.no_end"}),
    "no begin": (replace(RIGHT, frame_target=lambda ids, begin, end: [*ids, end]), {"labels.begin"}),
    "padding counts": (replace(RIGHT, loss_weights=lambda labels, pad: np.ones(labels.shape)), {"labels.padding"}),
    "end does not count": (
        replace(RIGHT, loss_weights=lambda labels, pad: (labels != pad) & (labels != 3)),
        {"labels.no_end"},
    ),
    "the first does not count": (
        replace(RIGHT, loss_weights=lambda labels, pad: (labels != pad) & (np.arange(labels.shape[1]) > 0)),
        {"labels.uncounted"},
    ),
}


@pytest.mark.parametrize("mistake", WRONG)
def test_wrong_batches_are_found_and_told_apart(mistake: str) -> None:
    recipe, signs = WRONG[mistake]
    assert batches_findings(BatchesFace(small(recipe=recipe)), **OURS).signs == signs


def test_marks_that_are_one_are_told_apart_by_their_places() -> None:
    def uncounted_end(sentences: Sentences) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        inputs, labels, _ = one_mark(sentences)
        return inputs, labels, labels != END

    def all_counts(sentences: Sentences) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        inputs, labels, _ = one_mark(sentences)
        return inputs, labels, np.ones_like(labels)

    marks = {"begin": END, "end": END, "pad": END}
    assert batches_findings(uncounted_end, **marks).signs == {"labels.no_end"}
    assert batches_findings(all_counts, **marks).signs == {"labels.padding"}


def test_rows_that_do_not_belong_together_are_found() -> None:
    def shuffled(sentences: Sentences) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        inputs, labels, weights = sliced(sentences)
        return inputs, labels[::-1], weights[::-1]

    assert "labels.other" in batches_findings(shuffled, **MARKS).signs


def test_the_proof_names_place_label_and_next_token() -> None:
    def unshifted(sentences: Sentences) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        inputs, _, weights = sliced(sentences)
        return inputs, inputs, weights

    (finding,) = batches_findings(unshifted, **MARKS, only=["T6 targets"]).findings
    assert "row 0, position 1: input 3, label 3; the next token is 4" in finding.proof


def without_last_sentence(sentences: Sentences) -> tuple[np.ndarray, ...]:
    return sliced(sentences[:-1])


def without_last_token(sentences: Sentences) -> tuple[np.ndarray, ...]:
    return sliced([sentence[:-1] for sentence in sentences])


def without_first_token(sentences: Sentences) -> tuple[np.ndarray, ...]:
    return sliced([sentence[1:] for sentence in sentences])


@pytest.mark.parametrize(
    ("f", "missing"),
    [(without_last_sentence, 3), (without_last_token, 4), (without_first_token, 4)],
)
def test_tokens_that_are_left_out_are_missed(f: Callable[..., Any], missing: int) -> None:
    report = batches_findings(f, **MARKS)
    assert report.signs - {"labels.other"} == {"labels.uncounted"}  # what comes instead of a token is wrong, too
    assert f"{missing} of 17 tokens are nowhere a label that counts" in report.failed[-1].proof


def test_tokens_that_are_left_out_are_missed_without_weights() -> None:
    report = batches_findings(lambda sentences: (*without_last_sentence(sentences)[:2], None), **MARKS)
    assert report.signs == {"labels.uncounted"}


def test_only_the_sentences_that_were_found_are_said_to_be_right() -> None:
    proofs = {finding.contract: finding.proof for finding in batches_findings(without_last_sentence, **MARKS).findings}
    assert proofs["T6 begin"].startswith("3 of 4 sentences")
    assert proofs["T6 end"].startswith("3 of 4 sentences")


def test_without_weights_it_must_be_said_what_is_ignored() -> None:
    def bare(sentences: Sentences) -> tuple[np.ndarray, np.ndarray, None]:
        return *sliced(sentences)[:2], None

    untried = [finding for finding in batches_findings(bare, **MARKS).findings if finding.holds is None]
    assert {finding.contract for finding in untried} == {"T6 padding", "T6 counted"}
    assert all("give ignore=" in finding.proof for finding in untried)
    assert all(finding.holds for finding in batches_findings(bare, **MARKS, ignore=PAD).findings)


@pytest.mark.parametrize(
    ("f", "message"),
    [
        (lambda sentences: 1 / 0, "raised ZeroDivisionError"),
        (lambda sentences: sentences[0], r"\(inputs, labels, weights or None\) is wanted"),
        (lambda sentences: (sentences, sentences, None), "rows of different lengths"),
        (lambda sentences: (padded(sentences), padded(sentences)[:, 1:], None), r"of one shape \[B, T\]"),
    ],
)
def test_what_makes_no_batches_is_refused_with_its_name(f: Any, message: str) -> None:
    with pytest.raises(UserError, match=message):
        batches_findings(f, **MARKS)


def test_marks_that_are_no_ids_are_refused() -> None:
    with pytest.raises(UserError, match="begin = '<s>'"):
        batches_findings(sliced, begin="<s>", end=END, pad=PAD)  # type: ignore[arg-type]
