"""Attention to point at: one self-contained page for browsers and notebooks, without a network, a server or an install.

Weights are painted raw; the intended mask is an outline over them, and what lies outside it is flagged.
"""

from mlxdecoder.html.view import AttentionView

__all__ = ["AttentionView"]
