"""A rank of a job of PyTorch for the benchmark of what the observer takes. Told by standard input how
many rounds to run, each of one step of each side that is named, it answers with what the steps of
each side took of time and of the processor; each behind another one of its side, which is not told.
The side "observed" is with what lockstep.watch put into the job; in the others it is taken out,
where that can be done.
Usage: observer_peer.py mlp|layers|resnet18 [--batch N] [--device cuda]"""

import argparse
import json
import sys
import time

import torch
import torch.distributed as dist

import lockstep
import lockstep._collectives
import lockstep._session

from contestants import alternate
from devices import gpu_of_rank
from models import ResNet18


def make(kind, batch):
    """A model, its batch and its bucket cap in MiB: PyTorch's own example, or many small layers, 202
    parameters in 15 buckets. Of a hundred layers with PyTorch's usual weights the first get
    gradients that are denormal numbers, which a processor may take ten times as long for."""
    if kind == "resnet18":
        return ResNet18(), torch.randn(batch or 128, 3, 32, 32), 25
    if kind == "mlp":
        sizes, usual, cap = [1024, 2048, 2048, 2048, 10], 64, 25
    else:
        sizes, usual, cap = [160] * 101 + [10], 128, 0.67
    layers = []
    for inputs, outputs in zip(sizes, sizes[1:]):
        layers += [torch.nn.Linear(inputs, outputs), torch.nn.ReLU()]
        if kind == "layers":
            torch.nn.init.kaiming_uniform_(layers[-2].weight, nonlinearity="relu")
    return torch.nn.Sequential(*layers[:-1]), torch.randn(batch or usual, sizes[0]), cap


class Observer:
    """What lockstep.watch has put into a job: taken out for some steps, and put in again."""

    def __init__(self, model, optimizer):
        self.places = [(owner, name) for owner, names in (
            (model, ("_forward_pre_hooks", "_forward_hooks")),
            (optimizer, ("_optimizer_step_pre_hooks", "_optimizer_step_post_hooks")))
            for name in names]
        self.hooks = [getattr(owner, name) for owner, name in self.places]
        self.backward = torch.autograd.backward
        self.groups = [(hooks, hooks._group, hooks._after.__self__)
                       for hooks in lockstep._session.session().groups._hooks]
        self.is_in = True

    def put(self, is_in):
        if is_in == self.is_in:
            return
        self.is_in = is_in
        for (owner, name), hooks in zip(self.places, self.hooks):
            setattr(owner, name, hooks if is_in else type(hooks)())
        torch.autograd.backward = self.backward if is_in else self.backward.__wrapped__
        for hooks, group, flights in self.groups:
            if is_in:
                hooks._group = group
                group.register_pre_hook(lockstep._collectives._HOOK_ID, flights.before)
                hooks._take_turns()
            else:
                hooks.close()


def main():
    torch.set_num_threads(1)
    torch.manual_seed(0)
    parser = argparse.ArgumentParser()
    parser.add_argument("kind", choices=("mlp", "layers", "resnet18"))
    parser.add_argument("--batch", type=int)
    parser.add_argument("--device", default="cpu")
    options = parser.parse_args()
    device = gpu_of_rank() if options.device == "cuda" else torch.device("cpu")
    net, inputs, cap = make(options.kind, options.batch)
    net, inputs = net.to(device), inputs.to(device)
    dist.init_process_group("nccl" if device.type == "cuda" else "gloo")
    model = torch.nn.parallel.DistributedDataParallel(net, bucket_cap_mb=cap)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.001, foreach=False)
    model = lockstep.watch(model, optimizer)  # nothing where nobody records
    observed = "_lockstep_watch" in model.__dict__
    # Before PyTorch 2.14 a communication hook watches, which DDP does not let go of.
    observer = Observer(model, optimizer) if observed and model._lockstep_watch.groups.seen else None
    print(json.dumps({"ready": True, "observed": observed, "can_be_put_out": observer is not None,
                      "parameters": len(list(net.parameters()))}), flush=True)

    def turn(side):
        if observer is None:
            return step()
        observer.put(side == "observed")
        step()  # code that ran three steps ago is further from the processor than a job's would be
        return step()

    def step():
        start, processor = time.perf_counter(), time.process_time()
        optimizer.zero_grad(set_to_none=True)
        loss = model(inputs).square().mean()
        loss.backward()
        optimizer.step()
        if device.type == "cuda":
            loss.item()  # as a training loop reads it: waits for the device
        return (time.perf_counter() - start) * 1e3, (time.process_time() - processor) * 1e3

    for line in sys.stdin:
        _, count, *sides = line.split()
        took = alternate(sides, int(count), turn)  # in the same order on every rank
        print(json.dumps({
            "step_ms": {side: [ms for ms, _ in steps] for side, steps in took.items()},
            "processor_ms": {side: [ms for _, ms in steps] for side, steps in took.items()},
            "buckets": len(model.reducer._get_zeros_like_grad_buckets())}), flush=True)
    if observer is not None:
        observer.put(True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
