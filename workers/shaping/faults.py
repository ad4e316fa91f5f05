"""What can be wrong with a shaped network: always ours, never a target's."""


class ShapingError(RuntimeError):
    """The network cannot be shaped as asked. Says what failed, why and what to do."""


class NotPermittedError(ShapingError):
    """This process may not make networks of its own, or not give one a way out."""
