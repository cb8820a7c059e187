"""Trains one model in Lockstep and in PyTorch's DistributedDataParallel and compares them.

With --device cuda both train on GPUs, ours over NCCL and PyTorch over Gloo, which takes any number
of ranks a GPU.

Both start from the same weights and see the same batches; the optimizer is SGD with momentum.
Compared are the loss of every rank at every step (1e-5 relative), the final weights and buffers
(1e-5), and the bucket lists: at construction, after the rebuild, and under the rule of
PyTorch 1.9. Any difference, a missing PyTorch included, is exit code 1 and a line that says what.

The files handed to the driver are listed in TrainingRun.cpp.
"""

import argparse
import os
import sys
import tempfile

sys.dont_write_bytecode = True
import peers
import models
import numpy
import torch
import torch.distributed as dist
from torch import nn

TOLERANCE = 1e-5
LEARNING_RATE = 0.05
MOMENTUM = 0.9


def plan(model, limits):
    """PyTorch's own assignment at construction, as its Python side uses it."""
    parameters = list(model.parameters())
    indices, _ = dist._compute_bucket_assignment_by_size(
        parameters, limits, [False] * len(parameters))
    return [list(bucket) for bucket in reversed(indices)]


def rebuilt_lists(ddp):
    text = ddp._get_ddp_logging_data()["rebuilt_per_bucket_param_indices"]
    return [[int(index) for index in bucket.split()] for bucket in text.split(",")]


def train_torch(rank, args, folder, inputs, targets, weights):
    first, cap = peers.possible_caps(*models.CAPS[args.model])
    model = models.build(args.model)
    with torch.no_grad():
        nn.utils.vector_to_parameters(torch.from_numpy(weights), model.parameters())
    device = torch.device("cpu")
    if args.device == "cuda":
        torch.backends.cudnn.deterministic = True
        torch.backends.cudnn.allow_tf32 = False
        device = torch.device("cuda", rank % torch.cuda.device_count())
    model.to(device)
    ddp = nn.parallel.DistributedDataParallel(
        model, gradient_as_bucket_view=args.view, **peers.bucket_caps(first, cap))
    optimizer = torch.optim.SGD(model.parameters(), lr=LEARNING_RATE, momentum=MOMENTUM,
                                foreach=False)  # as libtorch's own
    losses = []
    for step in range(args.steps):
        output = ddp(torch.from_numpy(inputs[step, rank]).to(device))
        target = torch.from_numpy(targets[step, rank]).to(device)
        loss = nn.functional.cross_entropy(output, target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    result = {
        "losses": losses,
        "weights": nn.utils.parameters_to_vector(model.parameters()).tolist(),
        "buffers": [float(x) for buffer in model.buffers() for x in buffer.double().reshape(-1)],
        "initial": plan(model, [sys.maxsize]),
        "initial_1_9": plan(model, [int(first * 2**20), int(cap * 2**20)]),
        "rebuilt": rebuilt_lists(ddp),
    }
    peers.write(folder, f"torch_{rank}.json", result)


def spec_of(args):
    first, cap = peers.possible_caps(*models.CAPS[args.model])
    return {"model": args.model, "world": args.world, "view": args.view, "steps": args.steps,
            "batch": args.batch, "device": args.device, "input": models.INPUTS[args.model],
            "first_bucket_mb": first, "bucket_cap_mb": cap, "learning_rate": LEARNING_RATE,
            "momentum": MOMENTUM}


def worst(ours, theirs, what, relative):
    ours, theirs = numpy.asarray(ours), numpy.asarray(theirs)
    if ours.shape != theirs.shape or not numpy.isfinite(theirs).all() or theirs.size == 0 and relative:
        sys.exit(f"{what}: Lockstep has {ours.shape} numbers, PyTorch {theirs.shape}")
    if theirs.size == 0:
        return 0.0
    difference = numpy.abs(ours - theirs) / (numpy.abs(theirs) if relative else 1.0)
    index = int(difference.argmax())
    if not difference[index] <= TOLERANCE:
        sys.exit(f"{what}: number {index} is {ours[index]} in Lockstep and {theirs[index]} in "
                 f"PyTorch, off by {difference[index]:.3g}")
    return float(difference[index])


def compare(args, folder):
    losses = weights = 0.0
    for rank in range(args.world):
        ours, theirs = peers.read_both(folder, f"_{rank}")
        for key in ("initial", "initial_1_9", "rebuilt"):
            if ours[key] != theirs[key]:
                sys.exit(f"rank {rank}: {key} buckets are {ours[key]} in Lockstep and "
                         f"{theirs[key]} in PyTorch")
        if len(ours["rebuilt"]) < 3:
            sys.exit(f"the model has {len(ours['rebuilt'])} buckets; the comparison needs 3")
        losses = max(losses, worst(ours["losses"], theirs["losses"], f"rank {rank}, loss", True))
        for key in ("weights", "buffers"):
            weights = max(weights, worst(ours[key], theirs[key], f"rank {rank}, {key}", False))
    print(f"{args.model}, {args.world} ranks, view {'on' if args.view else 'off'}, {args.steps} "
          f"steps: loss within {losses:.2g} relative, weights within {weights:.2g}, "
          f"buckets {ours['rebuilt']}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--driver", required=True)
    parser.add_argument("--model", choices=sorted(models.INPUTS), required=True)
    parser.add_argument("--world", type=int, required=True)
    parser.add_argument("--view", action="store_true")
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    args = parser.parse_args()
    peers.prepare()
    random = numpy.random.default_rng(7)
    shape = (args.steps, args.world, args.batch)
    inputs = random.standard_normal(shape + models.INPUTS[args.model], dtype=numpy.float32)
    # Classes that depend on the input, so that there is something to learn.
    targets = inputs.reshape(shape + (-1,))[..., :models.CLASSES].argmax(axis=-1)
    torch.manual_seed(7)
    weights = nn.utils.parameters_to_vector(models.build(args.model).parameters()).detach().numpy()
    with tempfile.TemporaryDirectory(prefix="conformance-") as folder:
        for name, array in (("inputs", inputs), ("targets", targets), ("weights", weights)):
            array.tofile(os.path.join(folder, name + ".bin"))
        peers.run_torch(args.world, folder, lambda rank: train_torch(
            rank, args, folder, inputs, targets, weights))
        peers.run_lockstep(args.driver, "training", folder, spec_of(args), 100,
                           processes=args.device == "cuda")
        compare(args, folder)


if __name__ == "__main__":
    main()
