"""PyTorch's side of the benchmarks of a training step: one rank, told by standard input when to
run. Usage: ddp_step_peer.py MODEL BATCH none|ddp [--view] [--device cuda]"""

import json
import os
import sys
import time

import torch
import torch.distributed as dist

from models import loss_of, make


def device_of_rank():
    """The GPU of this rank; NCCL is told when ranks share one, as by our own backend."""
    if "--device" not in sys.argv:
        return torch.device("cpu")
    local, count = int(os.environ["LOCAL_RANK"]), torch.cuda.device_count()
    if int(os.environ["LOCAL_WORLD_SIZE"]) > count:
        if torch.cuda.nccl.version() >= (2, 30):
            os.environ["NCCL_MULTI_RANK_GPU_ENABLE"] = "1"
        else:
            os.environ["NCCL_HOSTID"] = f"share{local // count}"
    device = torch.device("cuda", local % count)
    torch.cuda.set_device(device)
    return device


def main():
    kind, batch, strategy = sys.argv[1:4]
    torch.set_num_threads(1)
    device = device_of_rank()
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
