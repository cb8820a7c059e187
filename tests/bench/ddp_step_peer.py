"""PyTorch's side of the benchmarks of a training step: one rank, told by standard input when to
run. Usage: ddp_step_peer.py MODEL BATCH none|ddp [--view] [--device cuda]"""

import json
import sys
import time

import torch
import torch.distributed as dist

from devices import gpu_of_rank
from models import loss_of, make


def main():
    kind, batch, strategy = sys.argv[1:4]
    torch.set_num_threads(1)
    device = gpu_of_rank() if "--device" in sys.argv else torch.device("cpu")
    model, inputs, targets = make(kind, int(batch))
    model, inputs, targets = model.to(device), inputs.to(device), targets.to(device)
    with torch.no_grad():
        loss = loss_of(model(inputs), targets).item()
    parameters = list(model.parameters())
    if strategy == "ddp":
        dist.init_process_group("nccl" if device.type == "cuda" else "gloo",
                                init_method="env://")
        model = torch.nn.parallel.DistributedDataParallel(
            model, gradient_as_bucket_view="--view" in sys.argv)
    # Parameter by parameter, as libtorch's own does it: what is compared is DDP.
    optimizer = torch.optim.SGD(parameters, lr=0.01, momentum=0.9, foreach=False)
    print(json.dumps({"ready": True, "loss": loss}), flush=True)
    for line in sys.stdin:
        times = []
        for _ in range(int(line.split()[1])):
            start = time.perf_counter()
            optimizer.zero_grad(set_to_none=True)
            loss = loss_of(model(inputs), targets)
            loss.backward()
            optimizer.step()
            if device.type == "cuda":
                loss.item()  # as a training loop reads it: waits for the device
            times.append((time.perf_counter() - start) * 1e3)
        print(json.dumps({"step_ms": times}), flush=True)
    if strategy == "ddp":
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
