"""How a model is watched: it tells a function the name and the value of every array on its way."""

from __future__ import annotations

from collections.abc import Callable

import mlx.core as mx

Watch = Callable[[str, mx.array], None]


def tell(watch: Watch | None, name: str, x: mx.array) -> mx.array:
    """Show x to the watcher, if there is one, and pass it on."""
    if watch:
        watch(name, x)
    return x


def within(watch: Watch | None, name: str) -> Watch | None:
    """A watcher that is told every name behind `name` and a dot."""
    if watch is None:
        return None
    return lambda inner, array: watch(f"{name}.{inner}", array)
