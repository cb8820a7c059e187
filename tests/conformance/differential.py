"""Trains small models in Lockstep and in PyTorch's DistributedDataParallel, gradient by gradient.

One call covers every combination of one world size: models x gradient_as_bucket_view x
find_unused_parameters and static_graph x bucket caps x accumulation under no_sync; and
batched_grad_copy, which a PyTorch that does not know it is compared without. Compared after
every synchronised backward are each parameter's gradient on each rank (whether there is one; and
max|a-b| <= 1e-6 max|b|), and for each combination the bucket lists at construction and in use at
the end, and the order in which buckets are launched. Any difference, a missing PyTorch included,
is exit code 1 and a line that says what.

The files handed to the driver are listed in DifferentialRun.cpp.
"""

import argparse
import inspect
import itertools
import sys
import tempfile

sys.dont_write_bytecode = True
import peers
import numpy
import torch
import torch.distributed as dist
from torch import nn

TOLERANCE = 1e-6
LEARNING_RATE = 0.1
SYNCHRONISED_STEPS = 4
BATCH = 4
WIDTH = 12
CLASSES = 5
# The first bucket's, and the others': `given` is what the newer PyTorch makes of one that is given.
CAPS = {"tiny": (0.0001, 0.0002), "middle": (0.0005, 0.001), "given": (0.0007, 0.0007),
        "whole": (1.0, 25.0)}


