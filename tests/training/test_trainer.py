"""Training as a user sees it: it learns, it repeats, it resumes to the bit, it stops with what it has."""

import threading
from dataclasses import replace

import mlx.core as mx
import numpy as np
import pytest

from mlxdecoder.config import ModelConfig
from mlxdecoder.errors import UserError
from mlxdecoder.models import Translator
from mlxdecoder.training.checkpoint import load_checkpoint
from mlxdecoder.training.evaluation import exact_match, teacher_forced
from mlxdecoder.training.observer import Observer
from mlxdecoder.training.prepare import fresh_model
from mlxdecoder.training.run_folder import RunFolder
from mlxdecoder.training.trainer import Trainer
from mlxdecoder.translate import load

TINY = ModelConfig(d_model=16, n_heads=2, d_ff=32, n_layers=1, dropout=0.1)


class StopAt(Observer):
    def __init__(self, step):
        self.steps, self.losses, self.paths, self.measures = step, [], [], []

    def stepped(self, report):
        self.losses.append(report.loss)

    def measured(self, measures):
        self.measures.append(measures)

    def saved(self, path):
        self.paths.append(path)

    def wants_stop(self):
        return len(self.losses) >= self.steps


def make_trainer(prepared, options, folder=None, stop_at=10**6, config=TINY):
    model = fresh_model(config, prepared.tokenizer, options.seed)
    observer = StopAt(stop_at)
    validation = prepared.validation
    trainer = Trainer(model, prepared.tokenizer, prepared.train, validation, options, folder=folder, observer=observer)
    return trainer, observer


def weights(trainer):
    return np.array(trainer._parameters.join(trainer.model.trainable_parameters()))


def test_the_loss_on_held_out_sentences_falls(prepared, options):
    trainer, _ = make_trainer(prepared, replace(options, steps=60, evaluate_every=20))
    history = trainer.run()
    losses = [measures.validation_loss for measures in history]
    assert losses == sorted(losses, reverse=True)
    assert losses[-1] < losses[0] - 0.3
    assert [measures.step for measures in history] == [20, 40, 60]


def test_the_same_seed_gives_the_same_run_and_another_seed_another(prepared, options):
    runs = []
    for seed in (0, 0, 1):
        trainer, observer = make_trainer(prepared, replace(options, seed=seed))
        trainer.run()
        runs.append((observer.losses, weights(trainer)))
    assert runs[0][0] == runs[1][0]
    np.testing.assert_array_equal(runs[0][1], runs[1][1])
    assert runs[0][0] != runs[2][0]


@pytest.mark.parametrize("stop", [3, 8, 10, 19])
def test_a_run_that_was_stopped_goes_on_to_the_same_bit(prepared, options, tmp_path, stop):
    whole, watched = make_trainer(prepared, options)
    whole.run()
    first, before = make_trainer(prepared, options, RunFolder(tmp_path), stop_at=stop)
    first.run()
    assert len(before.losses) == stop
    second, after = make_trainer(prepared, options, RunFolder(tmp_path))
    second.resume(RunFolder(tmp_path).newest())
    second.run()
    assert before.losses + after.losses == watched.losses
    np.testing.assert_array_equal(weights(second), weights(whole))
    assert second.history == whole.history


def test_the_place_in_the_data_survives_the_end_of_an_epoch(prepared, options, tmp_path):
    few = replace(prepared, train=prepared.train[:40])  # four batches or so an epoch
    whole, watched = make_trainer(few, options)
    whole.run()
    for stop in (4, 5, 6):
        folder = RunFolder(tmp_path / str(stop))
        first, before = make_trainer(few, options, folder, stop_at=stop)
        first.run()
        second, after = make_trainer(few, options, folder)
        second.resume(folder.newest())
        second.run()
        assert before.losses + after.losses == watched.losses


