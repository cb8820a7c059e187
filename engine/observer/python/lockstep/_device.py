"""When a GPU did what the host only queued: by events of its streams, which are read once it has
come past them. Nobody waits for it.

This is the one file that talks to ``torch.cuda``, by ``Cuda``; the tests put a device in its place
whose clock they set.
"""

from __future__ import annotations

import collections
from typing import Any, Callable, Deque, NamedTuple, Optional, Tuple

from lockstep import _kinds

BY_DEVICE = 0x8000  # of a span's detail: its times are the device's
_MS = 1_000_000     # ns
_ANCHOR_LASTS = 250 * _MS
_PATIENCE = 5 * _MS     # for an event on an idle stream, which takes microseconds
_AT_THE_END = 1000 * _MS
_TRIES = 5
_DRIFT = 50e-6          # by how much two clocks of good machines drift apart
_MOST_WAITING = 20_000  # spans of which the device's times are not known yet


class Cuda:
    """A device of torch.cuda."""

    def __init__(self, device: Any) -> None:
        import torch

        self._cuda = torch.cuda
        self._device = device

    def stream(self) -> Any:
        """One that nothing else is queued on."""
        return self._cuda.Stream(device=self._device)

    def record(self, stream: Any = None) -> Any:
        """A point of a stream: None is the calling thread's current one."""
        event = self._cuda.Event(enable_timing=True)
        event.record(self._cuda.current_stream(self._device) if stream is None else stream)
        return event

    def is_capturing(self) -> bool:
        """Whether what is queued now is of a graph, and happens when that is launched."""
        return bool(self._cuda.is_current_stream_capturing())

    @staticmethod
    def is_past(point: Any) -> bool:
        return bool(point.query())

    @staticmethod
    def ms_from(earlier: Any, later: Any) -> float:
        """Between two points that are past, by the device's clock; negative the other way round."""
        return float(earlier.elapsed_time(later))


class _Anchor(NamedTuple):
    point: Any
    ticks: int    # of the host, as the device came past it
    doubt: float  # ticks: half of the bracket


class DeviceClock:
    """Tells in the host's ticks when a device came past a point.

    As engine/device/DeviceClock.h: an event on an idle stream, between two readings of
    the host's clock, ties the two together, anew four times a second, since they drift apart and
    long times between events are told badly.
    """

    def __init__(self, cuda: Any, memory: Any) -> None:
        self._cuda = cuda
        self._memory = memory
        self._stream = cuda.stream()
        self._anchor: Optional[_Anchor] = None
        self._tried = 0  # ticks

    def relate(self, patience: int = 0) -> bool:
        """Ties the clocks where that is due; a device that is busy is asked for `patience` ns.
        Returns whether times can be told."""
        now, per_ns = self._memory.ticks(), self._memory.ticks_of(_MS) / _MS
        if per_ns == 0:  # the host's own clock is not known yet
            return False
        if self._tried == 0 or now - self._tried > _ANCHOR_LASTS * per_ns or (
                patience and self._anchor is None):
            self._tried = now
            self._take(self._best(per_ns), now)
            while (self._anchor is None
                   and self._memory.ticks() - now < patience * per_ns):
                self._take(self._best(per_ns), now)
        return self._anchor is not None

    def ticks(self, point: Any) -> int:
        """When the device came past it, which it has; after `relate`."""
        assert self._anchor is not None
        ns = self._cuda.ms_from(self._anchor.point, point) * _MS
        return self._anchor.ticks + round(ns * self._memory.ticks_of(_MS) / _MS)

    def _best(self, per_ns: float) -> Optional[_Anchor]:
        best: Optional[_Anchor] = None
        for _ in range(_TRIES):
            before = self._memory.ticks()
            point = self._cuda.record(self._stream)
            while not self._cuda.is_past(point):
                if self._memory.ticks() - before > _PATIENCE * per_ns:
                    return best  # busy: the next one would take as long
            after = self._memory.ticks()
            if best is None or (after - before) / 2 < best.doubt:
                best = _Anchor(point, (before + after) // 2, (after - before) / 2)
        return best

    def _take(self, anchor: Optional[_Anchor], now: int) -> None:
        """One that is less certain than the last with its drift is not taken."""
        last = self._anchor
        if anchor is not None and (
                last is None or anchor.doubt < last.doubt + _DRIFT * (now - last.ticks)):
            self._anchor = anchor


class _Point:
    """Of a stream: where one span ends and the next begins it is one, and has one time."""

    __slots__ = ("event", "ticks")

    def __init__(self, event: Any) -> None:
        self.event = event
        self.ticks: Optional[int] = None  # once it has been read


class DeviceSpans:
    """What a device did, told once it has done it, in the order in which it was queued."""

    def __init__(self, cuda: Any, memory: Any, problem: Callable[[str], None]) -> None:
        self._cuda = cuda
        self._memory = memory
        self._problem = problem
        self._clock = DeviceClock(cuda, memory)
        self._waiting: Deque[Tuple[Tuple[Any, ...], Callable]] = collections.deque()
        self.failed = False

    def now(self) -> Any:
        """The point to which the calling thread's current stream will have come; None where that is
        not to be known."""
        if self.failed:
            return None
        try:
            return None if self._cuda.is_capturing() else _Point(self._cuda.record())
        except RuntimeError as error:
            self._give_up(str(error))
            return None

    def when(self, points: Tuple[Any, ...], tell: Callable) -> None:
        """Calls `tell` with the ticks of points, once the device has come past the last of them."""
        if self.failed or any(point is None for point in points):
            return
        if len(self._waiting) >= _MOST_WAITING:
            self._give_up("it does not come past its events")
            return
        self._waiting.append((points, tell))

    def add(self, lane: int, kind: int, begin: Any, end: Any, step: int) -> None:
        """A span between two points."""
        self.when((begin, end), lambda since, until: self._memory.span(
            lane, kind, since, until, step, _kinds.NO_BUCKET, 0, BY_DEVICE))

    def write(self, patience: int = 0) -> None:
        """Tells of what the device has come past."""
        try:
            if self._waiting and not self.failed and self._clock.relate(patience):
                while self._waiting and self._cuda.is_past(self._waiting[0][0][-1].event):
                    points, tell = self._waiting.popleft()
                    tell(*(self._ticks(point) for point in points))
        except RuntimeError as error:
            self._give_up(str(error))

    def _ticks(self, point: _Point) -> int:
        if point.ticks is None:
            point.ticks = self._clock.ticks(point.event)
        return point.ticks

    def finish(self) -> None:
        """The same at the end: a device that is busy still has a second."""
        self.write(_AT_THE_END)
        if self._waiting and not self.failed:
            self._problem(f"the GPU had not come past the last {len(self._waiting)} of what was "
                          "queued on it: when that was done is not known")

    def _give_up(self, why: str) -> None:
        self.failed = True
        self._waiting.clear()
        lines = why.splitlines() or [""]
        self._problem("the GPU's times cannot be read, from here on they are the host's: "
                      f"{lines[0]}")


def spans_of(tensor: Any, recorder: Any, step: Callable[[], int]) -> Optional[DeviceSpans]:
    """Of the device that a tensor is on; None where that is the host, or has no such clock."""
    if not getattr(tensor, "is_cuda", False):
        return None

    def problem(text: str) -> None:
        recorder.send("problem", severity="warning", step=step(), text=text)

    return DeviceSpans(Cuda(tensor.device), recorder.memory, problem)
