"""PyTorch's side of the benchmarks of a training step: one rank, told by standard input when to
run. Usage: ddp_step_peer.py MODEL BATCH none|ddp [--view]"""

import json
import sys
import time

import torch
import torch.distributed as dist

from models import loss_of, make


def main():
    kind, batch, strategy = sys.argv[1:4]
    torch.set_num_threads(1)
    model, inputs, targets = make(kind, int(batch))
    with torch.no_grad():
        loss = loss_of(model(inputs), targets).item()
    parameters = list(model.parameters())
    if strategy == "ddp":
        dist.init_process_group("gloo", init_method="env://")
        model = torch.nn.parallel.DistributedDataParallel(
            model, gradient_as_bucket_view="--view" in sys.argv)
    optimizer = torch.optim.SGD(parameters, lr=0.01, momentum=0.9)
    print(json.dumps({"ready": True, "loss": loss}), flush=True)
    for line in sys.stdin:
        times = []
        for _ in range(int(line.split()[1])):
            start = time.perf_counter()
            optimizer.zero_grad(set_to_none=True)
            loss_of(model(inputs), targets).backward()
            optimizer.step()
            times.append((time.perf_counter() - start) * 1e3)
        print(json.dumps({"step_ms": times}), flush=True)
    if strategy == "ddp":
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
