"""Prints what torch.nn.DataParallel gives for a table of cases, as JSON, one list.

On a machine without GPUs PyTorch's DataParallel passes through to the module. Here its own
scatter, replicate, parallel_apply and gather run on the CPU: only the calls that move bytes
between GPUs are replaced, by copies.
"""

import contextlib
import importlib
import json
import sys

import torch
import torch.nn.functional as F

scatter_gather = importlib.import_module("torch.nn.parallel.scatter_gather")
replicate = importlib.import_module("torch.nn.parallel.replicate")
parallel_apply = importlib.import_module("torch.nn.parallel.parallel_apply")
functions = importlib.import_module("torch.nn.parallel._functions")
comm = importlib.import_module("torch.nn.parallel.comm")


class Scatter:
    @staticmethod
    def apply(devices, sizes, dim, tensor):
        return tensor.chunk(len(devices), dim)


class Gather:
    @staticmethod
    def apply(device, dim, *tensors):
        if all(tensor.dim() == 0 for tensor in tensors):
            tensors = [tensor.view(1) for tensor in tensors]
        return torch.cat(list(tensors), dim)


class Broadcast(torch.autograd.Function):
    @staticmethod
    def forward(context, devices, *tensors):
        context.count = len(tensors)
        return tuple(tensor.clone() for _ in devices for tensor in tensors)

    @staticmethod
    def backward(context, *gradients):
        count = context.count
        return (None,) + tuple(sum(gradients[i::count]) for i in range(count))


def broadcast_coalesced(tensors, devices):
    return [[tensor.data if index == 0 else tensor.clone() for tensor in tensors]
            for index in range(len(devices))]


def run_on_cpu():
    scatter_gather.Scatter, scatter_gather.Gather = Scatter, Gather
    functions.Broadcast = Broadcast
    comm.broadcast_coalesced = broadcast_coalesced
    for module in (replicate, parallel_apply):
        module._get_device_index = lambda device, *_: device
    torch.cuda.current_stream = lambda device=None: None
    torch.cuda.device = torch.cuda.stream = lambda _: contextlib.nullcontext()
    if hasattr(torch, "accelerator"):  # what the newer ones ask in place of torch.cuda
        torch.accelerator.is_available = lambda: True
        torch.accelerator.current_accelerator = lambda: torch.device("cpu")
        torch.accelerator.current_stream = lambda _=None: contextlib.nullcontext()
        torch.accelerator.device_index = lambda _: contextlib.nullcontext()


def wave(shape, offset):
    count = torch.Size(shape).numel()
    values = torch.sin(0.37 * torch.arange(count, dtype=torch.float64) + offset)
    return values.to(torch.float32).view(shape)


class Mlp(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = torch.nn.Linear(6, 8)
        self.second = torch.nn.Linear(8, 3)

    def forward(self, x):
        return self.second(torch.tanh(self.first(x)))


class NormNet(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = torch.nn.Linear(4, 3)
        self.norm = torch.nn.BatchNorm1d(3)

    def forward(self, x):
        return self.norm(self.fc(x))


class OneOfTwo(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.used = torch.nn.Linear(4, 2)
        self.unused = torch.nn.Linear(4, 2)

    def forward(self, x):
        return self.used(x)


class Scalar(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = torch.nn.Linear(4, 2)

    def forward(self, x):
        return F.softplus(self.fc(x)).mean()


class Named(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = torch.nn.Linear(4, 2)

    def forward(self, pair, mask=None, scale=1.0):
        return {"sum": self.fc(pair[0]) + scale * pair[1], "masked": self.fc(pair[0]) * mask}


def inputs_of(kind, batch):
    if kind is Named:
        pair = (wave([batch, 4], 0.1), wave([batch, 2], 0.2))
        return (pair,), {"mask": wave([batch, 1], 0.3), "scale": 0.5}
    return (wave([batch, 6 if kind is Mlp else 4], 0.1),), {}


def run_case(kind, devices, batch):
    model = kind()
    with torch.no_grad():
        for index, parameter in enumerate(model.parameters()):
            parameter.copy_(wave(parameter.shape, index))
    parallel = torch.nn.DataParallel(model)
    parallel.device_ids = list(range(devices))
    parallel.output_device, parallel.dim = 0, 0
    parallel.src_device_obj = torch.device("cpu")
    positional, named = inputs_of(kind, batch)
    output = parallel(*positional, **named)
    outputs = [output[key] for key in sorted(output)] if kind is Named else [output]
    sum((part ** 2).sum() for part in outputs).backward()
    flat = lambda tensor: tensor.detach().flatten().tolist()
    return {
        "model": kind.__name__, "devices": devices, "batch": batch,
        "outputs": [flat(part) for part in outputs],
        "gradients": {name: flat(p.grad) for name, p in model.named_parameters()},
        "buffers": {name: flat(b.to(torch.float64)) for name, b in model.named_buffers()},
    }


def main():
    run_on_cpu()
    cases = [run_case(kind, devices, batch)
             for kind in (Mlp, OneOfTwo, Scalar, Named)
             for devices in (2, 3, 4) for batch in (1, 2, 3, 5, 7, 8)]
    cases += [run_case(NormNet, devices, batch) for devices in (2, 4) for batch in (8, 12, 14)]
    json.dump(cases, sys.stdout)


if __name__ == "__main__":
    main()
