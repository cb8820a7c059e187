"""PyTorch's side of the ddp_step benchmark: one rank, told by standard input when to run."""

import json
import sys
import time

import torch
import torch.distributed as dist

LAYERS = [1024, 2048, 2048, 2048, 10]
BATCH = 64


def main():
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method="env://")
    torch.manual_seed(0)
    modules = []
    for index, (inputs, outputs) in enumerate(zip(LAYERS, LAYERS[1:])):
        modules += [torch.nn.Linear(inputs, outputs)]
        if index + 2 < len(LAYERS):
            modules += [torch.nn.ReLU()]
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Sequential(*modules))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    inputs = torch.randn(BATCH, LAYERS[0])
    labels = torch.randint(0, LAYERS[-1], (BATCH,))
    print(json.dumps({"ready": True}), flush=True)
    for line in sys.stdin:
        times = []
        for _ in range(int(line.split()[1])):
            start = time.perf_counter()
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(model(inputs), labels).backward()
            optimizer.step()
            times.append((time.perf_counter() - start) * 1e3)
        print(json.dumps({"step_ms": times}), flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
