"""PyTorch's own modules wrapped as attention, decoders and translators, as people wrap them: right, and with a mistake.

Import this only where torch is installed.
"""

from __future__ import annotations

from tests.third_party import torch_attention, torch_decoders, torch_translators
from tests.wild.entry import Wild

TORCH: list[Wild] = [*torch_attention.ENTRIES, *torch_decoders.ENTRIES, *torch_translators.ENTRIES]