def test_the_kept_weights_are_the_mean_of_the_last_snapshots(prepared, options, tmp_path):
    options = replace(options, steps=12, snapshot_every=2, average=3, evaluate_every=12)
    seen = {}
    trainer, observer = make_trainer(prepared, options, RunFolder(tmp_path))
    observer.stepped = lambda report: seen.update({report.step: np.array(trainer._weights)})
    trainer.run()
    mean = np.mean([seen[8], seen[10], seen[12]], axis=0)
    saved = load_checkpoint(tmp_path).model
    ours = np.array(trainer._parameters.join(saved.trainable_parameters()))
    np.testing.assert_allclose(ours, mean, rtol=1e-5, atol=1e-7)


def test_patience_ends_a_run_that_gets_no_better(prepared, options):
    options = replace(options, steps=500, learning_rate=1e-9, evaluate_every=2, snapshot_every=1, average=1, patience=2)
    frozen = replace(TINY, dropout=0.0)
    trainer, _ = make_trainer(prepared, replace(options, learning_rate=10.0, warmup=0), config=frozen)
    history = trainer.run()
    losses = [measures.validation_loss for measures in history]
    assert trainer.step < 500
    assert all(loss >= min(losses[:-2]) for loss in losses[-2:])


def test_a_loss_that_is_no_number_stops_the_run_and_keeps_the_checkpoint(prepared, options, tmp_path):
    trainer, observer = make_trainer(prepared, options, RunFolder(tmp_path))

    def poison(report):
        if report.step == 10:
            trainer._weights = trainer._weights * mx.array(float("nan"))

    observer.stepped = poison
    with pytest.raises(UserError, match=r"step 11: loss or weights are no longer numbers"):
        trainer.run()
    kept = load(tmp_path)
    assert kept.path.name == "step-0000008"
    assert np.isfinite(np.array(trainer._parameters.join(kept.model.trainable_parameters()))).all()


def test_other_text_is_refused_on_resume(prepared, options, tmp_path):
    trainer, _ = make_trainer(prepared, replace(options, steps=8), RunFolder(tmp_path))
    trainer.run()
    other, _ = make_trainer(replace(prepared, train=prepared.train[1:]), options)
    with pytest.raises(UserError, match="other text"):
        other.resume(RunFolder(tmp_path).newest())


def test_the_run_folder_keeps_the_newest_and_the_best_only(prepared, options, tmp_path):
    trainer, observer = make_trainer(prepared, options, RunFolder(tmp_path))
    trainer.run()
    assert [path.name for path in observer.paths] == ["step-0000008", "step-0000016", "step-0000020"]
    best = min(trainer.history, key=lambda measures: measures.validation_loss).step
    assert {path.name for path in tmp_path.iterdir()} == {"run.json", "step-0000020", f"step-{best:07d}"}
    with pytest.raises(UserError, match="not empty"):
        RunFolder.fresh(tmp_path)


def test_measures_are_those_of_the_definitions(prepared):
    model = fresh_model(TINY, prepared.tokenizer, 3)
    model.eval()
    examples = prepared.validation[:7]
    losses, hits = [], []
    for example in examples:
        framed = [2, *example.target, 3]
        logits = np.array(model([list(example.source)], [framed[:-1]])[0], np.float64)
        log_probabilities = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))
        losses += [-log_probabilities[i, label] for i, label in enumerate(framed[1:])]
        hits += [int(log_probabilities[i].argmax() == label) for i, label in enumerate(framed[1:])]
    loss, accuracy = teacher_forced(model, examples)
    assert loss == pytest.approx(np.mean(losses), rel=1e-5)
    assert accuracy == pytest.approx(np.mean(hits))
    assert exact_match(model, examples) == 0.0
    from mlxdecoder.generate import generate
    from mlxdecoder.training.batches import Example

    own = [Example(one.source, tuple(generate(model, [one.source])[0].tokens)) for one in examples]
    assert exact_match(model, own + examples) == pytest.approx(0.5)


def test_a_run_without_examples_is_refused(prepared, options):
    with pytest.raises(UserError, match="train: no examples"):
        make_trainer(replace(prepared, train=[]), options)


