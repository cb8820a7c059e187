"""The collectives of a process group whose work a GPU does: the host queues it, and goes on."""

from __future__ import annotations

import functools
from typing import Any, Callable, Dict, Optional, Tuple

from lockstep import _kinds
from lockstep._device import BY_DEVICE
from lockstep._guard import guarded

_Landed = Tuple[int, int, int, int, int]  # sequence, step, bucket, operation, bytes


class DeviceFlights:
    """Stands in for ``_native.Flights``. A collective is queued when the host queued it, and in flight
    from when its device had come to it until it was done: an event on the stream that it was queued
    from, and one on a stream that PyTorch has put behind it, for the callback of its future."""

    def __init__(self, flights: Any, memory: Any, device: Callable[[Any], Any],
                 add_done_callback: Callable) -> None:
        self._flights = flights
        self._memory = memory
        self._device = device  # the DeviceSpans of a tensor, or None
        self._add_done_callback = add_done_callback
        self._launched: Dict[int, Tuple[Any, Any]] = {}  # by place: the spans' device, the point
        self._buckets: Dict[int, Dict[int, Tuple[int, int, int]]] = {}  # by step: launched, ended, bytes
        self._spans: Any = None  # of the buckets of this backward; None: they are on the host
        self._step = 0
        self.busy = flights.busy
        self.expect = flights.expect
        self.waited = flights.waited
        self.hook_begins = flights.hook_begins
        self.hook_returns = flights.hook_returns

    def set_step(self, step: int) -> None:
        self._step = step
        self._flights.set_step(step)

    # -- a collective -----------------------------------------------------------------------------

    @guarded
    def before(self, args: Any) -> None:
        """A group's pre-hook."""
        place = self._flights.before(args)
        tensors = args.input_tensors or args.output_tensors
        if place is not None and tensors:
            self._launches(place, tensors[0])

    @guarded
    def after(self, args: Any) -> None:
        """A group's post-hook."""
        place = self._flights.place_of(args)
        future = _future_of(args.work) if place in self._launched else None
        if future is None:  # it ends, as far as one can see, where it was queued
            self._launched.pop(place, None)
            self._flights.after(args)
        else:
            self.follow(place, future)

    def begin(self, bucket: int, size: int, tensor: Any) -> int:
        """Of a communication hook, which knows its bucket."""
        place: int = self._flights.begin(bucket, size, tensor)
        self._launches(place, tensor)
        return place

    def follow(self, place: int, future: Any) -> None:
        launched = self._launched.pop(place, None)
        if launched is None:
            self._flights.follow(place, future)
        else:
            self._add_done_callback(future, functools.partial(self._ended, place, *launched))

    def result(self, place: int, future: Any) -> Any:
        """The future of a collective's one tensor."""
        if place in self._launched:
            self.follow(place, future)
            place = -1
        return self._flights.result(place, future)

    def _launches(self, place: int, tensor: Any) -> None:
        spans = self._device(tensor)
        point = spans.now() if spans is not None else None
        if point is not None:
            self._launched[place] = spans, point

    @guarded
    def _ended(self, place: int, spans: Any, launched: Any, _: Any) -> None:
        landed: Optional[_Landed] = self._flights.landed(place)
        if landed is not None:
            if landed[2] != _kinds.NO_BUCKET:
                self._spans = spans
            spans.when((launched, spans.now()), functools.partial(self._flew, landed))

    def _flew(self, landed: _Landed, launched: int, ended: int) -> None:
        self._flights.flew(landed, launched, ended)
        _, step, bucket, _, size = landed
        if bucket != _kinds.NO_BUCKET:
            self._buckets.setdefault(step, {})[bucket] = launched, ended, size

    # -- a backward -------------------------------------------------------------------------------

    def tell_backward(self, lane: int, origin: int, end: int, ready: Any, buckets: Any,
                      tells_buckets: bool) -> None:
        """Gradients are ready when the host says so; buckets, when the device has come there."""
        spans, self._spans = self._spans, None
        self._flights.tell_backward(lane, origin, end, ready, buckets,
                                    tells_buckets and spans is None)
        if spans is not None:
            spans.when((spans.now(),), functools.partial(self._tell_buckets, lane, self._step))

    def _tell_buckets(self, lane: int, step: int, end: int) -> None:
        """Behind all collectives of the step: what was told of those is known by now."""
        buckets = self._buckets.pop(step, {})
        self._buckets.clear()  # of a backward that failed
        if not buckets:
            return
        span = functools.partial(self._memory.span, lane)
        last = until = max(launched for launched, _, _ in buckets.values())
        for bucket, (launched, ended, size) in sorted(buckets.items()):
            for kind in (_kinds.BUCKET_READY, _kinds.BUCKET_LAUNCHED):
                span(kind, launched, launched, step, bucket, size, BY_DEVICE)
            if ended > until:
                span(_kinds.WAIT, until, ended, step, bucket, 0, BY_DEVICE)
                until = ended
        span(_kinds.FINALIZE, last, max(last, end), step, _kinds.NO_BUCKET, 0, BY_DEVICE)


def _future_of(work: Any) -> Any:
    """None where an operation has none, as some that send have."""
    try:
        return work.get_future()
    except (AttributeError, RuntimeError):
        return None
