"""PyTorch's side of the benchmarks of single calls, over Gloo: one rank, told by standard input what
to run, with the turns and answers of BenchMessages.cpp."""

import json
import sys
import time

import torch
import torch.distributed as dist

NUMBERS = (25 << 20) // 4  # as many as in tests/bench/BenchMessages.cpp
TYPES = {"fp16": torch.half, "fp32": torch.float}


def times_of(calls, call, prepare=lambda: None):
    times = []
    dist.barrier()
    for _ in range(calls):
        prepare()
        start = time.perf_counter()
        call()
        times.append((time.perf_counter() - start) * 1e3)
    return times


def message(calls, size):
    tensor = torch.ones(size, dtype=torch.uint8)

    def ping():
        dist.send(tensor, 1)
        dist.recv(tensor, 1)

    def pong():
        dist.recv(tensor, 0)
        dist.send(tensor, 0)

    round_trips = times_of(calls, ping if dist.get_rank() == 0 else pong)
    return {"step_ms": [time_ms / 2 for time_ms in round_trips]}


def gradients(calls, dtype):
    values = torch.randn(NUMBERS).mul(1e-3).to(TYPES[dtype])
    tensor = torch.empty_like(values)
    return {"step_ms": times_of(calls, lambda: dist.all_reduce(tensor),
                                lambda: tensor.copy_(values))}


def allreduce(calls, size):
    ranks = dist.get_world_size()
    tensor = torch.full((size // 4,), dist.get_rank() + 1.0)
    dist.all_reduce(tensor)
    if not torch.all(tensor == ranks * (ranks + 1) / 2):
        sys.exit("messages_peer: a sum over the ranks is wrong")
    tensor.zero_()
    dist.barrier()
    start = time.perf_counter()
    for _ in range(calls):
        dist.all_reduce(tensor)
    return {"calls": calls, "total_ms": (time.perf_counter() - start) * 1e3}


def main():
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method="env://")
    print(json.dumps({"ready": True}), flush=True)
    for line in sys.stdin:
        _, calls, what, rest = line.split()[:4]
        answer = (gradients(int(calls), rest) if what == "sum"
                  else message(int(calls), int(rest)) if what == "message"
                  else allreduce(int(calls), int(rest)))
        print(json.dumps(answer), flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
