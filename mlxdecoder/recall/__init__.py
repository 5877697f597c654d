"""How far back a language model finds a fact: asked at stated distances, at lengths around and past the trained one.

>>> import mlxdecoder
>>> from mlxdecoder.recall import measure
>>> found = measure(mlxdecoder.load("my-language-model").model, lengths=(16, 32, 64, 128))
>>> found.effective_length()
64
"""

from mlxdecoder.recall.curve import Cell, Recall
from mlxdecoder.recall.measuring import default_lengths, measure, measure_function
from mlxdecoder.recall.tasks import TASKS, Alphabet, Questions

__all__ = ["TASKS", "Alphabet", "Cell", "Questions", "Recall", "default_lengths", "measure", "measure_function"]
