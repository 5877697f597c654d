"""Training: batches, loss, optimiser, the trainer, checkpoints.

>>> from mlxdecoder.text.corpus import read_corpus
>>> from mlxdecoder.training import PRESETS, RunFolder, Trainer, fresh_model, prepare
>>> pairs, toy = read_corpus("pairs.tsv").pairs, PRESETS["toy"]
>>> data = prepare(pairs[100:], pairs[:100], toy.vocab_size)
>>> model = fresh_model(toy.model, data.tokenizer, seed=0)
>>> trainer = Trainer(model, data.tokenizer, data.train, data.validation, toy.training, folder=RunFolder("run"))
>>> measures = trainer.run()
"""

from mlxdecoder.training.checkpoint import Checkpoint, load_checkpoint, save_checkpoint
from mlxdecoder.training.evaluation import exact_match, teacher_forced
from mlxdecoder.training.observer import Measures, Observer, StepReport
from mlxdecoder.training.options import TrainingOptions
from mlxdecoder.training.prepare import Prepared, fresh_model, prepare
from mlxdecoder.training.presets import PRESETS, Preset
from mlxdecoder.training.run_folder import RunFolder
from mlxdecoder.training.trainer import Trainer

__all__ = [
    "PRESETS",
    "Checkpoint",
    "Measures",
    "Observer",
    "Prepared",
    "Preset",
    "RunFolder",
    "StepReport",
    "Trainer",
    "TrainingOptions",
    "exact_match",
    "fresh_model",
    "load_checkpoint",
    "prepare",
    "save_checkpoint",
    "teacher_forced",
]
