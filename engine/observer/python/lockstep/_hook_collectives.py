"""The operations of a plugin's group, by the collectives of torch.distributed.

Where Gloo has no such operation, or not for the dtype, it is made of others that carry as many bytes.
"""

from __future__ import annotations

from typing import Any, Callable, List, Optional, Set, Tuple

import torch
import torch.distributed as dist

from lockstep._collectives import name_of
from lockstep._hook_memory import Refusal

own_groups: Set[str] = set()  # names of the process groups that hooks of Lockstep's have made

SUM, AVERAGE, MAX, MIN = 1, 2, 3, 4  # LOCKSTEP_SUM, ...


def global_ranks(group: Any) -> List[int]:
    return list(dist.get_process_group_ranks(group))


def timeout_of(group: Any) -> Any:
    """How long the job lets a collective of the group take; None where PyTorch does not say."""
    options = getattr(group, "options", None)
    if options is None and hasattr(group, "_get_backend"):
        options = getattr(group._get_backend(torch.device("cpu")), "options", None)
    return getattr(options, "_timeout", None)


class Group:
    """Ranks that communicate, numbered from 0, in a process group that nothing else uses."""

    def __init__(self, ranks: List[int], timeout: Any, local: bool) -> None:
        """Collective over all ranks of the job, or with `local` over these."""
        options = {} if timeout is None else {"timeout": timeout}
        if local:
            options["use_local_synchronization"] = True
        self.ranks = ranks
        self.native = dist.new_group(ranks, backend="gloo", **options)
        own = dist.get_rank()
        if own in ranks:
            own_groups.add(name_of(self.native))
        self.rank = ranks.index(own) if own in ranks else -1
        self.size = len(ranks)


class Operation:
    """One operation that a run queued. start() on the strand, wait() on a thread of its own."""

    def __init__(self, name: str, stage: int, start: Callable[[], List[Any]],
                 finish: Optional[Callable[[], None]] = None, sent: int = 0,
                 exclusive: bool = False) -> None:
        self.name = name
        self.stage = stage
        self.sent = sent            # bytes that other ranks take from this one
        self.exclusive = exclusive  # communicates in finish(), too: those behind it wait
        self.started = False
        self.ended = False
        self.began: Optional[int] = None  # ticks, where somebody records
        self._start = start
        self._finish = finish
        self._works: List[Any] = []

    def start(self) -> None:
        self.started = True
        self._works = self._start()

    def wait(self) -> None:
        for work in self._works:
            work.wait()
        if self._finish is not None:
            self._finish()


def _size(tensor: Any) -> int:
    return tensor.numel() * tensor.element_size()


def _native_op(op: int) -> Any:
    natives = {SUM: dist.ReduceOp.SUM, AVERAGE: dist.ReduceOp.SUM, MAX: dist.ReduceOp.MAX,
               MIN: dist.ReduceOp.MIN}
    if op not in natives:
        raise Refusal(f"{op} is no reduction")
    return natives[op]


def _combine(parts: List[Any], op: int) -> Any:
    """As the engine does it: in the order of the ranks, halves in float and rounded once."""
    _native_op(op)
    half = parts[0].dtype in (torch.float16, torch.bfloat16)
    total = parts[0].float() if half else parts[0].clone()
    for part in parts[1:]:
        if op in (SUM, AVERAGE):
            total += part
        else:
            total = (torch.maximum if op == MAX else torch.minimum)(total, part.to(total.dtype))
    if op == AVERAGE:
        if not total.is_floating_point():
            raise Refusal(f"integers have no average ({str(total.dtype)[6:]})")
        total /= len(parts)
    return total.to(parts[0].dtype)