class Mlp(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(WIDTH, 16), nn.Linear(16, 16)
        self.c, self.d = nn.Linear(16, 8), nn.Linear(8, CLASSES)

    def forward(self, x, branch):
        return self.d(torch.tanh(self.c(torch.tanh(self.b(torch.tanh(self.a(x)))))))


class Shared(nn.Module):
    """One layer used three times."""

    def __init__(self):
        super().__init__()
        self.a, self.b, self.d = nn.Linear(WIDTH, 16), nn.Linear(16, 16), nn.Linear(16, CLASSES)

    def forward(self, x, branch):
        x = torch.tanh(self.a(x))
        for _ in range(3):
            x = torch.tanh(self.b(x))
        return self.d(x)


class Mixed(nn.Module):
    """Single precision first, double precision last."""

    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(WIDTH, 16), nn.Linear(16, 8)
        self.c, self.d = nn.Linear(8, 8).double(), nn.Linear(8, CLASSES).double()

    def forward(self, x, branch):
        x = torch.tanh(self.b(torch.tanh(self.a(x))))
        return self.d(torch.tanh(self.c(x.double()))).float()


class Branches(nn.Module):
    """One of two branches takes part, and one layer never does."""

    def __init__(self):
        super().__init__()
        self.a = nn.Linear(WIDTH, 16)
        self.left, self.right = nn.Linear(16, 8), nn.Linear(16, 8)
        self.never, self.d = nn.Linear(16, 8), nn.Linear(8, CLASSES)

    def forward(self, x, branch):
        x = torch.tanh(self.a(x))
        x = self.left(x) if branch == 0 else self.right(x)
        return self.d(torch.tanh(x))


MODELS = {"mlp": Mlp, "shared": Shared, "mixed": Mixed, "branches": Branches}


def combinations(world):
    """The graph of `branches` differs among ranks and steps unless it is declared static."""
    modes = {"mlp": ("plain", "unused", "static"), "shared": ("plain", "static"),
             "mixed": ("plain", "unused", "static"), "branches": ("unused", "static")}
    found = []
    for model, view, caps, accumulate, batched in itertools.product(
            MODELS, (False, True), CAPS, (1, 3), (False, True)):
        first, cap = peers.possible_caps(*CAPS[caps])
        if batched and (accumulate > 1 or caps == "whole"):
            continue
        for mode in modes[model]:
            if accumulate > 1 and (mode == "static" or caps == "whole"):
                continue  # PyTorch counts firings of the first backward, synchronised or not
            found.append({"model": model, "view": view, "mode": mode, "caps": caps,
                          "batched": batched,
                          "first_bucket_mb": first, "bucket_cap_mb": cap,
                          "accumulate": accumulate, "world": world, "batch": BATCH,
                          "width": WIDTH, "learning_rate": LEARNING_RATE,
                          "steps": SYNCHRONISED_STEPS * accumulate})
    for number, combination in enumerate(found):
        combination["number"] = number
    return found


def title(combination):
    return (f"{combination['model']}, {combination['mode']}, view "
            f"{'on' if combination['view'] else 'off'}, caps {combination['caps']}, "
            f"{'batched copies, ' if combination['batched'] else ''}"
            f"{combination['accumulate']} backwards a step, {combination['world']} ranks")


def branch_of(combination, step, rank):
    return 0 if combination["mode"] == "static" else (step + rank) % 2


def initial_weights(combination):
    torch.manual_seed(100 + combination["number"])
    return [p.detach().clone() for p in MODELS[combination["model"]]().parameters()]


def data(combination):
    random = numpy.random.default_rng(combination["number"])
    shape = (combination["steps"], combination["world"], BATCH)
    inputs = random.standard_normal(shape + (WIDTH,), dtype=numpy.float32)
    return inputs, random.integers(0, CLASSES, shape)


def gradients(parameters):
    """A flag and the numbers of each gradient: 0 when there is none."""
    parts = []
    for parameter in parameters:
        if parameter.grad is None:
            parts.append(numpy.zeros(1))
        else:
            parts.append(numpy.ones(1))
            parts.append(parameter.grad.double().reshape(-1).numpy())
    return numpy.concatenate(parts)


def newer_options(combination):
    known = inspect.signature(nn.parallel.DistributedDataParallel.__init__).parameters
    return {"batched_grad_copy": combination["batched"]} if "batched_grad_copy" in known else {}


def train_torch(rank, combination, folder):
    first, cap = combination["first_bucket_mb"], combination["bucket_cap_mb"]
    model = MODELS[combination["model"]]()
    with torch.no_grad():
        for parameter, value in zip(model.parameters(), initial_weights(combination)):
            parameter.copy_(value)
    ddp = nn.parallel.DistributedDataParallel(
        model, gradient_as_bucket_view=combination["view"], **peers.bucket_caps(first, cap),
        find_unused_parameters=combination["mode"] == "unused",
        static_graph=combination["mode"] == "static", **newer_options(combination))
    launched = []

    def reduce(state, bucket):
        launched.append(sum(g.numel() for g in bucket.gradients()))
        buffer = bucket.buffer().div_(dist.get_world_size())
        return dist.all_reduce(buffer, async_op=True).get_future().then(lambda f: f.value()[0])

    ddp.register_comm_hook(None, reduce)
    parameters = list(model.parameters())
    indices, _ = dist._compute_bucket_assignment_by_size(
        parameters, [sys.maxsize] if combination["mode"] != "unused"
        else [int(first * 2**20), int(cap * 2**20)], [False] * len(parameters))
    optimizer = torch.optim.SGD(parameters, lr=LEARNING_RATE)
    inputs, targets = data(combination)
    every = combination["accumulate"]
    seen = []

    def backward(step):
        output = ddp(torch.from_numpy(inputs[step, rank]), branch_of(combination, step, rank))
        nn.functional.cross_entropy(output, torch.from_numpy(targets[step, rank])).backward()

    for step in range(combination["steps"]):
        if (step + 1) % every:
            with ddp.no_sync():
                backward(step)
            continue
        backward(step)
        seen.append(gradients(parameters))
        optimizer.step()
        optimizer.zero_grad(set_to_none=not combination["view"])
    numpy.concatenate(seen).tofile(f"{folder}/torch_{combination['number']}_{rank}.bin")
    rebuilt = ddp._get_ddp_logging_data().get("rebuilt_per_bucket_param_indices", "")
    result = {"initial": [list(bucket) for bucket in reversed(indices)],
              "rebuilt": [[int(i) for i in bucket.split()] for bucket in rebuilt.split(",")]
              if rebuilt else [], "launched": launched}
    peers.write(folder, f"torch_{combination['number']}_{rank}.json", result)


def train_all(rank, folder, chosen):
    for combination in chosen:
        train_torch(rank, combination, folder)
        dist.barrier()


def compare_gradients(combination, folder, rank):
    """Returns the largest difference, relative to the largest number of its gradient."""
    name = f"_{combination['number']}_{rank}.bin"
    ours = numpy.fromfile(f"{folder}/lockstep{name}")
    theirs = numpy.fromfile(f"{folder}/torch{name}")
    sizes = [p.numel() for p in initial_weights(combination)]
    at_ours = at_theirs = 0
    worst = 0.0
    for step in range(SYNCHRONISED_STEPS):
        for index, size in enumerate(sizes):
            where = f"{title(combination)}: rank {rank}, step {step}, parameter {index}"
            if ours[at_ours] != theirs[at_theirs]:
                sys.exit(f"{where}: Lockstep has {'a' if ours[at_ours] else 'no'} gradient, "
                         f"PyTorch has {'one' if theirs[at_theirs] else 'none'}")
            defined = ours[at_ours] == 1
            at_ours, at_theirs = at_ours + 1, at_theirs + 1
            if not defined:
                continue
            a, b = ours[at_ours:at_ours + size], theirs[at_theirs:at_theirs + size]
            at_ours, at_theirs = at_ours + size, at_theirs + size
            difference, scale = numpy.abs(a - b).max(), numpy.abs(b).max()
            if not difference <= TOLERANCE * scale:
                sys.exit(f"{where}: gradients differ by {difference:.3g}, the largest number "
                         f"is {scale:.3g}")
            worst = max(worst, difference / scale if scale else 0.0)
    if at_ours != ours.size or at_theirs != theirs.size:
        sys.exit(f"{title(combination)}: rank {rank}: {ours.size - at_ours} numbers of Lockstep "
                 f"and {theirs.size - at_theirs} of PyTorch are left over")
    return worst


def compare(combination, folder):
    worst = 0.0
    for rank in range(combination["world"]):
        ours, theirs = peers.read_both(folder, f"_{combination['number']}_{rank}")
        for key in ("initial", "rebuilt", "launched"):
            if ours[key] != theirs[key]:
                sys.exit(f"{title(combination)}: rank {rank}: {key}: {ours[key]} in Lockstep, "
                         f"{theirs[key]} in PyTorch")
        worst = max(worst, compare_gradients(combination, folder, rank))
    return worst


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--driver", required=True)
    parser.add_argument("--world", type=int, required=True)
    parser.add_argument("--only", type=int, help="the number of one combination")
    args = parser.parse_args()
    peers.prepare()
    chosen = [c for c in combinations(args.world) if args.only in (None, c["number"])]
    with tempfile.TemporaryDirectory(prefix="differential-") as folder:
        for combination in chosen:
            number = combination["number"]
            inputs, targets = data(combination)
            inputs.tofile(f"{folder}/inputs_{number}.bin")
            targets.tofile(f"{folder}/targets_{number}.bin")
            numpy.concatenate([p.double().reshape(-1).numpy()
                               for p in initial_weights(combination)]).tofile(
                                   f"{folder}/weights_{number}.bin")
        peers.run_torch(args.world, folder, lambda rank: train_all(rank, folder, chosen))
        peers.run_lockstep(args.driver, "differential", folder,
                           {"world": args.world, "combinations": chosen}, 200)
        worst = max(compare(combination, folder) for combination in chosen)
    print(f"{len(chosen)} combinations on {args.world} ranks: bucket lists and launch order "
          f"equal, gradients within {worst:.2g}")


if __name__ == "__main__":
    main()
