"""``lockstep capture``: some iterations as PyTorch's own profiler sees them."""

from __future__ import annotations

import json
import os
import tempfile
import time
from typing import Any, Callable, Dict, List, Optional, Tuple

from lockstep import _kinds
from lockstep._guard import guarded, when_given_up

_MARK = "lockstep.mark"
_MARKS = 8          # at either end: the narrowest of them ties the two clocks together
_LANES = 4          # of threads, and of streams
_LONGEST_NAME = 200
_ROOM = 4096        # events that may wait in a lane
_PATIENCE = 2.0     # seconds for the recorder to read them
_BY_DEVICE = 0x8000

# Categories of a trace: of Kineto, and of a PyTorch that was built without it.
_OPERATORS = ("cpu_op", "user_annotation", "Operator", "operator")
_DEVICE = {"kernel": _kinds.DEVICE_KERNEL, "gpu_memcpy": _kinds.DEVICE_COPY,
           "gpu_memset": _kinds.DEVICE_COPY}

Clock = Callable[[float], int]


def install(recorder: Any, steps: Any) -> None:
    """Looks at the beginning of each iteration whether somebody wants it traced."""
    steps.before_step.append(Tracer(recorder, steps).step_begins)


class Tracer:
    """Runs PyTorch's profiler for some iterations, and writes what it saw into the run."""

    def __init__(self, recorder: Any, steps: Any) -> None:
        self._recorder = recorder
        self._memory = recorder.memory
        self._steps = steps
        self._seen = 0
        self._last = 0                 # iteration that is traced
        self._begins: List[Tuple[int, int]] = []  # when each iteration began, and its number
        self._profile: Optional[Any] = None
        self._guard: Optional[_Guard] = None
        self._marks: List[Tuple[int, int]] = []
        self._lanes: Dict[str, int] = {}
        when_given_up.append(self._drop)

    @guarded
    def step_begins(self, number: int) -> None:
        """An iteration begins, on the thread that trains."""
        if self._profile is None:
            request = self._memory.trace_requested()
            if request != self._seen:
                self._seen = request
                if not self._steps.is_over:
                    self._begin(number, request & 0xFFFF)
                else:
                    self._memory.trace_done(request)
        elif number > self._last or self._steps.is_over:
            self._end(number)
        else:
            self._begins.append((self._memory.ticks(), number))

    # -- the profiler ---------------------------------------------------------------------------

    def _begin(self, number: int, steps: int) -> None:
        import torch

        began = self._memory.ticks()
        if torch.autograd._profiler_enabled():
            self._give_up("the job runs a profiler of its own")
            return
        activities = [torch.profiler.ProfilerActivity.CPU]
        if torch.cuda.is_available():
            activities.append(torch.profiler.ProfilerActivity.CUDA)
        profile = torch.profiler.profile(activities=activities)
        try:
            profile.start()
        except Exception as error:
            self._give_up(f"PyTorch's profiler does not start: {error}")
            return
        self._profile = profile
        self._guard = _Guard(self._make_way)
        self._marks = []
        self._mark()
        self._last = number + steps - 1
        self._steps.named_span("lockstep capture: begin", began)
        self._begins = [(self._memory.ticks(), number)]

    def _mark(self) -> None:
        import torch

        for _ in range(_MARKS):
            before = self._memory.ticks()
            with torch.profiler.record_function(_MARK):
                pass
            self._marks.append((before, self._memory.ticks()))

    def _end(self, number: int) -> None:
        began = self._memory.ticks()
        self._mark()
        profile, self._profile = self._profile, None
        assert profile is not None and self._guard is not None
        self._guard.close()
        try:
            profile.stop()
            self._tell(_events(profile), began, number)
        except Exception as error:  # a trace is lost, and nothing else
            self._give_up(f"PyTorch's profiler has none: {error}")
        finally:
            self._memory.trace_done(self._seen)
        self._steps.named_span("lockstep capture: read", began)

    @guarded
    def _make_way(self) -> None:
        """The job starts a profiler of its own, and PyTorch has one at a time."""
        self._drop()
        self._give_up("the job started a profiler of its own")

    def _drop(self) -> None:
        profile, self._profile = self._profile, None
        if profile is not None and self._guard is not None:
            self._guard.close()
            profile.stop()

    def _give_up(self, why: str) -> None:
        self._recorder.send("problem", severity="warning", step=self._steps.number,
                            text=f"no trace of this rank's iterations: {why}")
        self._memory.trace_done(self._seen)

    # -- what it saw ----------------------------------------------------------------------------

    def _tell(self, events: List[Dict[str, Any]], until: int, number: int) -> None:
        clock = _clock(events, self._marks)
        rate = self._memory.ticks_of(1_000_000_000) / 1e6
        since = self._begins[0][0]
        count, left_out = 0, 0
        self._steps.tell_names({_name(event) for event in events})
        for key, lane_events in _by_lane(events).items():
            lane = self._lane(key)
            if lane is None:
                left_out += len(lane_events)
                continue
            for event in lane_events:
                start = clock(event["ts"])
                if start < since or start >= until:
                    continue
                if count % 64 == 0:
                    self._wait_for_room(lane)
                kind = _DEVICE.get(event.get("cat", ""), _kinds.OPERATOR)
                self._memory.span(lane, kind, start, start + int(event["dur"] * rate),
                                  self._step_at(start), _kinds.NO_BUCKET,
                                  self._steps.number_of(_name(event)),
                                  0 if kind == _kinds.OPERATOR else _BY_DEVICE)
                count += 1
        traced = f"iterations {self._begins[0][1]} to {number - 1}, {count} events"
        if left_out:
            traced += f", and {left_out} of more threads or streams than there is room for"
        self._recorder.send("environment", values={f"trace.{self._seen >> 16}": traced})

    def _lane(self, key: str) -> Optional[int]:
        if key not in self._lanes:
            kind = key.split(" ")[0]
            if sum(known.split(" ")[0] == kind for known in self._lanes) == _LANES:
                return None
            self._lanes[key] = self._memory.lane(key)
        return self._lanes[key]

    def _wait_for_room(self, lane: int) -> None:
        """What is told here comes in one rush; what does not fit all the same is counted."""
        deadline = time.monotonic() + _PATIENCE
        while self._memory.waiting(lane) > _ROOM and time.monotonic() < deadline:
            time.sleep(0.005)

    def _step_at(self, ticks: int) -> int:
        step = self._begins[0][1]
        for began, number in self._begins:
            if began > ticks:
                break
            step = number
        return step


