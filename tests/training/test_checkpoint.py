"""A checkpoint is whole or it is refused, with one line that names the file and the reason."""

import errno
import hashlib
import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import mlx.core as mx
import numpy as np
import pytest
from mlx.utils import tree_flatten

from mlxdecoder.config import ModelConfig
from mlxdecoder.errors import UserError
from mlxdecoder.models import Translator
from mlxdecoder.text.tokenizer import Tokenizer
from mlxdecoder.training.checkpoint import TrainingState, load_checkpoint, load_training, save_checkpoint

LINES = ["the cat sleeps", "the dog runs", "a bird sings", "le chat dort", "le chien court", "un oiseau chante"]


@pytest.fixture(scope="module")
def tokenizer():
    return Tokenizer.train(LINES * 5, 300, kind="bpe")


def make_model(tokenizer, **changes):
    config = ModelConfig(d_model=16, n_heads=2, d_ff=32, n_layers=1, target_vocab=tokenizer.vocab_size, **changes)
    return Translator(config)


def save(path, tokenizer, model=None, training=None):
    model = model or make_model(tokenizer)
    save_checkpoint(path, model.config, dict(tree_flatten(model.parameters())), tokenizer, training)
    return model


@pytest.fixture
def saved(tmp_path, tokenizer):
    save(tmp_path / "model", tokenizer)
    return tmp_path / "model"


def renew_manifest(folder, *names):
    """As somebody would who edits files by hand and knows of the digests: the check of the content remains."""
    manifest = json.loads((folder / "manifest.json").read_text())
    for name in names:
        manifest[name] = hashlib.sha256((folder / name).read_bytes()).hexdigest()
    (folder / "manifest.json").write_text(json.dumps(manifest))


def refusal(folder):
    with pytest.raises(UserError) as caught:
        load_checkpoint(folder)
    message = str(caught.value)
    assert message.count("\n") <= 1
    return message


def test_what_is_loaded_is_what_was_saved(tmp_path, tokenizer):
    model = save(tmp_path / "model", tokenizer)
    loaded = load_checkpoint(tmp_path / "model")
    ids = [tokenizer.encode("the cat sleeps")]
    model.eval()
    np.testing.assert_array_equal(np.array(loaded.model(ids, ids)), np.array(model(ids, ids)))
    assert loaded.tokenizer.fingerprint == tokenizer.fingerprint
    assert loaded.model.config == model.config


def test_training_state_comes_back(tmp_path, tokenizer):
    state = TrainingState({"step": 3, "best": 0.1 + 0.2}, {"weights": mx.random.normal((7,))})
    save(tmp_path / "model", tokenizer, training=state)
    again = load_training(tmp_path / "model")
    assert again.values == state.values
    np.testing.assert_array_equal(np.array(again.arrays["weights"]), np.array(state.arrays["weights"]))
    save(tmp_path / "bare", tokenizer)
    with pytest.raises(UserError, match="no training state"):
        load_training(tmp_path / "bare")


def test_a_folder_that_exists_is_never_written_over(saved, tokenizer):
    before = (saved / "weights.safetensors").read_bytes()
    with pytest.raises(UserError, match="exists already"):
        save(saved, tokenizer)
    assert (saved / "weights.safetensors").read_bytes() == before


@pytest.mark.parametrize("name", ["config.json", "weights.safetensors", "tokenizer.model", "manifest.json"])
def test_every_flipped_byte_is_noticed_and_the_file_is_named(saved, name):
    whole = (saved / name).read_bytes()
    places = random.Random(name).sample(range(len(whole)), 25)
    for place in places:
        flipped = bytearray(whole)
        flipped[place] ^= 1 << random.Random(place).randrange(8)
        (saved / name).write_bytes(flipped)
        message = refusal(saved)
        # A manifest with a flipped byte accuses itself or the file whose digest or name it changed.
        assert name in message or name == "manifest.json"


