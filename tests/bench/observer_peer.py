"""A rank of a job of PyTorch for the benchmark of what the observer takes: told by standard input
when to run, it answers with what its steps took of time and of the processor.
Usage: observer_peer.py mlp|layers"""

import json
import sys
import time

import torch
import torch.distributed as dist

import lockstep


def make(kind):
    """A model, its batch and its bucket cap in MiB: PyTorch's own example, or many small layers, 202
    parameters in 15 buckets."""
    if kind == "mlp":
        sizes, batch, cap = [1024, 2048, 2048, 2048, 10], 64, 25
    else:
        sizes, batch, cap = [160] * 101 + [10], 128, 0.67
    layers = []
    for inputs, outputs in zip(sizes, sizes[1:]):
        layers += [torch.nn.Linear(inputs, outputs), torch.nn.ReLU()]
    return torch.nn.Sequential(*layers[:-1]), torch.randn(batch, sizes[0]), cap


def main():
    torch.set_num_threads(1)
    torch.manual_seed(0)
    net, inputs, cap = make(sys.argv[1])
    dist.init_process_group("gloo")
    model = torch.nn.parallel.DistributedDataParallel(net, bucket_cap_mb=cap)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.001, foreach=False)
    model = lockstep.watch(model, optimizer)  # nothing where nobody records
    print(json.dumps({"ready": True, "observed": "_lockstep_watch" in model.__dict__,
                      "parameters": len(list(net.parameters()))}), flush=True)
    for line in sys.stdin:
        times, processor = [], time.process_time()
        for _ in range(int(line.split()[1])):
            start = time.perf_counter()
            optimizer.zero_grad(set_to_none=True)
            model(inputs).square().mean().backward()
            optimizer.step()
            times.append((time.perf_counter() - start) * 1e3)
        print(json.dumps({
            "step_ms": times, "processor_ms": (time.process_time() - processor) * 1e3 / len(times),
            "buckets": len(model.reducer._get_zeros_like_grad_buckets())}), flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
