"""Random models of every family and variant, saved by transformers: ours say the same."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("transformers")
torch = pytest.importorskip("torch")

import mlxdecoder
from mlxdecoder.pretrained.exporting import export
from tests.pretrained.answers import answers, make, read
from tests.pretrained.judging import judge
from tests.pretrained.variants import VARIANTS, Variant


@pytest.fixture(autouse=True, scope="module")
def _one_thread() -> Iterator[None]:
    """Threads that wait for each other make models as small as these slow on a busy machine."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.mark.parametrize("variant", VARIANTS, ids=lambda variant: variant.name)
def test_numbers_are_those_of_transformers_there_and_back(variant: Variant, tmp_path: Path) -> None:
    said = make(variant, tmp_path / "there")
    judge(tmp_path / "there", said)
    export(mlxdecoder.load(tmp_path / "there"), tmp_path / "back")
    again = answers(read(variant, tmp_path / "back"))
    for name in {"logits", "states", "classes"} & said.keys():
        np.testing.assert_allclose(again[name], said[name], atol=1e-5)
