"""The backward of the job's losses: one wrapper of ``torch.autograd.backward`` for all models."""

from __future__ import annotations

import functools
from typing import Any, List

from lockstep._guard import guarded

_watchers: List[Any] = []
_in_backward = False


def follow(watcher: Any) -> None:
    """Tells a watcher of each backward.

    The watchers are asked in their order whether the backward is theirs (``wants_backward()``); the
    first that says so is told ``backward_begins()``, which returns what ``backward_ends(began,
    tensors)`` is given.
    """
    if not _watchers:
        _wrap()
    _watchers.append(watcher)


def _wrap() -> None:
    import torch

    backward = torch.autograd.backward

    @functools.wraps(backward)
    def watched(tensors: Any, *args: Any, **kwargs: Any) -> Any:
        if _in_backward:  # a backward within one, as of activation checkpoints
            return backward(tensors, *args, **kwargs)
        began = _begins()
        if began is None:
            return backward(tensors, *args, **kwargs)
        ended = False
        try:
            result = backward(tensors, *args, **kwargs)
            ended = True
            return result
        finally:
            _ends(began, tensors if ended else None)

    torch.autograd.backward = watched


@guarded
def _begins() -> Any:
    global _in_backward
    for watcher in _watchers:
        if watcher.wants_backward():
            _in_backward = True
            return watcher, watcher.backward_begins()
    return None


def _ends(began: Any, tensors: Any) -> None:
    global _in_backward
    _in_backward = False
    if tensors is not None:  # of one that failed nothing is known
        _tell_end(began, tensors)


@guarded
def _tell_end(began: Any, tensors: Any) -> None:
    watcher, at = began
    watcher.backward_ends(at, tensors)


def loss_of(tensors: Any) -> Any:
    """The number that a backward was called on; None where it is none on the CPU, since of a GPU's
    the value would have to be waited for."""
    root = tensors[0] if isinstance(tensors, (list, tuple)) and tensors else tensors
    if getattr(root, "numel", lambda: 0)() == 1 and root.device.type == "cpu":
        return float(root.item())
    return None