@pytest.mark.parametrize("name", ["config.json", "weights.safetensors", "tokenizer.model", "manifest.json"])
@pytest.mark.parametrize("known", [True, False])
def test_a_file_cut_short_or_gone_is_named(saved, name, known):
    whole = (saved / name).read_bytes()
    for length in (0, 1, len(whole) // 2, len(whole) - 2):
        (saved / name).write_bytes(whole[:length])
        if not known and name != "manifest.json":
            renew_manifest(saved, name)
        assert name in refusal(saved)
    (saved / name).unlink()
    assert name in refusal(saved)


def test_a_full_disk_is_told_with_the_name_that_was_asked_for_and_leaves_nothing(tmp_path, tokenizer, monkeypatch):
    def full(_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left") as told:
        save(tmp_path / "model", tokenizer)
    assert told.value.filename == str(tmp_path / "model")
    assert list(tmp_path.iterdir()) == []


def test_another_tokenizer_is_refused_with_both_fingerprints(saved, tokenizer):
    other = Tokenizer.train([line[::-1] for line in LINES] * 5, 300, kind="bpe")
    other.save(saved / "tokenizer.model")
    renew_manifest(saved, "tokenizer.model")
    message = refusal(saved)
    assert other.fingerprint in message
    assert tokenizer.fingerprint in message


def test_a_config_that_does_not_fit_the_weights_is_refused_by_name(saved):
    config = json.loads((saved / "config.json").read_text())
    config["model"]["d_ff"] = 48
    (saved / "config.json").write_text(json.dumps(config))
    renew_manifest(saved, "config.json")
    message = refusal(saved)
    assert "weights.safetensors" in message
    assert "(32,)" in message
    assert "(48,)" in message
    config["model"]["d_ff"], config["model"]["n_layers"] = 32, 2
    (saved / "config.json").write_text(json.dumps(config))
    renew_manifest(saved, "config.json")
    assert "missing decoder.blocks.1" in refusal(saved)


def test_no_path_out_of_the_folder_is_followed(saved):
    secret = saved.parent / "secret"
    secret.write_text("x")
    manifest = json.loads((saved / "manifest.json").read_text())
    (saved / "manifest.json").write_text(json.dumps(manifest | {"../secret": "0" * 64}))
    assert "missing" in refusal(saved)


def test_a_folder_of_something_else_is_refused(tmp_path):
    assert "no such folder" in refusal(tmp_path / "nothing")
    (tmp_path / "file.txt").write_text("hello")
    assert "config.json" in refusal(tmp_path)
    assert "no such folder" in refusal(tmp_path / "file.txt")


SAVER = """
import sys
from pathlib import Path
import mlx.core as mx
from mlxdecoder.config import ModelConfig
from mlxdecoder.models import Translator
from mlxdecoder.text.tokenizer import Tokenizer
from mlxdecoder.training.checkpoint import TrainingState, save_checkpoint
from mlxdecoder.training.run_folder import RunFolder
from mlx.utils import tree_flatten

folder, tokenizer = RunFolder(Path(sys.argv[1])), Tokenizer.load(sys.argv[2])
model = Translator(ModelConfig(d_model=16, n_heads=2, d_ff=32, n_layers=1, target_vocab=tokenizer.vocab_size))
weights = dict(tree_flatten(model.parameters()))
state = TrainingState({"step": 0}, {"weights": mx.zeros((100_000,))})
for step in range(1, 100_000):
    folder.add(step, lambda path: save_checkpoint(path, model.config, weights, tokenizer, state), best=step % 3 == 0)
    print(step, flush=True)
"""


def kill_while_saving(folder: Path, tokenizer_path: Path, kills: int, seed: int) -> None:
    """Kill a process that does nothing but save, at a random moment after its first save; load what is there."""
    moments = random.Random(seed)
    for _ in range(kills):
        command = [sys.executable, "-c", SAVER, str(folder), str(tokenizer_path)]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        first = process.stdout.readline()
        time.sleep(moments.uniform(0, 0.15))
        os.kill(process.pid, signal.SIGKILL)
        process.stdout.close()
        assert process.wait() == -signal.SIGKILL
        assert first
        for which in ("newest", "best"):
            index = json.loads((folder / "run.json").read_text())
            load_checkpoint(folder / index[which])
            load_training(folder / index[which])


def test_a_process_killed_while_it_saves_leaves_the_last_good_checkpoint(tmp_path, tokenizer):
    tokenizer.save(tmp_path / "tokenizer.model")
    kill_while_saving(tmp_path / "run", tmp_path / "tokenizer.model", kills=3, seed=0)


@pytest.mark.slow
def test_fifty_kills_leave_fifty_loadable_checkpoints(tmp_path, tokenizer):
    tokenizer.save(tmp_path / "tokenizer.model")
    kill_while_saving(tmp_path / "run", tmp_path / "tokenizer.model", kills=50, seed=1)
