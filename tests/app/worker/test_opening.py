"""What is told of a model that was opened, and what is refused without harm to the one that is open."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from mlx.utils import tree_flatten

from mlxdecoder import load
from mlxdecoder.app.session.catalogue import Model, model_of
from mlxdecoder.app.worker.engine import Engine
from mlxdecoder.errors import UserError
from mlxdecoder.training.run_folder import RunFolder
from tests.app.worker.asking import ask, generate, save, untrained
from tests.pretrained.folders import FIXTURES, WEIGHTS, copied, set_values
from tests.pretrained.spoken import MAKERS, spoken
from tests.pretrained.variants import KEPT


def opened(path: Path | str | None, engine: Engine | None = None) -> Model:
    told = ask(engine or Engine(), "open", path=None if path is None else str(path))
    assert [message.kind for message in told] == ["model"]
    return model_of(told[0].fields)


def test_without_a_path_the_packaged_model_is_opened() -> None:
    found, toy = opened(None), load()
    assert (found.path, found.architecture, found.kinds) == (None, "translator", ("encoder", "decoder", "cross"))
    assert found.parameters == sum(np.array(array).size for _, array in tree_flatten(toy.model.parameters()))
    config = toy.model.config
    assert (found.layers, found.encoder_layers, found.heads) == (config.n_layers, config.encoder_layers, config.n_heads)
    assert (found.width, found.vocab, found.kv_heads) == (config.d_model, toy.tokenizer.vocab_size, config.kv_heads)


@pytest.mark.parametrize(
    ("architecture", "kinds", "layers"),
    [("encoder", ("encoder",), (0, 3)), ("language_model", ("decoder",), (3, 0)), ("translator", ..., (3, 3))],
)
def test_every_architecture_is_opened_and_can_be_watched(
    tmp_path: Path, architecture: str, kinds: tuple[str, ...], layers: tuple[int, int]
) -> None:
    save(untrained(architecture), tmp_path / "model")
    engine = Engine()
    found = opened(tmp_path / "model", engine)
    assert found.architecture == architecture and kinds in (..., found.kinds)
    assert (found.layers, found.encoder_layers) == layers
    assert (found.name, found.path) == ("model", str(tmp_path / "model"))
    told = generate(engine, max_tokens=2)
    kinds_told = {name.split(".")[0] for message in told for name in message.arrays}
    assert kinds_told == set(found.kinds)


def test_of_a_run_folder_the_best_checkpoint_is_opened(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "run")
    for step, best in ((10, True), (20, False)):
        folder.add(step, partial(save, untrained(seed=step)), best)
    found = opened(tmp_path / "run")
    assert (found.name, found.path) == ("run", str(tmp_path / "run"))
    assert found.fingerprint == opened(tmp_path / "run" / "step-0000010").fingerprint
    assert found.fingerprint != opened(tmp_path / "run" / "step-0000020").fingerprint


def test_a_copy_has_the_same_fingerprint_and_other_weights_have_another(tmp_path: Path) -> None:
    save(untrained(seed=1), tmp_path / "one")
    save(untrained(seed=2), tmp_path / "two")
    shutil.copytree(tmp_path / "one", tmp_path / "copy")
    one, copy, two = (opened(tmp_path / name).fingerprint for name in ("one", "copy", "two"))
    assert one == copy != two


def test_what_cannot_be_opened_is_refused_and_the_open_model_stays(tmp_path: Path) -> None:
    engine = Engine()
    opened(None, engine)
    save(untrained(), tmp_path / "damaged")
    (tmp_path / "damaged" / "weights.safetensors").write_bytes(b"nothing")
    for path in (tmp_path / "damaged", tmp_path / "missing", tmp_path):
        with pytest.raises(UserError, match=str(path)):
            ask(engine, "open", path=str(path))
    assert generate(engine)[-1]["translation"] == "Le chat noir dort."


def test_a_path_is_told_in_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save(untrained(), tmp_path / "model")
    monkeypatch.chdir(tmp_path)
    assert opened("model").path == str(tmp_path / "model")


# Folders from elsewhere ---------------------------------------------------------------------------------------------

KINDS = {"language_model": ("decoder",), "encoder": ("encoder",), "translator": ("encoder", "decoder", "cross")}


@pytest.mark.parametrize("name", sorted(MAKERS))
def test_a_folder_from_elsewhere_is_watched_as_what_it_is(name: str, tmp_path: Path) -> None:
    spoken(name, tmp_path / name)
    engine = Engine()
    found = opened(tmp_path / name, engine)
    assert (found.name, found.kinds) == (name, KINDS[found.architecture])
    told = generate(engine, "the cat sings", max_tokens=3)
    assert {array.split(".")[0] for message in told for array in message.arrays} == set(found.kinds)
    read, (source, *_) = engine.checkpoint.read("the cat sings"), told
    pieces = engine.checkpoint.tokenizer.pieces(read)
    assert pieces == (source["prompt"] if found.architecture == "language_model" else source["tokens"])


@pytest.mark.parametrize("name", [variant.name for variant in KEPT if variant.name != "vit"])
def test_without_a_tokenizer_ids_are_typed(name: str) -> None:
    engine = Engine()
    opened(FIXTURES / name, engine)
    told = generate(engine, "5 6 7", max_tokens=3)
    assert told[-1].kind == "generated"
    with pytest.raises(UserError, match="give it ids"):
        generate(engine)


def test_of_a_model_of_images_it_is_said_where_they_can_be_seen() -> None:
    engine = Engine()
    opened(FIXTURES / "vit", engine)
    with pytest.raises(UserError, match=r"reads images.*mlxdecoder\.show"):
        generate(engine)


def cut_short(folder: Path) -> None:
    whole = (folder / WEIGHTS).read_bytes()
    (folder / WEIGHTS).write_bytes(whole[: len(whole) // 2])


def pickled(folder: Path) -> None:
    (folder / WEIGHTS).rename(folder / "pytorch_model.bin")


def unheard_of(folder: Path) -> None:
    set_values(folder, model_type="gpt_unheard_of")


@pytest.mark.parametrize("harm", [cut_short, pickled, unheard_of])
def test_a_folder_that_is_broken_is_refused_in_two_lines_and_the_open_model_stays(
    harm: Callable[[Path], None], tmp_path: Path
) -> None:
    engine, folder = Engine(), copied("gpt2", tmp_path / "gpt2")
    opened(FIXTURES / "marian", engine)
    harm(folder)
    with pytest.raises(UserError, match="gpt2") as caught:
        opened(folder, engine)
    assert str(caught.value).count("\n") <= 1
    assert generate(engine, "5 6 7", max_tokens=2)[-1].kind == "generated"
