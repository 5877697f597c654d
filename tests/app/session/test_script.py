"""The script that is copied, run as a user would run it, makes the numbers that the window shows."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import mlxdecoder
from mlxdecoder.app.session.document import Document, Sampling, View
from mlxdecoder.app.session.script import script
from mlxdecoder.app.session.session import Session
from mlxdecoder.app.worker.engine import Engine, mistaken
from mlxdecoder.heads import Grouping
from mlxdecoder.trace import attend
from mlxdecoder.training.checkpoint import Checkpoint
from mlxdecoder.translate import load
from mlxdecoder.words import merge, words_of
from tests.app.worker.asking import engine_with, generate, recorded, save, untrained
from tests.pretrained.spoken import spoken

QUOTED = """l'été "日本" \\n"""
CUT = "Does she listen to my dog?"  # its translation has words of several pieces
DRAWN = Sampling(temperature=1.5, top_k=20, top_p=0.95, seed=3)
DOCUMENTS = {
    "as at the first start": Document(),
    "the sentence has quotes": Document(sentence="""The "old" dog's\\n été 猫 eats."""),
    "a mistake is on": Document(mistakes=("no-causal-mask",), view=View(kind="decoder", layer=1, head=2)),
    "two mistakes are on, the right side is shown": Document(
        mistakes=("no-causal-mask", "no-scale"), view=View(kind="decoder", side="right")
    ),
    "the change that a mistake makes": Document(
        mistakes=("no-scale",), view=View(kind="decoder", stage="weights", side="change")
    ),
    "the change in the cross-attention": Document(mistakes=("no-scale",), view=View(side="change", step=2)),
    "the change in the encoder": Document(mistakes=("no-scale",), view=View(kind="encoder", side="change")),
    "a mistake of the cache": Document(mistakes=("cache-position-zero",), view=View(kind="decoder", stage="scaled")),
    "tokens are forced": Document(forced={3: 50, 1: 100}, view=View(kind="decoder")),
    "a drawn generation with a forced token": Document(forced={1: 100}, sampling=DRAWN),
    "a drawn generation": Document(sampling=DRAWN, view=View(kind="decoder", stage="scores")),
    "a beam": Document(sampling=Sampling(beam=4), sentence="The small old dog sees a red house and the black cat."),
    "a beam with a forced token": Document(sampling=Sampling(beam=3), forced={2: 100}),
    "masked scores of the encoder": Document(view=View(kind="encoder", stage="masked")),
    "masked scores up to a step": Document(view=View(kind="decoder", stage="masked", step=3)),
    "the mean of the heads": Document(view=View(average=True, layer=1, head=3)),
    "words": Document(sentence=CUT, view=View(words=True)),
    "words up to a step within one": Document(sentence=CUT, view=View(kind="decoder", words=True, step=4)),
    "words of norm-weighted values": Document(sentence=CUT, view=View(stage="norms", words=True, average=True)),
    "scores, which are not merged": Document(sentence=CUT, view=View(stage="scores", words=True)),
    "words of the change in the decoder": Document(
        sentence=CUT, mistakes=("no-scale",), view=View(kind="decoder", side="change", words=True)
    ),
    "words of the encoder": Document(sentence=CUT, view=View(kind="encoder", words=True)),
    "norm-weighted, with a mistake": Document(mistakes=("no-causal-mask",), view=View(stage="norms", kind="decoder")),
    "norm-weighted, the change in the cross-attention": Document(
        mistakes=("no-scale",), view=View(stage="norms", side="change"), sampling=Sampling(beam=2)
    ),
}
# As the tokens were written; how they are read at once is tested below.
DOCUMENTS = {name: one.looking(at_once=False) for name, one in DOCUMENTS.items()}
OTHERS = {
    "language_model": Document(view=View(kind="decoder", step=1)),
    "encoder": Document(view=View(kind="encoder", stage="norms")),
}

