"""The contracts on PyTorch's modules, as they are used rightly and wrongly."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

torch = pytest.importorskip("torch")

from mlxdecoder.contracts import diagnose
from mlxdecoder.errors import UserError
from tests.contracts.judging import assert_found, assert_right, judge
from tests.third_party.torch_modules import TORCH
from tests.wild import Wild

# PyTorch itself refuses it, unless source and target are equally long.
REFUSED = {"torch_translator.batch_first_forgotten"}
# A mask of ones and zeros is right for what adds it; only who says that True = may attend is told of the mistake.
# In the models it makes every logit NaN, as other masks do: so it is found, but not named.
SAID = {"torch_sdpa.ones_and_zeros": {"mask": "allowed"}}
UNNAMED = {"torch_sdpa.ones_and_zeros", "torch_gpt.ones_and_zeros", "torch_translator.tgt_mask_of_ones_and_zeros"}


@pytest.fixture(autouse=True, scope="module")
def _as_users_run_it() -> Iterator[None]:
    """Without gradients, which lets PyTorch take its fast paths; one thread, as the models are small."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    with torch.no_grad():
        yield
    torch.set_num_threads(threads)


@pytest.mark.parametrize("entry", [one for one in TORCH if one.mistake is None], ids=lambda entry: entry.name)
def test_right_use_raises_no_alarm(entry: Wild) -> None:
    assert_right(entry, judge(entry))


@pytest.mark.parametrize("entry", [one for one in TORCH if one.mistake is not None], ids=lambda entry: entry.name)
def test_wrong_use_is_found_and_named(entry: Wild) -> None:
    if entry.name in REFUSED:
        with pytest.raises(UserError, match="must be equal"):
            judge(entry)
        return
    found = diagnose(entry.make(0), entry.kind, **{**entry.options, **SAID.get(entry.name, {})})
    if entry.name in UNNAMED:
        assert not found.holds, str(found)
    else:
        assert_found(entry, found)
