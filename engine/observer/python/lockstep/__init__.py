"""Shows a PyTorch job in Lockstep: what DistributedDataParallel does, step by step, on every rank.

    import lockstep
    model = lockstep.watch(DistributedDataParallel(net), optimizer)

and, to start it, ``lockstep record -- torchrun --nproc-per-node 2 train.py``. A job that is not under
``lockstep record`` runs as if these lines were not there. A failure in here is one warning, and the
job goes on unobserved.
"""

from lockstep._session import log, phase, watch

__all__ = ["log", "phase", "watch"]
__version__ = "0.1.0"
