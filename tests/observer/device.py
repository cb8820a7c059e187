"""Times of a GPU, with a device in torch.cuda's place whose clock the test sets: its events, its
streams, and the memory that the observer writes into.

Usage: device.py --package FOLDER CASE
"""

import argparse
import pathlib
import sys
import types

NS = 3         # ticks of the host in a ns
BY_DEVICE = 0x8000
FORWARD, BACKWARD, OPTIMIZER, COLLECTIVE = 12, 13, 14, 71
BUCKET_READY, BUCKET_LAUNCHED, WAIT, FINALIZE = 32, 33, 34, 36


class Wrong(Exception):
    """The observer is not as it should be."""


def check(holds, what):
    if not holds:
        raise Wrong(what)


class Memory:
    """Keeps what is written. Its clock goes on by a ns with each look, and as the test says."""

    def __init__(self):
        self.ns = 1_000_000_000
        self.spans = []
        self.problems = []

    def ticks(self):
        self.ns += 1
        return self.ns * NS

    @staticmethod
    def ticks_of(ns):
        return ns * NS

    def span(self, lane, kind, start, end, step, bucket=0xFFFF, value=0, detail=0):
        self.spans.append((kind, start // NS, end // NS, step, bucket, value, detail))

    def lane(self, _):
        return 0

    def tell_cores(self, _):
        pass

    def enter(self, *_):
        return self.ticks()

    def turn(self, lane, kind, start, step, *_):
        now = self.ticks()
        self.span(lane, kind, start, now, step)
        return now

    def send(self, kind, **content):
        self.problems.append((kind, content["text"]))

    def of(self, *kinds):
        return [span for span in self.spans if span[0] in kinds]


class Device:
    """Has a clock of its own, and comes past what is queued on its one stream as the test lets it; an
    idle stream is 20 us behind the host."""

    OFFSET = 5_000_000_000  # of its clock from the host's, ns
    RATE = 1.00002

    def __init__(self, memory):
        self.memory = memory
        self.done = 0          # points of the stream that it has come past
        self.queued = []       # points, in their order
        self.is_busy = False   # also an idle stream has to wait
        self.breaks = False
        self.captures = False

    def stream(self):
        return "idle"

    def record(self, stream=None):
        if self.breaks:
            raise RuntimeError("CUDA error: an illegal memory access\nand more lines")
        point = types.SimpleNamespace(ns=None, idle=stream == "idle")
        if point.idle:
            self.memory.ns += 10_000
            point.ns = self.clock(self.memory.ns)
            self.memory.ns += 10_000
        else:
            self.queued.append(point)
        return point

    def clock(self, host_ns):
        return host_ns * self.RATE + self.OFFSET

    def comes_past(self, *host_ns):
        """The next points of its stream, at these times of the host."""
        for at in host_ns:
            self.queued[self.done].ns = self.clock(at)
            self.done += 1

    def is_capturing(self):
        return self.captures

    def is_past(self, point):
        if point.idle and self.is_busy:
            self.memory.ns += 100_000
        return point.ns is not None and not (point.idle and self.is_busy)

    @staticmethod
    def ms_from(earlier, later):
        return (later.ns - earlier.ns) / 1e6


def spans_over(device, memory):
    from lockstep import _device

    return _device.DeviceSpans(device, memory, lambda text: memory.send("problem", text=text))


def close(found, wanted, what, within=200):
    check(len(found) == len(wanted) and all(abs(a - b) <= within for a, b in zip(found, wanted)),
          f"{what}: {found}, and it was {wanted}")


def case_spans(_):
    """A span is told once its device has come past it, on the host's axis, nobody having waited."""
    memory = Memory()
    device = Device(memory)
    spans = spans_over(device, memory)
    start = memory.ns
    spans.add(0, FORWARD, spans.now(), spans.now(), 7)
    spans.add(0, BACKWARD, spans.now(), spans.now(), 7)
    spans.write()
    check(memory.spans == [], "told before it was")
    device.comes_past(start + 1_000_000, start + 4_000_000, start + 4_000_000)
    spans.write()
    (kind, begin, end, step, _, _, detail), = memory.spans
    check((kind, step, detail) == (FORWARD, 7, BY_DEVICE), memory.spans)
    close([begin, end], [start + 1_000_000, start + 4_000_000], "the forward")
    # Seconds later the clocks have drifted apart by 20 us a second: they are tied together anew.
    memory.ns += 5_000_000_000
    device.comes_past(memory.ns)
    spans.write()
    close(memory.spans[1][1:3], [start + 4_000_000, memory.ns], "the backward", 120_000)
    late = memory.ns
    spans.add(0, OPTIMIZER, spans.now(), spans.now(), 7)
    device.comes_past(late + 1_000, late + 2_000)
    spans.write()
    close(memory.spans[2][1:3], [late + 1_000, late + 2_000], "the optimizer")
    check(memory.problems == [], memory.problems)


def case_shared(_):
    """Where one span ends and the next begins is one time, also where the second is told after the
    clocks were tied together anew."""
    memory = Memory()
    device = Device(memory)
    spans = spans_over(device, memory)
    start = memory.ns
    points = [spans.now() for _ in range(3)]
    spans.add(0, FORWARD, points[0], points[1], 0)
    spans.add(0, BACKWARD, points[1], points[2], 0)
    device.comes_past(start + 1_000_000, start + 2_000_000)
    spans.write()
    memory.ns += 5_000_000_000
    device.comes_past(memory.ns)
    spans.write()
    check(memory.spans[0][2] == memory.spans[1][1], memory.spans)


def case_busy(_):
    """What a busy device refuses is tried again later; what it never tells is said."""
    memory = Memory()
    device = Device(memory)
    device.is_busy = True
    spans = spans_over(device, memory)
    start = memory.ns
    spans.add(0, FORWARD, spans.now(), spans.now(), 0)
    device.comes_past(start, start + 1000)
    spans.write()
    after = memory.ns
    spans.write()
    check(memory.ns - after < 1000, "it waits for a busy device at every step")
    check(memory.spans == [], "told without a clock")
    device.is_busy = False
    memory.ns += 300_000_000
    spans.write()
    check(len(memory.spans) == 1, "not told once it was idle")
    spans.add(0, FORWARD, spans.now(), spans.now(), 1)
    spans.finish()
    check(memory.problems == [("problem", "the GPU had not come past the last 1 of what was queued on "
                               "it: when that was done is not known")], memory.problems)


def case_breaks(_):
    """A device that fails is said once, and times are the host's from there on."""
    from lockstep import _steps

    memory = Memory()
    device = Device(memory)
    steps = steps_on(_steps, device, memory)
    device.breaks = True
    one_step(steps, memory)
    check([text for _, text in memory.problems] == [
        "the GPU's times cannot be read, from here on they are the host's: CUDA error: an illegal "
        "memory access"], memory.problems)
    check([span[0] for span in memory.of(FORWARD, BACKWARD, OPTIMIZER)]
          == [FORWARD, BACKWARD, OPTIMIZER], memory.spans)
    check(all(span[6] == 0 for span in memory.spans), "by a device that failed")


class Model:
    training = True


def steps_on(module, device, memory):
    recorder = types.SimpleNamespace(memory=memory, first_step=0, send=memory.send)
    steps = module.Steps(recorder)
    steps._device = spans_over(device, memory)
    steps._computes_there = True
    steps.model = "Model"
    return steps


def one_step(steps, memory, in_forward=lambda: None):
    steps.forward_begins(Model)
    in_forward()
    memory.ns += 100_000
    steps.forward_ends()
    began = steps.backward_begins()
    memory.ns += 100_000
    steps.backward_ends(began, True)
    steps.optimizer_begins()
    memory.ns += 100_000
    steps.optimizer_ends()


def case_phases(_):
    """Forward, backward and optimizer are when the device did them; what a graph holds is when the
    host queued it."""
    from lockstep import _steps

    memory = Memory()
    device = Device(memory)
    steps = steps_on(_steps, device, memory)
    start = memory.ns
    one_step(steps, memory)
    check(memory.of(FORWARD, BACKWARD, OPTIMIZER) == [], "told before it was")
    at = [start + 1_000_000 * n for n in range(1, 6)]
    device.comes_past(*at)  # forward, backward, its end, optimizer, its end
    memory.ns = at[-1] + 1_000_000
    # A device that has nothing to do yet must not wait until its times have been read.
    one_step(steps, memory, lambda: check(memory.of(FORWARD, BACKWARD, OPTIMIZER) == [],
                                          "told before there was a forward to do"))
    told = memory.of(FORWARD, BACKWARD, OPTIMIZER)
    check([(span[0], span[3], span[6]) for span in told]
          == [(kind, 0, BY_DEVICE) for kind in (FORWARD, BACKWARD, OPTIMIZER)], told)
    close([t for span in told for t in span[1:3]], [at[0], at[1], at[1], at[2], at[3], at[4]],
          "phases", 1000)
    device.captures = True
    one_step(steps, memory)
    check([span[6] for span in memory.of(FORWARD, BACKWARD, OPTIMIZER)[3:]] == [0] * 3, "of a graph")


class Tensor:
    is_cuda = True

    def __init__(self, elements):
        self.elements = elements

    def numel(self):
        return self.elements

    def element_size(self):
        return 4


class Native:
    """_native.Flights as far as a device's flights ask it."""

    def __init__(self, memory):
        self.memory = memory
        self.open = {}
        self.backwards = []
        self.after_calls = []
        self.busy = self.expect = self.waited = self.hook_begins = self.hook_returns = None

    def set_step(self, step):
        self.step = step

    def begin(self, bucket, size, _):
        self.open[bucket] = (bucket, self.step, bucket, 2, size)
        return bucket

    def before(self, args):
        self.open[args.key] = (args.key, self.step, 0xFFFF, 9, 4 * args.input_tensors[0].elements)
        return args.key

    def place_of(self, args):
        return args.key if args.key in self.open else None

    def after(self, args):
        self.after_calls.append(args.key)

    def landed(self, place):
        return self.open.pop(place, None)

    def flew(self, landed, launched, ended):
        self.memory.span(COLLECTIVE, launched, ended, landed[1], landed[2], landed[4])

    def tell_backward(self, *args):
        self.backwards.append(args)



class Work:
    """Of an operation: its future, or none."""

    def __init__(self, future):
        self.future = future

    def get_future(self):
        if self.future is None:
            raise RuntimeError("this work has no future")
        return self.future


def case_collectives(_):
    """What a group's hooks see of a device is told by its clock; what has no future, or is on the
    host, as it is without a device."""
    from lockstep import _device_flights

    memory = Memory()
    device = Device(memory)
    spans = spans_over(device, memory)
    native = Native(memory)
    native.memory = types.SimpleNamespace(span=lambda kind, *rest: memory.span(0, kind, *rest))
    callbacks = []
    flights = _device_flights.DeviceFlights(
        native, memory, lambda tensor: spans if tensor.is_cuda else None,
        lambda _, callback: callbacks.append(callback))
    flights.set_step(3)
    host = Tensor(5)
    host.is_cuda = False
    for key, tensor, work in ((1, Tensor(10), Work("a future")), (2, Tensor(10), Work(None)),
                              (3, host, Work("a future")), (4, Tensor(10), None)):
        args = types.SimpleNamespace(key=key, input_tensors=[tensor], output_tensors=[], work=work)
        flights.before(args)
        flights.after(args)
    check(native.after_calls == [2, 3, 4], native.after_calls)
    check(len(callbacks) == 1, callbacks)
    callbacks[0]("a future")
    start = memory.ns
    # Queued: the first one's launch, those without a future, its end.
    device.comes_past(start + 1_000_000, start, start, start + 2_000_000)
    memory.ns = start + 3_000_000
    spans.write()
    (kind, begin, end, step, bucket, value, detail), = memory.spans
    check((kind, step, bucket, value, detail) == (COLLECTIVE, 3, 0xFFFF, 40, 0), memory.spans)
    close([begin, end], [start + 1_000_000, start + 2_000_000], "the collective")


def case_buckets(_):
    """A bucket was ready when the device had come there, flew until its collective was done, and the
    backward waits for what is in flight behind the last one."""
    from lockstep import _device_flights

    memory = Memory()
    device = Device(memory)
    spans = spans_over(device, memory)
    native = Native(memory)
    native.memory = types.SimpleNamespace(span=lambda kind, *rest: memory.span(0, kind, *rest))
    callbacks = []
    flights = _device_flights.DeviceFlights(native, memory, lambda _: spans,
                                            lambda _, callback: callbacks.append(callback))
    flights.set_step(4)
    for bucket, elements in enumerate((100, 200)):
        place = flights.begin(bucket, 4 * elements, Tensor(elements))
        flights.follow(place, "future")
        callbacks.pop()("future")  # NCCL's is called as soon as it is queued
    flights.tell_backward(0, 11, 22, [1, 2], [0, 1], True)
    check(native.backwards == [(0, 11, 22, [1, 2], [0, 1], False)], native.backwards)
    start = memory.ns
    at = [start + 1_000_000 * n for n in range(1, 6)]
    device.comes_past(at[0], at[2], at[1], at[3], at[4])  # launched and ended, of two; the end
    memory.ns = at[-1]
    spans.write()
    told = [(kind, bucket, detail) for kind, _, _, _, bucket, _, detail in memory.spans]
    check(told == [(COLLECTIVE, 0, 0), (COLLECTIVE, 1, 0),
                   (BUCKET_READY, 0, BY_DEVICE), (BUCKET_LAUNCHED, 0, BY_DEVICE),
                   (WAIT, 0, BY_DEVICE), (BUCKET_READY, 1, BY_DEVICE),
                   (BUCKET_LAUNCHED, 1, BY_DEVICE), (WAIT, 1, BY_DEVICE),
                   (FINALIZE, 0xFFFF, BY_DEVICE)], told)
    close([t for span in memory.spans for t in span[1:3]],
          [at[0], at[2], at[1], at[3], at[0], at[0], at[0], at[0], at[1], at[2], at[1], at[1], at[1],
           at[1], at[2], at[3], at[1], at[4]], "times")


CASES = {"spans": case_spans, "shared": case_shared, "busy": case_busy, "breaks": case_breaks, "phases": case_phases,
         "collectives": case_collectives, "buckets": case_buckets}

if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--package", type=pathlib.Path, required=True)
    parser.add_argument("case", choices=CASES)
    options = parser.parse_args()
    sys.path.insert(0, str(options.package))
    try:
        CASES[options.case](options)
    except Wrong as wrong:
        sys.exit(f"{options.case}: {wrong}")
