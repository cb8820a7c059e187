"""PyTorch's side of the message benchmarks: one rank, told by standard input what to run."""

import json
import sys
import time

import torch
import torch.distributed as dist


def main():
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method="env://")
    rank = dist.get_rank()
    print(json.dumps({"ready": True}), flush=True)
    for line in sys.stdin:
        _, calls, what, *size = line.split()
        tensor = torch.ones(int(size[0]) // 4 if size else 1024)
        times = []
        dist.barrier()
        for _ in range(int(calls)):
            start = time.perf_counter()
            if what == "allreduce":
                dist.all_reduce(tensor, dist.ReduceOp.MAX)
            elif rank == 0:
                dist.send(tensor, 1)
                dist.recv(tensor, 1)
            else:
                dist.recv(tensor, 0)
                dist.send(tensor, 0)
            share = 1e3 if what == "allreduce" else 0.5e3
            times.append((time.perf_counter() - start) * share)
        print(json.dumps({"step_ms": times}), flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