TWO_SHARED = "key/value head 1 of 2, shared by heads 2–3"
GROUPED = {  # of a model with four query heads and two key/value heads
    "cross-attention": ("translator", Document(view=View(layer=1, head=3))),
    "norm-weighted values of the decoder": ("translator", Document(view=View(kind="decoder", stage="norms", head=2))),
    "the encoder": ("translator", Document(view=View(kind="encoder", stage="masked", head=3))),
    "the change that a wrong order of the shared heads makes": (
        "translator",
        Document(mistakes=("heads-tiled",), view=View(kind="decoder", side="change", at_once=False, head=2)),
    ),
    "a language model, in words": ("language_model", Document(view=View(kind="decoder", words=True, head=2))),
    "norm-weighted values of a language model": (
        "language_model",
        Document(view=View(kind="decoder", stage="norms", step=3, head=3)),
    ),
}


@pytest.fixture(scope="module")
def toy() -> Engine:
    return engine_with(load())


def on_screen(engine: Engine, document: Document) -> np.ndarray:
    """The values that the heatmaps show [L, H, T, S], from what the worker tells."""
    session = Session([].append, document)
    for side, mistakes in (("wrong", document.mistakes), ("right", ())):
        asked = {"forced": {str(step): token for step, token in document.forced.items()}}
        asked |= {"sampling": vars(document.sampling), "mistakes": list(mistakes)}
        session.generation.recordings[side] = recorded(generate(engine, document.sentence, **asked))
    picture = session.generation.picture()
    assert picture is not None
    return picture.values


