"""The GPU of a rank of PyTorch."""

import os

import torch


def gpu_of_rank():
    """By its local rank; NCCL is told when ranks share one, as by our own backend."""
    local, count = int(os.environ["LOCAL_RANK"]), torch.cuda.device_count()
    if int(os.environ["LOCAL_WORLD_SIZE"]) > count:
        if torch.cuda.nccl.version() >= (2, 30):
            os.environ["NCCL_MULTI_RANK_GPU_ENABLE"] = "1"
        else:
            os.environ["NCCL_HOSTID"] = f"share{local // count}"
    device = torch.device("cuda", local % count)
    torch.cuda.set_device(device)
    return device
