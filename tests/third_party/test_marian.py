"""The MarianMT of `bench` is one and the same model in transformers, in CTranslate2 and here."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("ctranslate2")
pytest.importorskip("transformers")

from mlxdecoder.bench.marian import make, with_ctranslate2, with_transformers
from mlxdecoder.bench.marian_ours import with_ours
from mlxdecoder.bench.translation import TOKENS, Size

SIZE = Size(d_model=16, d_ff=32, n_heads=2, n_encoder_layers=2, n_layers=2, vocab=50, rounds=1)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("marian")
    make(SIZE, folder)
    return folder


@pytest.mark.parametrize("beam", [1, 4])
def test_all_three_translate_alike_and_to_the_limit(folder: Path, beam: int) -> None:
    sources = np.random.default_rng(beam).integers(1, SIZE.pad, (5, 7)).tolist()
    found = [load(folder)(sources, beam) for load in (with_ours, with_transformers, with_ctranslate2)]
    assert found[0] == found[1] == found[2]
    assert {len(row) for row in found[0]} == {TOKENS}
    assert len({tuple(row) for row in found[0]}) > 2  # they depend on what is read