class _Guard:
    """Lets a profiler that the job starts have its way."""

    _NAMES = ("_prepare_profiler", "_enable_profiler")

    def __init__(self, make_way: Callable[[], None]) -> None:
        import torch

        self._module = torch.autograd.profiler
        self._before = {name: getattr(self._module, name) for name in self._NAMES
                        if hasattr(self._module, name)}
        for name, function in self._before.items():
            setattr(self._module, name, self._wrapped(function, make_way))

    def _wrapped(self, function: Callable, make_way: Callable[[], None]) -> Callable:
        def call(*args: Any, **kwargs: Any) -> Any:
            self.close()
            make_way()
            return function(*args, **kwargs)

        return call

    def close(self) -> None:
        for name, function in self._before.items():
            setattr(self._module, name, function)
        self._before = {}


def _events(profile: Any) -> List[Dict[str, Any]]:
    """The spans of a trace, of which the times are in us of a clock of its own."""
    handle, path = tempfile.mkstemp(suffix=".json", prefix="lockstep-trace-")
    os.close(handle)
    try:
        profile.export_chrome_trace(path)
        with open(path, encoding="utf-8", errors="replace") as file:
            trace = json.load(file)
    finally:
        os.unlink(path)
    events = trace["traceEvents"] if isinstance(trace, dict) else trace
    return [event for event in events
            if event.get("ph") == "X" and "ts" in event and "dur" in event]


def _name(event: Dict[str, Any]) -> str:
    return str(event["name"])[:_LONGEST_NAME]


def _clock(events: List[Dict[str, Any]], marks: List[Tuple[int, int]]) -> Clock:
    """From a trace's us to our ticks: each mark lies between two readings of ours."""
    told = sorted((e for e in events if e["name"] == _MARK), key=lambda e: e["ts"])
    if len(told) != len(marks):
        raise RuntimeError(f"of {len(marks)} marks it holds {len(told)}")
    ties = [(after - before, event["ts"] + event["dur"] / 2, (before + after) / 2)
            for event, (before, after) in zip(told, marks)]
    _, first_us, first = min(ties[:_MARKS])
    _, last_us, last = min(ties[_MARKS:])
    rate = (last - first) / (last_us - first_us)
    return lambda us: int(first + (us - first_us) * rate)


def _by_lane(events: List[Dict[str, Any]]) -> Dict[str, List[Dict[str, Any]]]:
    """What stands on each thread and on each stream, from the outside in; the busiest first."""
    lanes: Dict[str, List[Dict[str, Any]]] = {}
    for event in events:
        category = event.get("cat", "")
        if event["name"] == _MARK or event["name"].startswith("ProfilerStep"):
            continue
        if category in _DEVICE:
            key = f"gpu{event.get('pid')} stream {event.get('tid')}"
        elif category in _OPERATORS or not category:
            key = f"operators {event.get('tid')}"
        else:
            continue
        lanes.setdefault(key, []).append(event)
    for lane in lanes.values():
        lane.sort(key=lambda e: (e["ts"], -e["dur"]))
    return dict(sorted(lanes.items(), key=lambda lane: -len(lane[1])))