def of_script(text: str, folder: Path) -> np.ndarray:
    """The values that a script arrives at, when it is run in this folder."""
    file = folder / "copied.py"
    file.write_text(f"{text}\nimport numpy\nnumpy.save('values.npy', values)\n", encoding="utf-8")
    ran = subprocess.run([sys.executable, "-P", file.name], cwd=folder, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    return np.asarray(np.load(folder / "values.npy"))


def assert_same(found: np.ndarray, wanted: np.ndarray, stage: str) -> None:
    assert found.shape == wanted.shape
    # What the window is told of all but the weights has half the digits, of which a difference leaves fewer.
    exact = stage == "weights"
    largest = float(np.abs(wanted).max(initial=0.0, where=np.isfinite(wanted)))
    np.testing.assert_allclose(found, wanted, rtol=1e-4 if exact else 1e-3, atol=1e-5 if exact else 3e-3 * largest)


@pytest.mark.parametrize("name", DOCUMENTS)
def test_the_script_makes_the_numbers_on_screen(toy: Engine, tmp_path: Path, name: str) -> None:
    document = DOCUMENTS[name]
    assert_same(of_script(script(document), tmp_path), on_screen(toy, document), document.view.stage)


@pytest.mark.parametrize("architecture", OTHERS)
def test_so_it_does_for_other_models_wherever_they_lie(tmp_path: Path, architecture: str) -> None:
    checkpoint: Checkpoint = untrained(architecture)
    save(checkpoint, tmp_path / QUOTED)
    document = replace(OTHERS[architecture], model=str(tmp_path / QUOTED))
    found = of_script(script(document, architecture), tmp_path)
    assert_same(found, on_screen(engine_with(checkpoint), document), document.view.stage)


@pytest.mark.parametrize("name", GROUPED)
def test_so_it_does_where_heads_share_keys_and_values_and_says_which(tmp_path: Path, name: str) -> None:
    architecture, document = GROUPED[name]
    checkpoint = untrained(architecture)
    save(checkpoint, tmp_path / "model")
    document = replace(document, model=str(tmp_path / "model"))
    text = script(document, architecture, Grouping(4, 2))
    assert f"# of layer {document.view.layer} and head {document.view.head}: {TWO_SHARED}\n" in text
    assert_same(of_script(text, tmp_path), on_screen(engine_with(checkpoint), document), document.view.stage)
    if document.view.stage == "weights" and document.view.side != "change":
        page = (tmp_path / "attention.html").read_text(encoding="utf-8")
        assert "Key/value head 1 of 2, shared by heads 2" in page


@pytest.mark.parametrize("kind", ["decoder", "cross"])
def test_each_query_head_of_the_script_reads_the_key_head_of_its_group(tmp_path: Path, kind: str) -> None:
    checkpoint = untrained()
    save(checkpoint, tmp_path / "model")
    document = Document(model=str(tmp_path / "model"), view=View(kind=kind, stage="scores", step=0))
    found = of_script(script(document, "translator", Grouping(4, 2)), tmp_path)  # [L, H, T, S]
    seen: dict[str, np.ndarray] = {}
    source = checkpoint.tokenizer.encode(document.sentence)
    begin = checkpoint.model.config.begin_id
    checkpoint.model(
        np.array([source]), np.array([[begin]]), watch=lambda name, array: seen.__setitem__(name, np.array(array))
    )
    name = "self" if kind == "decoder" else kind
    for layer, head in np.ndindex(3, 4):
        query, key = (seen[f"decoder.{layer}.{name}.{part}"][0] for part in ("query", "key"))
        np.testing.assert_allclose(found[layer, head], query[head] @ key[head // 2].T, rtol=1e-4, atol=1e-5)


def test_a_mean_of_heads_shares_nothing_and_neither_do_heads_of_their_own() -> None:
    averaged = script(Document(view=View(average=True)), "translator", Grouping(4, 2))
    alone = script(Document(), "translator", Grouping(4, 4))
    assert not any("shared" in text or "Grouping" in text for text in (averaged, alone))


@pytest.mark.parametrize(("name", "kind"), [("gpt2", "decoder"), ("llama-3", "decoder"), ("marian", "cross")])
def test_so_it_does_for_folders_from_elsewhere(tmp_path: Path, name: str, kind: str) -> None:
    folder = spoken(name, tmp_path / name)
    document = Document(model=str(folder), sentence="the cat sings", view=View(kind=kind, layer=1))
    engine = engine_with(load(folder))
    architecture = engine.checkpoint.model.config.architecture
    found = of_script(script(document, architecture), tmp_path)
    assert_same(found, on_screen(engine, document), document.view.stage)


def test_what_a_language_model_reads_at_once_is_the_prompt_and_what_it_writes(tmp_path: Path) -> None:
    folder = spoken("llama-3", tmp_path / "llama")
    document = Document(
        model=str(folder), sentence="the cat", mistakes=("no-causal-mask",), view=View(kind="decoder", layer=1, head=2)
    )
    checkpoint = load(folder)
    config, prompt = checkpoint.model.config, checkpoint.read(document.sentence)
    written = mlxdecoder.generate(checkpoint.model, [prompt], max_tokens=24)[0].tokens
    with mistaken(checkpoint.model, ["no-causal-mask"]):
        wanted = attend(checkpoint.model, prompt, written).stage("decoder")
    text = script(document, "language_model", Grouping(config.n_heads, config.kv_heads))
    assert "shared by heads" in text
    assert_same(of_script(text, tmp_path), wanted, "weights")
    assert "shared by heads" in (tmp_path / "attention.html").read_text(encoding="utf-8")


def test_the_page_that_the_script_saves_shows_the_tokens(tmp_path: Path) -> None:
    of_script(script(Document(sentence="The black cat sleeps.")), tmp_path)
    page = (tmp_path / "attention.html").read_text(encoding="utf-8")
    assert "black" in page and "chat" in page


def test_the_script_is_short() -> None:
    assert len(script(Document()).splitlines()) <= 20


@pytest.mark.parametrize(("side", "words"), [("wrong", False), ("right", False), ("change", False), ("change", True)])
def test_what_is_read_at_once_is_the_attention_over_the_right_translation(
    toy: Engine, tmp_path: Path, side: str, words: bool
) -> None:
    view = View(kind="decoder", side=side, layer=1, head=2, words=words)
    document = Document(mistakes=("no-causal-mask",), view=view)
    model, tokenizer = toy.checkpoint.model, toy.checkpoint.tokenizer
    source = tokenizer.encode(document.sentence)
    target = [model.config.begin_id, *tokenizer.encode("Le chat noir dort.")]
    seen = {}
    for name, mistakes in (("right", []), ("wrong", ["no-causal-mask"])):
        with mistaken(model, mistakes):
            seen[name] = attend(model, source, target).stage("decoder")
    seen["change"] = seen["wrong"] - seen["right"]
    wanted = seen[side]
    if words:
        read = words_of(tokenizer.pieces(target))
        wanted = merge(wanted, read, read)
    assert_same(of_script(script(document), tmp_path), wanted, "weights")
