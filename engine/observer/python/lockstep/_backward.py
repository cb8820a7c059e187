"""The backward of the job's losses: one wrapper of ``torch.autograd.backward`` for all models."""

from __future__ import annotations

import functools
from typing import Any, List

from lockstep._guard import guarded

_watchers: List[Any] = []
_in_backward = False


def follow(watcher: Any) -> None:
    """Tells a watcher of each backward.

    The watchers are told in their order, until one says that the backward is its own:
    ``backward_begins()`` returns what its ``backward_ends(began, loss)`` is given, or None; the loss
    is the number that the backward was called on, or None. Of one that failed it hears by
    ``backward_fails()``, where it has that.
    """
    if not _watchers:
        _wrap()
    _watchers.append(watcher)


def _wrap() -> None:
    import torch

    backward = torch.autograd.backward

    @functools.wraps(backward)
    def watched(tensors: Any, *args: Any, **kwargs: Any) -> Any:
        global _in_backward
        # A backward may be within one, as of activation checkpoints.
        began = None if _in_backward else _begins(tensors)
        if began is None:
            return backward(tensors, *args, **kwargs)
        _in_backward = True
        try:
            result = backward(tensors, *args, **kwargs)
        except BaseException:
            _fails(began[0])
            raise
        finally:
            _in_backward = False
        _ends(*began)
        return result

    torch.autograd.backward = watched


@guarded
def _begins(tensors: Any) -> Any:
    for watcher in _watchers:
        began = watcher.backward_begins()
        if began is not None:
            return watcher, began, _loss_of(tensors)
    return None


@guarded
def _ends(watcher: Any, began: Any, loss: Any) -> None:
    watcher.backward_ends(began, loss)


@guarded
def _fails(watcher: Any) -> None:
    fails = getattr(watcher, "backward_fails", None)
    if fails is not None:
        fails()


def _loss_of(tensors: Any) -> Any:
    """The number that a backward is called on; None where it is none on the CPU, since of a GPU's
    the value would have to be waited for. Read before the backward, which fills the caches."""
    root = tensors[0] if isinstance(tensors, (list, tuple)) and tensors else tensors
    if getattr(root, "numel", lambda: 0)() != 1 or not root.is_cpu:
        return None
    value = root.tolist()  # item() takes a multiple of it where the caches are not its own
    while isinstance(value, list):
        value = value[0]
    return float(value) if isinstance(value, (float, int)) else None
