"""Words in the place of pieces: what is shown of them, and that nothing wrong in a piece is hidden."""

from __future__ import annotations

import numpy as np

from mlxdecoder.app.protocol import Message
from mlxdecoder.app.session.recording import Picture
from mlxdecoder.app.session.session import Session
from mlxdecoder.app.session.word_picture import merged
from tests.app.views.sessions import recorded, run_of, tell_generation, tell_model, weights

SOURCE = ("▁The", "▁cat", "▁sleep", "s", ".")  # three words
READ = ("<s>", "▁Le", "▁ch", "at", "▁dort")  # four words
Sent = list[Message]


def self_attention(values: np.ndarray) -> Picture:
    return Picture("decoder", "weights", values, np.tri(5, dtype=bool), READ, READ)


def test_rows_are_averaged_and_columns_summed(session: Session, sent: Sent) -> None:
    values = weights(5, 5)
    recorded(session, sent, cross=values, source=SOURCE, read=READ)
    session.look(words=True)
    picture = session.generation.picture()
    assert picture is not None
    assert (picture.queries, picture.keys) == (("<s>", "Le", "chat", "dort"), ("The", "cat", "sleeps."))
    np.testing.assert_allclose(picture.values[:, :, 2, 2], values[:, :, 2:4, 2:].sum(-1).mean(-1), rtol=1e-6)
    np.testing.assert_allclose(picture.row_sums, 1, rtol=1e-6)


def test_scores_stay_those_of_pieces(session: Session, sent: Sent) -> None:
    recorded(session, sent, cross=weights(5, 5), source=SOURCE, read=READ, stage="scores")
    session.look(words=True, stage="scores")
    picture = session.generation.picture()
    assert picture is not None and picture.keys == SOURCE and not session.generation.merges_words


def test_words_are_undone_like_all_that_is_looked_at(session: Session, sent: Sent) -> None:
    recorded(session, sent, cross=weights(5, 5), source=SOURCE, read=READ)
    session.look(words=True)
    session.undo()
    picture = session.generation.picture()
    assert picture is not None and picture.keys == SOURCE


def test_the_change_of_words_is_that_of_their_pieces(session: Session, sent: Sent) -> None:
    tell_model(session, sent)
    session.change("break", mistakes=("no-scale",))
    session.generation.begin()
    for mistaken, values in ((False, weights(5, 5)), (True, weights(5, 5)[::-1])):
        tell_generation(session, run_of(sent, mistaken), cross=values, source=SOURCE, read=READ)
    pieces = session.generation.picture("change")
    session.look(words=True)
    picture = session.generation.picture("change")
    assert picture is not None and pieces is not None
    np.testing.assert_allclose(picture.values, merged(pieces).values, rtol=1e-5)
    before, after = session.generation.picture("right"), session.generation.picture("wrong")
    assert before is not None and after is not None
    np.testing.assert_allclose(picture.values, after.values - before.values, atol=1e-6)


def test_a_piece_that_looks_ahead_within_its_word_is_flagged() -> None:
    values = np.eye(5, dtype=np.float32)[None, None].copy()
    values[0, 0, 2, 2:4] = 0.6, 0.4
    picture = merged(self_attention(values))
    assert picture.intended[2, 2]
    np.testing.assert_allclose(picture.outside[0, 0], [0, 0, 0.4, 0])


def test_wrong_sums_within_a_word_are_flagged_though_their_mean_is_right() -> None:
    values = np.eye(5, dtype=np.float32)[None, None].copy()
    values[0, 0, 2, 2], values[0, 0, 3, 3] = 0.8, 1.2
    np.testing.assert_allclose(merged(self_attention(values)).sum_errors[0, 0], [0, 0, 0.2, 0], atol=1e-6)


def test_a_part_of_the_words_is_made_of_their_pieces() -> None:
    whole = merged(self_attention(weights(5, 5)))
    part = whole.cut(slice(1, 2), slice(3, 4), slice(1, 3))
    assert part.queries == ("Le", "chat") and part.keys == whole.keys
    np.testing.assert_array_equal(part.values[0, 0], whole.values[1, 3, 1:3])
    np.testing.assert_array_equal(part.outside[0, 0], whole.outside[1, 3, 1:3])
    np.testing.assert_array_equal(part.intended, whole.intended[1:3])
