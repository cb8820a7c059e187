"""What is told of the machine and of the job: by a list of what may be told."""

from __future__ import annotations

import os
import platform
import socket
from typing import Dict

# Variables that say how a job was set up. A name that says that its value is a secret stays out.
_PREFIXES = ("NCCL_", "GLOO_", "OMP_", "MKL_", "KMP_", "MASTER_", "TORCH_", "TORCHELASTIC_", "CUDA_",
             "PYTORCH_", "SLURM_JOB", "SLURM_N", "SLURM_PROCID", "OMPI_COMM_WORLD_")
_NAMES = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "GROUP_RANK")
_SECRETS = ("key", "token", "secret", "password", "passwd", "credential", "auth")


def variables() -> Dict[str, str]:
    """The variables of this process that are told."""
    told = {}
    for name, value in sorted(os.environ.items()):
        if name in _NAMES or name.startswith(_PREFIXES):
            if not any(word in name.lower() for word in _SECRETS):
                told[name] = value
    return told


def facts() -> Dict[str, str]:
    """What a rank runs on, under the names that a rank of the engine uses for the same."""
    import torch
    import torch.distributed as dist

    told = {
        "torch": torch.__version__,
        "python": platform.python_version(),
        "hostname": socket.gethostname(),
        "threads": str(torch.get_num_threads()),
        "pid": str(os.getpid()),
        "observed": "pytorch",
        # By what waits for a core are told: "schedstat", or that the kernel does not say.
        "core_waits": ("schedstat" if os.access("/proc/thread-self/schedstat", os.R_OK)
                       else "unknown"),
    }
    if dist.is_available() and dist.is_initialized():
        told["backend"] = str(dist.get_backend())
    if torch.cuda.is_available():
        told["device"] = torch.cuda.get_device_name()
        told["cuda"] = str(torch.version.cuda)
    told.update({"env." + name: value for name, value in variables().items()})
    return told
