"""The elements of tensors as the compiled module reads them."""

from __future__ import annotations

import os
from typing import Any, Tuple

Placed = Tuple[int, int, int, int, int]  # address and bytes; address, number and width of its reals


def on_host(tensor: Any) -> Any:
    """The same bits, without gaps, where they can be read. Of a GPU's this waits for the GPU."""
    return tensor.detach().cpu().contiguous()


def reals_of(tensor: Any) -> Any:
    """The numbers of a tensor of ``on_host`` in 32 or 64 bits; itself where they have so many."""
    import torch

    if tensor.is_complex():
        tensor = torch.view_as_real(tensor)
    return tensor if tensor.dtype in (torch.float32, torch.float64) else tensor.to(torch.float32)


def placed(tensor: Any, reals: Any) -> Placed:
    """Where the bytes of a tensor and its reals are; who calls this keeps both."""
    return (tensor.data_ptr(), tensor.numel() * tensor.element_size(), reals.data_ptr(),
            reals.numel(), reals.element_size())


def asked_for(variable: str) -> int:
    """How often a check is asked for by a variable of the environment: every so many iterations; 0
    for never."""
    try:
        return int(os.environ.get(variable, "0"))
    except ValueError:
        return 0
