"""The collectives of a PyTorch before 2.14, whose process groups have no hooks: those that Python asks
a group for."""

from __future__ import annotations

import functools
import itertools
from typing import Any, Callable, List, Optional

from lockstep import _collectives
from lockstep._guard import guarded

# What goes into these stands behind what comes out of them.
_OUTPUTS_FIRST = ("ALLGATHER", "REDUCE_SCATTER", "ALLTOALL", "GATHER", "SCATTER")


class _Call:
    """A call of a method, as a hook of a process group has it from 2.14 on."""

    def __init__(self, name: str, number: int, inputs: List[Any], outputs: List[Any]) -> None:
        self.name = name
        self.op_id = number
        self.input_tensors = inputs
        self.output_tensors = outputs
        self.work: Any = None  # None also where the method failed, or coalesces


def watch(flights_of: Callable[[Any], Any]) -> None:
    """Sees the methods of every process group.

    Args:
        flights_of: what a group's collectives are told to; None where nobody wants to know.
    """
    import torch.distributed as dist

    numbers = itertools.count(1)
    for name in _collectives.method_names():
        method = vars(dist.ProcessGroup).get(name)
        if method is not None:
            setattr(dist.ProcessGroup, name, _watched(method, name, numbers, flights_of))


def unwatched(name: str) -> Callable:
    """The method as PyTorch has it."""
    import torch.distributed as dist

    method = getattr(dist.ProcessGroup, name)
    original: Callable = getattr(method, "__wrapped__", method)
    return original


def _watched(method: Callable, name: str, numbers: Any, flights_of: Callable[[Any], Any]) -> Callable:
    outputs_first = name.strip("_").upper().startswith(_OUTPUTS_FIRST)

    @guarded
    def begins(group: Any, call: _Call) -> Any:
        flights = flights_of(group)
        if flights is not None:
            flights.before(call)
        return flights

    @guarded
    def ends(flights: Any, call: _Call) -> None:
        if flights is not None:
            flights.after(call)

    @functools.wraps(method)
    def watched(group: Any, *args: Any, **kwargs: Any) -> Any:
        given = [*args, *kwargs.values()]
        call = _Call(name, next(numbers), _tensors(given[1:2] if outputs_first else given[:1]),
                     _tensors(given[:1]))
        flights: Optional[Any] = begins(group, call)
        try:
            call.work = method(group, *args, **kwargs)
            return call.work
        finally:
            ends(flights, call)

    return watched


def _tensors(given: Any) -> List[Any]:
    """Those in an argument: a tensor, a list of them, or lists in a list."""
    if isinstance(given, (list, tuple)):
        return [tensor for part in given for tensor in _tensors(part)]
    return [given] if hasattr(given, "element_size") else []
