"""A process that only pretends to have others beside it."""

from mlxdecoder.training.peers import Peers


class OneOf(Peers):
    """One of several processes, of which the others have nothing to tell; remembers the losses of its shares."""

    def __init__(self, rank, size):
        super().__init__()
        self.rank, self.size, self.losses = rank, size, []

    def total(self, loss, gradient):
        self.losses.append(loss.item())
        return loss, gradient

    def any(self, holds):
        return holds
