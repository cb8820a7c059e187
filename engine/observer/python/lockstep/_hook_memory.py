"""Memory that passes through the plugin border: as tensors, and how far it reaches.

Note [How far a buffer may reach] of engine/hooks/plugin/detail/Extents.h: a buffer that begins or
ends in memory which the hook was handed, and is not inside it, is refused.
"""

from __future__ import annotations

from typing import Any, Dict, Iterable, List, Optional, Tuple

import torch

from lockstep import _hook_host

# lockstep_status
OK, E_ARGUMENT, E_UNSUPPORTED, E_COMM, E_STATE, E_INTERNAL, E_MEMORY = 0, -1, -2, -3, -4, -5, -6
CPU = 1  # LOCKSTEP_CPU

DTYPES = {1: torch.float32, 2: torch.float16, 3: torch.bfloat16, 4: torch.float64,
          5: torch.int32, 6: torch.int64, 7: torch.uint8}
NUMBERS = {dtype: number for number, dtype in DTYPES.items()}
SIZES = {number: torch.empty(0, dtype=dtype).element_size() for number, dtype in DTYPES.items()}

Buffer = Tuple[int, int, int, int]  # address, elements, dtype, device
Piece = Tuple[str, int, int]        # what it is, address, bytes


class Refusal(Exception):
    """A call of the hook's that the host does not carry out, and why."""

    def __init__(self, text: str, status: int = E_ARGUMENT) -> None:
        super().__init__(text)
        self.status = status


def piece(what: str, tensor: Any) -> Piece:
    return what, tensor.data_ptr(), tensor.numel() * tensor.element_size()


def dtype_of(number: int) -> Any:
    if number not in DTYPES:
        raise Refusal(f"{number} is no dtype", E_UNSUPPORTED)
    return DTYPES[number]


def tensor_of(buffer: Buffer) -> Any:
    """A flat tensor over memory that somebody else keeps."""
    address, numel, number, device = buffer
    dtype = dtype_of(number)
    if device != CPU:
        raise Refusal(f"{device} is no device of this host", E_UNSUPPORTED)
    if numel < 0 or (address == 0 and numel > 0):
        raise Refusal(f"a buffer of {numel} elements at {address:#x}")
    if numel == 0:
        return torch.empty(0, dtype=dtype)
    return torch.frombuffer(_hook_host.memory(address, numel * SIZES[number]), dtype=dtype)


def require_inside(buffer: Buffer, pieces: Iterable[Piece]) -> None:
    """Refuses a buffer that reaches out of a piece and lies in no other."""
    begin, numel, number, _ = buffer
    end = begin + numel * SIZES[number]
    wrong = ""
    for what, at, size in pieces:
        if begin >= end or begin >= at + size or end <= at:
            continue
        if at <= begin and end <= at + size:
            return
        wrong = wrong or (f"{numel} elements of {str(DTYPES[number])[6:]} are bytes {begin - at} to "
                          f"{end - at} of {what}, which has {size}")
    if wrong:
        raise Refusal(wrong)


class KeptMemory:
    """What a hook keeps by lockstep_ext_math::allocate."""

    def __init__(self) -> None:
        self._kept: Dict[int, Any] = {}

    def allocate(self, numel: int, number: int) -> int:
        if numel < 0:
            raise Refusal(f"{numel} elements")
        tensor = torch.zeros(numel, dtype=dtype_of(number))
        if numel > 0:
            self._kept[tensor.data_ptr()] = tensor
        return tensor.data_ptr()

    def release(self, address: int) -> None:
        self._kept.pop(address, None)

    def pieces(self) -> List[Piece]:
        return [piece("memory that it allocated", tensor) for tensor in self._kept.values()]


# ---- "lockstep.math/1" -------------------------------------------------------------------------


def calculate(name: str, tensors: List[Any], numbers: Tuple[float, ...]) -> None:
    """One function of lockstep_ext_math, by the operators that the engine uses, too."""
    if name == "copy":
        source, target = tensors
        _require_count(source, target.numel())
        target.copy_(source)
        return
    if name == "fill":
        tensors[0].fill_(numbers[0])
        return
    for tensor in tensors:
        if not tensor.is_floating_point():
            raise Refusal(f"it calculates in floating point, not in {str(tensor.dtype)[6:]}",
                          E_UNSUPPORTED)
    for tensor in tensors[1:]:
        if tensor.dtype != tensors[0].dtype:
            raise Refusal(f"one buffer holds {str(tensors[0].dtype)[6:]}, another "
                          f"{str(tensor.dtype)[6:]}")
    if name == "multiply":
        tensors[0].mul_(numbers[0])
    elif name == "divide":
        tensors[0].div_(numbers[0])
    elif name == "add_scaled":
        _require_count(tensors[1], tensors[0].numel())
        tensors[0].add_(tensors[1], alpha=numbers[0])
    else:
        _matmul(tensors, *(int(number) for number in numbers))


def _matmul(tensors: List[Any], m: int, k: int, n: int, transposed: int) -> None:
    if m < 0 or k < 0 or n < 0:
        raise Refusal(f"matrices of {m} by {k} and {k} by {n}")
    left = _matrix(tensors[0], m, k, transposed & 1)
    right = _matrix(tensors[1], k, n, transposed & 2)
    torch.mm(left, right, out=_matrix(tensors[2], m, n, 0))


def _matrix(tensor: Any, rows: int, columns: int, transposed: int) -> Any:
    _require_count(tensor, rows * columns)
    return tensor.view(columns, rows).t() if transposed else tensor.view(rows, columns)


def _require_count(tensor: Any, count: int) -> None:
    if tensor.numel() != count:
        raise Refusal(f"a buffer of {tensor.numel()} elements, where {count} are needed")


def status_of(error: BaseException) -> Optional[int]:
    """What a plugin is told of an exception in a call of its; None for a defect of ours."""
    if isinstance(error, Refusal):
        return error.status
    if isinstance(error, MemoryError) or "not enough memory" in str(error):
        return E_MEMORY
    return E_ARGUMENT if isinstance(error, (RuntimeError, ValueError, IndexError)) else None
