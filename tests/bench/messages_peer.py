"""PyTorch's side of the message benchmarks: one rank, told by standard input what to run."""

import json
import sys
import time

import torch
import torch.distributed as dist

NUMBERS = (25 << 20) // 4  # as many as in tests/bench/BenchMessages.cpp
TYPES = {"fp16": torch.half, "fp32": torch.float}


def main():
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method="env://")
    rank = dist.get_rank()
    print(json.dumps({"ready": True}), flush=True)
    for line in sys.stdin:
        _, calls, what, *rest = line.split()
        if what == "sum":
            gradients = torch.randn(NUMBERS).mul(1e-3).to(TYPES[rest[0]])
            tensor = torch.empty_like(gradients)
        else:
            tensor = torch.ones(int(rest[0]) // 4 if rest else 1024)
        times = []
        dist.barrier()
        for _ in range(int(calls)):
            if what == "sum":
                tensor.copy_(gradients)
            start = time.perf_counter()
            if what == "sum":
                dist.all_reduce(tensor)
            elif what == "allreduce":
                dist.all_reduce(tensor, dist.ReduceOp.MAX)
            elif rank == 0:
                dist.send(tensor, 1)
                dist.recv(tensor, 1)
            else:
                dist.recv(tensor, 0)
                dist.send(tensor, 0)
            share = 0.5e3 if what == "message" else 1e3
            times.append((time.perf_counter() - start) * share)
        print(json.dumps({"step_ms": times}), flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
