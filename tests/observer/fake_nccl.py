"""What NCCL does with its profiler plugin, version 5 of the interface, without NCCL: a communicator
whose allreduces each have a kernel of one channel."""

import ctypes
import os
import time

_COLL, _KERNEL_CHANNEL, _COLL_API = 1 << 1, 1 << 6, 1 << 9
_KERNEL_CHANNEL_STOP = 22


class _Table(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p)] + [
        (name, ctypes.c_void_p) for name in ("init", "start", "stop", "record", "finalize")]


class _Event(ctypes.Structure):
    """The head of an event; what follows depends on its type."""

    _fields_ = [("type", ctypes.c_uint64), ("parent", ctypes.c_void_p), ("rank", ctypes.c_int),
                ("of", ctypes.c_uint64 * 12)]


class Communicator:
    """Opens what NCCL_PROFILER_PLUGIN names, as NCCL does when its first communicator is made."""

    def __init__(self, ranks, rank):
        self._library = ctypes.CDLL(os.environ["NCCL_PROFILER_PLUGIN"])
        table = _Table.in_dll(self._library, "ncclProfiler_v5")
        function = ctypes.CFUNCTYPE
        pointer = ctypes.c_void_p
        init = function(ctypes.c_int, pointer, ctypes.c_uint64, pointer, ctypes.c_char_p,
                        ctypes.c_int, ctypes.c_int, ctypes.c_int, pointer)(table.init)
        self._start = function(ctypes.c_int, pointer, pointer, pointer)(table.start)
        self._record = function(ctypes.c_int, pointer, ctypes.c_int, pointer)(table.record)
        self._finalize = function(ctypes.c_int, pointer)(table.finalize)
        self._context = pointer()
        self._mask = ctypes.c_int(-1)
        self._sequence = 0
        init(ctypes.byref(self._context), 1, ctypes.byref(self._mask), None, 1, ranks, rank, None)

    @property
    def mask(self):
        """What NCCL is asked for."""
        return self._mask.value

    def _begin(self, kind, parent, *words):
        event = _Event(kind, parent, 0)
        for place, word in words:
            event.of[place] = word
        handle = ctypes.c_void_p()
        self._start(self._context, ctypes.byref(handle), ctypes.byref(event))
        return handle.value

    def all_reduce(self, elements):
        """An allreduce of so many float32, over when this returns."""
        function = ctypes.cast(ctypes.c_char_p(b"AllReduce"), ctypes.c_void_p).value
        datatype = ctypes.cast(ctypes.c_char_p(b"ncclFloat32"), ctypes.c_void_p).value
        call = self._begin(_COLL_API, None, (0, function), (1, elements), (2, datatype))
        work = self._begin(_COLL, call, (0, self._sequence), (1, function), (4, elements),
                           (6, datatype), (7, 1))
        self._sequence += 1
        kernel = self._begin(_KERNEL_CHANNEL, work, (1, time.monotonic_ns() + 10**15))
        timer = ctypes.c_uint64(time.monotonic_ns() + 10**15)
        self._record(kernel, _KERNEL_CHANNEL_STOP, ctypes.byref(timer))

    def finalize(self):
        """The communicator ends."""
        self._finalize(self._context)
