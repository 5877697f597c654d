"""Progress: what a checkpoint keeps of a run comes back, and the best measurement is told from the others."""

import json
import math

from hypothesis import given
from hypothesis import strategies as st

from mlxdecoder.training.progress import Progress

losses = st.lists(st.floats(0, 9), max_size=6)


@given(losses, losses)
def test_progress_comes_back_from_json(trained, measured):
    progress = Progress(epoch=2, place=5)
    for loss in trained:
        progress.add_step(loss)
    for loss in measured:
        progress.add_measures(loss, 0.5, 0.25)
    stored = json.dumps(progress.to_dict() | {"options": {}}, allow_nan=False)
    assert Progress.from_dict(json.loads(stored)) == progress


@given(st.lists(st.floats(0, 9), min_size=1, max_size=6))
def test_the_best_is_the_lowest_loss_so_far_and_the_others_are_waited_for(measured):
    progress = Progress()
    told = [progress.add_measures(loss, 0.5, 0.25) for loss in measured]
    assert told == [loss < min(measured[:i], default=math.inf) for i, loss in enumerate(measured)]
    assert progress.best == min(measured)
    assert progress.waited == len(measured) - 1 - max(i for i, best in enumerate(told) if best)


def test_the_training_loss_is_the_mean_since_the_last_measurement():
    progress = Progress()
    for loss in (1.0, 2.0, 3.0):
        progress.add_step(loss)
    progress.add_measures(0.5, 0.5, 0.5)
    progress.add_step(7.0)
    progress.add_measures(0.5, 0.5, 0.5)
    assert [(one.step, one.training_loss) for one in progress.history] == [(3, 2.0), (4, 7.0)]


def test_without_held_out_sentences_the_newest_is_always_the_best():
    progress = Progress()
    assert all(progress.add_measures(math.nan, math.nan, math.nan) for _ in range(3))
    assert progress.waited == 0