def all_reduce(group: Group, stage: int, tensor: Any, op: int) -> Operation:
    native = _native_op(op)
    if tensor.dtype == torch.bfloat16 or (op == AVERAGE and tensor.dtype == torch.float16):
        return _all_reduce_of_parts(group, stage, tensor, op)
    if op == AVERAGE and not tensor.is_floating_point():
        raise Refusal(f"integers have no average ({str(tensor.dtype)[6:]})")
    average = (lambda: tensor.div_(group.size)) if op == AVERAGE else None
    return Operation(
        "all_reduce", stage,
        lambda: [dist.all_reduce(tensor, native, group.native, async_op=True)] if tensor.numel() else [],
        average, 2 * _size(tensor) * (group.size - 1) // group.size)


def _all_reduce_of_parts(group: Group, stage: int, tensor: Any, op: int) -> Operation:
    """Each rank reduces a part of the tensor and sends it to the others."""
    n, own = group.size, group.rank
    cut = [tensor.numel() * rank // n for rank in range(n + 1)]
    lengths = [cut[rank + 1] - cut[rank] for rank in range(n)]
    mine = lengths[own]
    wide = tensor.element_size()
    received = torch.empty(n * mine, dtype=tensor.dtype)

    def exchange(out: Any, into: Any, outgoing: List[int], incoming: List[int]) -> Any:
        return dist.all_to_all_single(_bytes(into), _bytes(out), [x * wide for x in incoming],
                                      [x * wide for x in outgoing], group.native, async_op=True)

    def start() -> List[Any]:
        return [exchange(tensor, received, lengths, [mine] * n)] if tensor.numel() else []

    def finish() -> None:
        if tensor.numel():
            part = _combine(list(received.view(n, mine)), op)
            exchange(part.repeat(n), tensor, [mine] * n, lengths).wait()

    others = tensor.numel() - mine
    return Operation("all_reduce", stage, start, finish, wide * (others + mine * (n - 1)), True)


def _bytes(tensor: Any) -> Any:
    return tensor.view(torch.uint8)


def _require_parts(name: str, whole: Any, one: Any, size: int) -> None:
    if whole.numel() != one.numel() * size or whole.dtype != one.dtype:
        raise Refusal(f"{name}: {whole.numel()} elements of {str(whole.dtype)[6:]} are not {size} "
                      f"times {one.numel()} of {str(one.dtype)[6:]}")


def all_gather(group: Group, stage: int, one: Any, whole: Any) -> Operation:
    _require_parts("out", whole, one, group.size)
    sent = _size(one) * (group.size - 1)
    if not one.numel():
        return Operation("all_gather", stage, lambda: [], None, sent)
    one, whole = _bytes(one), _bytes(whole)
    outputs = list(whole.chunk(group.size))
    return Operation("all_gather", stage, lambda: [dist.all_gather(outputs, one, group.native,
                                                                   async_op=True)], None, sent)


def reduce_scatter(group: Group, stage: int, whole: Any, one: Any, op: int) -> Operation:
    _native_op(op)
    _require_parts("in", whole, one, group.size)
    sent = _size(one) * (group.size - 1)
    if not one.numel():
        return Operation("reduce_scatter", stage, lambda: [], None, sent)
    received = torch.empty_like(whole)
    return Operation(
        "reduce_scatter", stage,
        lambda: [dist.all_to_all_single(_bytes(received), _bytes(whole), None, None, group.native,
                                        async_op=True)],
        lambda: one.copy_(_combine(list(received.view(group.size, -1)), op)), sent)


def broadcast(group: Group, stage: int, tensor: Any, root: int) -> Operation:
    if not 0 <= root < group.size:
        raise Refusal(f"root {root} of {group.size} ranks")
    source = group.ranks[root]
    sent = _size(tensor) * (group.size - 1) if root == group.rank else 0
    if not tensor.numel():
        return Operation("broadcast", stage, lambda: [])
    data = _bytes(tensor)
    return Operation("broadcast", stage, lambda: [dist.broadcast(data, source, group.native,
                                                                 async_op=True)], None, sent)


def all_to_all(group: Group, stage: int, whole: Any, out: Any,
               splits: Tuple[Optional[List[int]], Optional[List[int]]]) -> Operation:
    lengths = []
    for name, tensor, given in (("in", whole, splits[0]), ("out", out, splits[1])):
        if given is None:
            if tensor.numel() % group.size:
                raise Refusal(f"{name}: {tensor.numel()} elements are no {group.size} equal parts")
            given = [tensor.numel() // group.size] * group.size
        if sum(given) != tensor.numel() or min(given) < 0:
            raise Refusal(f"{name}: the splits are of {sum(given)} elements, the buffer has "
                          f"{tensor.numel()}")
        lengths.append([length * tensor.element_size() for length in given])
    sent = sum(lengths[0]) - lengths[0][group.rank]
    return Operation(
        "all_to_all", stage,
        lambda: [dist.all_to_all_single(_bytes(out), _bytes(whole), lengths[1], lengths[0],
                                        group.native, async_op=True)], None, sent)


def exchange(group: Group, stage: int, out: Any, into: Any, peers: Tuple[int, int]) -> Operation:
    to, source = peers
    if (out is not None and to == group.rank) or (into is not None and source == group.rank):
        raise Refusal("a rank cannot exchange with itself")
    for peer, tensor in ((to, out), (source, into)):
        if tensor is not None and not 0 <= peer < group.size:
            raise Refusal(f"rank {peer} of {group.size} ranks")

    def start() -> List[Any]:
        works = []
        if out is not None and out.numel():
            works.append(dist.isend(_bytes(out), group.ranks[to], group.native))
        if into is not None and into.numel():
            works.append(dist.irecv(_bytes(into), group.ranks[source], group.native))
        return works

    return Operation("exchange", stage, start, None, 0 if out is None else _size(out))
