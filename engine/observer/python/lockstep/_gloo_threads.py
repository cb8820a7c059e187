"""What a thread of Gloo's tells by itself of an allreduce: when it began and ended, without a call of
Python. Note [Recorded functions] of native/gloo_threads.h says what that stands on."""

from __future__ import annotations

import ctypes
import os
import pathlib
import platform
from typing import Any

_TRIED = ("2.15",)  # versions of PyTorch
_USER_SCOPE = 7
_FUNCTIONS = ("_ZN2at22addThreadLocalCallbackENS_22RecordFunctionCallbackE",
              "_ZN2at14removeCallbackEm", "_ZN2at24get_record_function_tls_Ev",
              "_ZNK2at14RecordFunction4nameEv")


def listen(flights: Any) -> bool:
    """Lets the flights of the one group of Gloo be heard, where this PyTorch is known to tell of them;
    elsewhere they are followed by their futures. Returns whether they are heard."""
    import torch

    if platform.machine() != "x86_64" or not _is_known(torch):
        return False
    try:
        library = ctypes.CDLL(str(pathlib.Path(torch.__file__).parent / "lib" / "libtorch_cpu.so"),
                              mode=os.RTLD_NOW | os.RTLD_NOLOAD)
        addresses = [ctypes.cast(getattr(library, symbol), ctypes.c_void_p).value
                     for symbol in _FUNCTIONS]
    except (OSError, AttributeError):  # one that was built otherwise
        return False
    probe = flights.listen(*addresses)
    if probe is None:
        return False
    before = flights.probes()
    with torch.autograd.profiler.record_function(probe):
        pass
    hears: bool = flights.probes() == before + 2
    flights.hear(hears)
    return hears


def _is_known(torch: Any) -> bool:
    try:
        from torch._C._profiler import RecordScope
    except ImportError:
        return False
    version = ".".join(torch.__version__.split(".")[:2])
    return version in _TRIED and int(RecordScope.USER_SCOPE) == _USER_SCOPE
