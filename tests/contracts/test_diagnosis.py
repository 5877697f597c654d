"""The diagnosis: what is told in addition makes it better, and what it names fits what was tried."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mlxdecoder import contracts
from tests.contracts.adapters import Plain, triangle


def everything(tokens: np.ndarray) -> np.ndarray:
    return np.ones((len(tokens), tokens.shape[1], tokens.shape[1]), bool)


@pytest.mark.parametrize("told", [{}, {"pad": 0}])
def test_a_decoder_without_any_mask_is_named_so_whatever_is_told(told: dict[str, Any]) -> None:
    found = contracts.diagnose(Plain(everything), "decoder", **told)
    assert found.suspects[0].mistake.id == "no-causal-mask", str(found)
    assert found.suspects[0].likeness == 1


def test_of_a_decoder_without_a_padding_mask_it_is_said_that_no_source_is_meant() -> None:
    found = contracts.diagnose(Plain(triangle), "decoder", pad=0)
    assert found.suspects[0].mistake.id == "no-source-padding-mask"
    assert str(found).count("there is no source") == 2
    assert str(found).count("100%: ") == 1


def test_of_a_decoder_that_sees_ahead_nothing_is_said_of_sources() -> None:
    assert "no source" not in str(contracts.diagnose(Plain(everything), "decoder"))
