"""Training: batches, loss, optimiser, the trainer, checkpoints."""
