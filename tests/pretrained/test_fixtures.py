"""Every number that transformers gave for small models of each family, without transformers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.pretrained.judging import judge
from tests.pretrained.variants import KEPT

FIXTURES = Path(__file__).parent / "fixtures"


@pytest.mark.parametrize("name", [variant.name for variant in KEPT])
def test_numbers_are_those_of_transformers(name: str) -> None:
    with np.load(FIXTURES / name / "answers.npz") as answers:
        judge(FIXTURES / name, dict(answers))