def test_dropout_works_in_training_only(prepared, options):
    model = fresh_model(replace(TINY, dropout=0.5), prepared.tokenizer, 0)
    source, target = [list(prepared.train[0].source)], [[2, 5, 6]]
    model.train()
    assert not mx.array_equal(model(source, target), model(source, target)).item()
    model.eval()
    assert mx.array_equal(model(source, target), model(source, target)).item()


def test_a_worker_thread_can_train_a_model_that_was_made_elsewhere(prepared, options):
    trainer, observer = make_trainer(prepared, replace(options, steps=8))
    worker = threading.Thread(target=trainer.run)
    worker.start()
    worker.join()
    again, same = make_trainer(prepared, replace(options, steps=8))
    again.run()
    assert observer.losses == same.losses
    assert len(trainer.history) == 1


def test_without_held_out_sentences_the_newest_is_the_best(prepared, options, tmp_path):
    trainer, _ = make_trainer(replace(prepared, validation=[]), replace(options, patience=1), RunFolder(tmp_path))
    trainer.run()
    assert trainer.step == options.steps
    assert load(tmp_path).path.name == "step-0000020"


def test_other_options_are_refused_on_resume_but_more_steps_are_not(prepared, options, tmp_path):
    trainer, _ = make_trainer(prepared, replace(options, steps=8), RunFolder(tmp_path))
    trainer.run()
    newest = RunFolder(tmp_path).newest()
    other, _ = make_trainer(prepared, replace(options, learning_rate=0.5))
    with pytest.raises(UserError, match="learning_rate"):
        other.resume(newest)
    longer, observer = make_trainer(prepared, replace(options, steps=12))
    longer.resume(newest)
    longer.run()
    assert len(observer.losses) == 4


def test_a_tokenizer_that_does_not_fit_is_refused_before_the_training(prepared, options):
    model = Translator(replace(TINY, target_vocab=prepared.tokenizer.vocab_size + 1))
    with pytest.raises(UserError, match="target_vocab"):
        Trainer(model, prepared.tokenizer, prepared.train, prepared.validation, options)
    model = Translator(replace(TINY, target_vocab=prepared.tokenizer.vocab_size, begin_id=5))
    with pytest.raises(UserError, match="begin"):
        Trainer(model, prepared.tokenizer, prepared.train, prepared.validation, options)


def test_half_types_are_refused_before_the_training(prepared, options):
    model = fresh_model(TINY, prepared.tokenizer, 0)
    model.set_dtype(mx.float16)
    with pytest.raises(UserError, match="float32"):
        Trainer(model, prepared.tokenizer, prepared.train, prepared.validation, options)


@pytest.mark.parametrize("rate", [0.001, 0.999])
def test_any_dropout_rate_trains(prepared, options, rate):
    trainer, observer = make_trainer(prepared, replace(options, steps=2), config=replace(TINY, dropout=rate))
    trainer.run()
    assert np.isfinite(observer.losses).all()


def test_the_example_of_the_package_runs(tmp_path, monkeypatch):
    """The lines that `help("mlxdecoder.training")` shows, on a small corpus and for a few steps."""
    import mlxdecoder.training as package

    monkeypatch.chdir(tmp_path)
    lines = [f"the {a} {b} {c}\tle {c} {b} {a}" for a in "abcdef" for b in "ghijkl" for c in "mnopq"]
    (tmp_path / "pairs.tsv").write_text("\n".join(lines), encoding="utf-8")
    small = replace(package.PRESETS["toy"], model=TINY)
    small = replace(small, training=replace(small.training, steps=2), vocab_size=300)
    monkeypatch.setitem(package.PRESETS, "toy", small)
    code = "\n".join(line.strip()[4:] for line in package.__doc__.splitlines() if line.strip().startswith(">>>"))
    names = {}
    exec(code, names)
    assert [measures.step for measures in names["measures"]] == [2]
    assert load(tmp_path / "run").path.name == "step-0000002"
