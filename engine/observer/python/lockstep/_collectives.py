"""Collectives of one process group: what was asked for, and when it was done."""

from __future__ import annotations

import time
from typing import Any, Callable, Dict, List, Optional

from lockstep import _kinds
from lockstep._guard import guarded

_HOOK_ID = 0x4C4B  # ours among a group's hooks

# c10d's names of operations.
_OPERATIONS = {
    "BROADCAST": _kinds.BROADCAST,
    "ALLREDUCE": _kinds.ALLREDUCE,
    "ALLREDUCE_COALESCED": _kinds.ALLREDUCE,
    "REDUCE": _kinds.REDUCE,
    "ALLGATHER": _kinds.ALLGATHER,
    "ALLGATHER_BASE": _kinds.ALLGATHER,
    "ALLGATHER_COALESCED": _kinds.ALLGATHER,
    "ALLGATHER_INTO_TENSOR_COALESCED": _kinds.ALLGATHER,
    "REDUCE_SCATTER": _kinds.REDUCE_SCATTER,
    "REDUCE_SCATTER_BASE": _kinds.REDUCE_SCATTER,
    "REDUCE_SCATTER_TENSOR_COALESCED": _kinds.REDUCE_SCATTER,
    "ALLTOALL": _kinds.ALLTOALL,
    "ALLTOALL_BASE": _kinds.ALLTOALL,
    "GATHER": _kinds.GATHER,
    "SCATTER": _kinds.SCATTER,
    "SEND": _kinds.SEND,
    "RECV": _kinds.RECV,
    "BARRIER": _kinds.BARRIER,
}

# How many collectives of one group run at a time: Gloo's threads, NCCL's stream.
_AT_ONCE = {"gloo": 2}


def has_hooks(group: Any) -> bool:
    """Whether this PyTorch lets a group's collectives be seen (2.14 on)."""
    return hasattr(group, "register_pre_hook") and hasattr(group, "register_post_hook")


class Flight:
    """A collective that is under way."""

    __slots__ = ("bucket", "bytes", "number", "operation", "queued", "step", "ended", "latest")

    def __init__(self, operation: int, number: int, payload: int, queued: int, step: int) -> None:
        self.operation = operation
        self.number = number
        self.bytes = payload
        self.queued = queued
        self.step = step
        self.bucket = _kinds.NO_BUCKET
        self.ended = 0
        self.latest = 0  # it had ended by then, whenever we hear of it; 0: not known


class Flights:
    """Tells of the collectives of one group.

    Gloo and NCCL do not tell when they began: that is derived from the order, since a group runs
    what it is asked for first in, first out.
    """

    def __init__(self, recorder: Any, steps: Any, backend: str, group: int) -> None:
        self.memory = recorder.memory
        self.steps = steps
        self.group = group
        name = backend if group == 0 else f"{backend} {group}"
        self.queue = self.memory.lane(f"{name} queue")
        self.lanes = [self.memory.lane(f"{name} {i}") for i in range(_AT_ONCE.get(backend, 1))]
        self._free = [0] * len(self.lanes)  # until when each lane is taken
        self._sequence = 0
        self._open: List[Flight] = []

    def begin(self, operation: int, payload: int) -> Flight:
        """A collective is about to be handed over."""
        flight = Flight(operation, self._sequence, payload, self.memory.ticks(), self.steps.number)
        self._sequence += 1
        self._open.append(flight)
        return flight

    def tell_queued(self, flight: Flight) -> None:
        """Once its bucket is known."""
        self.memory.span(self.queue, _kinds.COLLECTIVE_QUEUED, flight.queued, flight.queued,
                         flight.step, flight.bucket,
                         _kinds.collective(flight.number, flight.bytes),
                         _kinds.operation(flight.operation, self.group))
        self.memory.operation(flight.operation, flight.bucket, flight.number, flight.queued)
        self.memory.sent(flight.bytes)

    def drain(self, seconds: float = 0.5) -> None:
        """Lets the threads that tell of an end do so before Python ends, which they would not
        survive, nor would the process."""
        deadline = time.monotonic() + seconds
        while self._open and time.monotonic() < deadline:
            time.sleep(0.001)

    @guarded
    def end(self, flight: Flight) -> None:
        """It is done. Called by whichever thread saw it, with the interpreter's lock."""
        now = self.memory.ticks()
        # Who waited for it may have gone on before this thread got the interpreter.
        flight.ended = min(now, flight.latest) if flight.latest else now
        lane = min(range(len(self._free)), key=self._free.__getitem__)
        began = min(max(flight.queued, self._free[lane]), flight.ended)
        self._free[lane] = flight.ended
        self.memory.span(self.lanes[lane], _kinds.COLLECTIVE, began, flight.ended, flight.step,
                         flight.bucket, _kinds.collective(flight.number, flight.bytes),
                         _kinds.operation(flight.operation, self.group))
        self._open.remove(flight)
        if self._open:
            first = self._open[0]
            self.memory.operation(first.operation, first.bucket, first.number, first.queued)
        else:
            self.memory.operation(0, _kinds.NO_BUCKET, 0, 0)


class GroupHooks:
    """Sees every collective of a group by hooks of the group itself: nobody's work changes."""

    def __init__(self, flights: Flights, group: Any,
                 bucket_of: Callable[[Flight, Any], None]) -> None:
        self._flights = flights
        self._bucket_of = bucket_of
        self._open: Dict[int, Flight] = {}
        self._operations: Dict[Any, int] = {}
        self._group: Optional[Any] = group
        group.register_pre_hook(_HOOK_ID, self._before)
        group.register_post_hook(_HOOK_ID, self._after)

    def close(self) -> None:
        """Takes the hooks out: a group that ends with hooks of Python's takes the process along."""
        if self._group is not None:
            self._group.unregister_pre_hook(_HOOK_ID)
            self._group.unregister_post_hook(_HOOK_ID)
            self._group = None

    @guarded
    def _before(self, args: Any) -> None:
        name = args.name
        operation = self._operations.get(name)
        if operation is None:
            operation = self._operations[name] = _OPERATIONS.get(name.name, 0)
        if operation != 0:
            tensors = args.input_tensors or args.output_tensors
            payload = sum(t.numel() * t.element_size() for t in tensors)
            flight = self._flights.begin(operation, payload)
            self._bucket_of(flight, tensors)
            self._open[args.op_id] = flight
            self._flights.tell_queued(flight)

    @guarded
    def _after(self, args: Any) -> None:
        flight = self._open.pop(args.op_id, None)
        if flight is None:
            return
        if args.work is None:
            self._flights.end(flight)
        else:
            args.work.get_future().add_done_callback(lambda _: self._flights.end(flight))
