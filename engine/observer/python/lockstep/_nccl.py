"""The NCCL profiler plugin: what NCCL itself says of its collectives, where it loads it."""

from __future__ import annotations

import ctypes
import os
from typing import Any

_VARIABLE = "NCCL_PROFILER_PLUGIN"
_NAME = "liblockstep_nccl_profiler.so"


def link(recorder: Any, steps: Any) -> None:
    """Lets NCCL's profiler plugin write into this process's event memory, as ``recorder.nccl``.

    Where NCCL was given another plugin, or none, the job's own choice stands.
    """
    from lockstep import _native

    path = os.environ.get(_VARIABLE, "")
    if os.path.basename(path) != _NAME or not os.path.exists(path):
        return
    try:
        # As NCCL opens it: both get the same one. It stays, where NCCL would close it.
        plugin = ctypes.CDLL(path)
        recorder.nccl = _native.Nccl(recorder.memory, *(
            ctypes.cast(getattr(plugin, "lockstep_nccl_" + name), ctypes.c_void_p).value
            for name in ("attach", "step", "expect")))
        steps.follow(recorder.nccl.set_step)
    except (OSError, AttributeError) as error:  # of another version, or not for this machine
        recorder.send("problem", severity="warning", step=0,
                      text=f"kernels of NCCL are not seen: {path}: {error}")
