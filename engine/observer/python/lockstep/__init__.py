"""Shows a PyTorch job in Lockstep: what DistributedDataParallel does, step by step, on every rank.

    import lockstep
    model = lockstep.watch(DistributedDataParallel(net), optimizer)

and, to start it, ``lockstep record -- torchrun --nproc-per-node 2 train.py``. A job that is not under
``lockstep record`` runs as if these lines were not there. A failure in here is one warning, and the
job goes on unobserved. Afterwards, or while it goes on, ``lockstep.open("run.lockstep")`` has the run
as frames of pandas.
"""

from typing import TYPE_CHECKING, Any

from lockstep._program import ProgramError
from lockstep._run import Run, open
from lockstep._run_file import RunFileError
from lockstep._session import log, phase, watch

if TYPE_CHECKING:
    from lockstep._hooks import HookError, hook

__all__ = ["HookError", "ProgramError", "Run", "RunFileError", "hook", "log", "open", "phase",
           "watch"]
__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    if name in ("HookError", "hook"):  # with torch, which watching alone need not load
        from lockstep import _hooks

        return getattr(_hooks, name)
    raise AttributeError(f"module 'lockstep' has no attribute '{name}'")
