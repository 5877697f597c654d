"""`mlxdecoder generate`: texts and ids are gone on with, as transformers goes on with them."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import mlx.core as mx
import numpy as np
import pytest
from mlx.utils import tree_flatten

from mlxdecoder.config import ModelConfig
from mlxdecoder.models import make_model
from mlxdecoder.training import save_checkpoint
from mlxdecoder.translate import load
from tests.pretrained.folders import FIXTURES

Run = Callable[..., tuple[int, str, str]]
GPT2 = FIXTURES / "gpt2"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An untrained language model with a tokenizer."""
    tokenizer = load().tokenizer
    shape = ModelConfig(architecture="language_model", target_vocab=tokenizer.vocab_size, d_model=64, n_heads=2)
    path = tmp_path_factory.mktemp("models") / "model"
    mx.random.seed(3)  # of other weights, some say bytes that are no character, of which nothing is shown
    save_checkpoint(path, shape, dict(tree_flatten(make_model(shape).parameters())), tokenizer)
    return path


@pytest.mark.parametrize(("search", "beam"), [("greedy", 1), ("beam", 4)])
@pytest.mark.parametrize("family", ["gpt2", "llama-3"])
def test_ids_go_on_as_transformers_goes_on(run: Run, family: str, search: str, beam: int) -> None:
    """Given as ids or, as there is no tokenizer, as a text of numbers."""
    answers = np.load(FIXTURES / family / "answers.npz")
    row = int(answers["mask"].all(axis=1).argmax())
    ids, wanted = answers["ids"][row], answers[search][row]
    asked = ["--model", FIXTURES / family, "--beam", beam, "--max-tokens", len(wanted)]
    said = " ".join(map(str, wanted)) + "\n"
    assert run("generate", *asked, "--ids", *ids)[:2] == (0, said)
    assert run("generate", *asked, " ".join(map(str, ids)))[:2] == (0, said)


def test_lines_come_out_one_each_in_their_order(run: Run, folder: Path) -> None:
    lines = ["The black cat", "The dog runs", "I see the big house."]
    _, together, _ = run("generate", "--model", folder, "--max-tokens", 6, stdin="\n".join(lines).encode())
    alone = [run("generate", "--model", folder, "--max-tokens", 6, line)[1] for line in lines]
    assert together == "".join(alone)
    assert len(together.split("\n")) == 4


def test_the_same_seed_draws_the_same_and_another_one_something_else(run: Run, folder: Path) -> None:
    draws = [run("generate", "--model", folder, "--temp", 2, "--seed", seed, "The cat")[1] for seed in (1, 1, 2)]
    assert draws[0] == draws[1] != draws[2]


def test_on_a_terminal_tokens_come_one_by_one_and_make_the_same_line(
    run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, piped, _ = run("generate", "--model", folder, "--max-tokens", 6, "The black cat")
    written: list[str] = []
    write = sys.stdout.write
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setattr(sys.stdout, "write", lambda text: written.append(text) or write(text))
    _, shown, _ = run("generate", "--model", folder, "--max-tokens", 6, "The black cat")
    assert shown == piped
    assert len([text for text in written if text.strip()]) > 1


@pytest.mark.parametrize("cache", [["--kv-bits", 8], ["--kv-bits", 4], ["--max-kv-size", 4]])
def test_a_smaller_cache_gives_as_many_tokens(run: Run, folder: Path, cache: list[object]) -> None:
    status, out, err = run("generate", "--model", folder, "--max-tokens", 9, "--json", *cache, "The cat")
    assert status == 0, err
    assert len(json.loads(out)["ids"]) == 9


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["x"], "--model"),
        (["--model", "TRANSLATOR", "x"], "For a translator: mlxdecoder translate"),
        (["--model", "TRANSLATOR", "x", "--top-k", 5], "--top-k: only used when tokens are drawn"),
        (["--model", "GPT2", "x"], "give it ids, such as 5 6 7"),
        (["--model", "GPT2", "x", "--ids", 5], "--ids"),
        (["--model", "GPT2", "--ids", 10**6], "1000000"),
        (["--model", "GPT2", "5 6", "--beam", 2, "--kv-bits", 8], "--kv-bits: "),
        (
            ["--model", "MISTRAL", "5 6", "--kv-bits", 8],
            "--kv-bits: a bounded cache is not quantised, and this model's",
        ),
        (["--model", "GPT2", "5 6", "--max-tokens", 0], "--max-tokens 0: "),
        (["--model", "GPT2", "5 6", "--beam", 0], "--beam 0: "),
    ],
)
def test_a_wrong_request_is_answered_with_status_2(run: Run, arguments: list[object], said: str) -> None:
    named = {"TRANSLATOR": load().path, "GPT2": GPT2, "MISTRAL": FIXTURES / "mistral"}
    status, out, err = run("generate", *(named.get(str(one), one) for one in arguments))
    assert (status, out) == (2, "")
    assert said in err
    assert "Traceback" not in err
