"""The backward of the job's losses: one wrapper of ``torch.autograd.backward`` for all models."""

from __future__ import annotations

import ctypes
import functools
from typing import Any, Dict, List

from lockstep._guard import guarded

_watchers: List[Any] = []
_in_backward = False
_REALS: Dict[Any, Any] = {}  # C's types of what lies in a tensor as it is


def follow(watcher: Any) -> None:
    """Tells a watcher of each backward.

    The watchers are told in their order, until one says that the backward is its own:
    ``backward_begins()`` returns what its ``backward_ends(began, tensors)`` is given, or None. Of
    one that failed it hears by ``backward_fails()``, where it has that.
    """
    if not _watchers:
        _wrap()
    _watchers.append(watcher)


def _wrap() -> None:
    import torch

    _REALS.update({(torch.Tensor, dtype, torch.strided): real for dtype, real in (
        (torch.float32, ctypes.c_float), (torch.float64, ctypes.c_double))})
    backward = torch.autograd.backward

    @functools.wraps(backward)
    def watched(tensors: Any, *args: Any, **kwargs: Any) -> Any:
        global _in_backward
        # A backward may be within one, as of activation checkpoints.
        began = None if _in_backward else _begins()
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
        _ends(*began, tensors)
        return result

    torch.autograd.backward = watched


@guarded
def _begins() -> Any:
    for watcher in _watchers:
        began = watcher.backward_begins()
        if began is not None:
            return watcher, began
    return None


@guarded
def _ends(watcher: Any, began: Any, tensors: Any) -> None:
    watcher.backward_ends(began, tensors)


@guarded
def _fails(watcher: Any) -> None:
    fails = getattr(watcher, "backward_fails", None)
    if fails is not None:
        fails()


def loss_of(tensors: Any) -> Any:
    """The number that a backward was called on; None where it is none on the CPU, since of a GPU's
    the value would have to be waited for."""
    root = tensors[0] if isinstance(tensors, (list, tuple)) and tensors else tensors
    if getattr(root, "numel", lambda: 0)() != 1 or not root.is_cpu:
        return None
    real = _REALS.get((type(root), root.dtype, root.layout))
    if real is None or root.is_neg():
        return float(root.item())
    # As item() would, which takes a multiple of it in caches that a backward has filled.
    return float(real.from_address(root.data_ptr()).value)
