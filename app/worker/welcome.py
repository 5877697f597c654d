"""The first message: who is here, and the catalogue of what can be chosen."""

from __future__ import annotations

import mlx.core as mx

from mlxdecoder import __version__, kernels
from mlxdecoder.app.protocol import Message
from mlxdecoder.app.worker.catalogue import entries, presets
from mlxdecoder.errors import UserError


def welcome() -> Message:
    """Ready to be sent."""
    device = "Metal" if mx.default_device() == mx.gpu else "CPU"
    return Message(
        "welcome",
        fields={
            "version": __version__,
            "device": device,
            "kernels": _kernels(),
            "catalogue": entries(),
            "presets": presets(),
        },
    )


def _kernels() -> str:
    try:
        return kernels.where()
    except UserError:  # a setting that cannot be: attention will say so when it is asked for
        return "off"
