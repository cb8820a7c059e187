"""Trains one model in Lockstep and in PyTorch's DistributedDataParallel and compares them.

Both start from the same weights and see the same batches; the optimizer is SGD with momentum.
Compared are the loss of every rank at every step (1e-5 relative), the final weights and buffers
(1e-5), and the bucket lists: at construction, after the rebuild, and under the rule of
PyTorch 1.9. Any difference, a missing PyTorch included, is exit code 1 and a line that says what.

The files handed to the driver are listed in conformance_driver.cpp.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import traceback

try:
    import numpy
    import torch
    import torch.distributed as dist
    from torch import nn
except ImportError as error:
    sys.exit(f"conformance needs Debian's python3-torch and python3-numpy: {error}")

TOLERANCE = 1e-5
LEARNING_RATE = 0.05
MOMENTUM = 0.9
CAPS = {"mlp": (0.01, 0.02), "cnn": (0.002, 0.01)}  # first and other buckets, MiB
INPUTS = {"mlp": (64,), "cnn": (1, 14, 14)}
CLASSES = 10


def build(kind):
    if kind == "mlp":
        return nn.Sequential(
            nn.Linear(64, 96), nn.ReLU(), nn.Linear(96, 64), nn.ReLU(),
            nn.Linear(64, 48), nn.ReLU(), nn.Linear(48, CLASSES))
    return nn.Sequential(
        nn.Conv2d(1, 6, 3), nn.BatchNorm2d(6), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(6, 16, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
        nn.Linear(64, 48), nn.ReLU(), nn.Linear(48, CLASSES))


def plan(model, limits):
    """PyTorch's own assignment at construction, as its Python side uses it."""
    parameters = list(model.parameters())
    indices, _ = dist._compute_bucket_assignment_by_size(
        parameters, limits, [False] * len(parameters))
    return [list(bucket) for bucket in reversed(indices)]


def rebuilt_lists(ddp):
    text = ddp._get_ddp_logging_data()["rebuilt_per_bucket_param_indices"]
    return [[int(index) for index in bucket.split()] for bucket in text.split(",")]


def run_torch_rank(rank, args, folder, inputs, targets, weights):
    first, cap = CAPS[args.model]
    dist._DEFAULT_FIRST_BUCKET_BYTES = int(first * 2**20)
    dist.init_process_group("gloo", init_method=f"file://{folder}/rendezvous",
                            rank=rank, world_size=args.world)
    model = build(args.model)
    with torch.no_grad():
        nn.utils.vector_to_parameters(torch.from_numpy(weights), model.parameters())
    ddp = nn.parallel.DistributedDataParallel(
        model, bucket_cap_mb=cap, gradient_as_bucket_view=args.view)
    optimizer = torch.optim.SGD(model.parameters(), lr=LEARNING_RATE, momentum=MOMENTUM)
    losses = []
    for step in range(args.steps):
        output = ddp(torch.from_numpy(inputs[step, rank]))
        loss = nn.functional.cross_entropy(output, torch.from_numpy(targets[step, rank]))
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
    pathlib.Path(folder, f"torch_{rank}.json").write_text(json.dumps(result))
    dist.barrier()


def run_torch(args, folder, *data):
    """Forks the ranks: libtorch is loaded once, and no thread of it runs yet."""
    children = []
    for rank in range(args.world):
        child = os.fork()
        if child == 0:
            code = 1
            try:
                run_torch_rank(rank, args, folder, *data)
                code = 0
            except BaseException:
                traceback.print_exc()
            finally:
                sys.stderr.flush()
                os._exit(code)
        children.append(child)
    codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
    if any(codes):
        sys.exit(f"PyTorch's ranks ended with exit codes {codes}")


def run_lockstep(args, folder):
    first, cap = CAPS[args.model]
    spec = {"model": args.model, "world": args.world, "view": args.view, "steps": args.steps,
            "batch": args.batch, "input": INPUTS[args.model], "first_bucket_mb": first,
            "bucket_cap_mb": cap, "learning_rate": LEARNING_RATE, "momentum": MOMENTUM}
    pathlib.Path(folder, "spec.json").write_text(json.dumps(spec))
    done = subprocess.run([args.driver, folder], timeout=100)
    if done.returncode != 0:
        sys.exit(f"{args.driver} ended with exit code {done.returncode}")


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
        ours = json.loads(pathlib.Path(folder, f"lockstep_{rank}.json").read_text())
        theirs = json.loads(pathlib.Path(folder, f"torch_{rank}.json").read_text())
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
    parser.add_argument("--model", choices=sorted(INPUTS), required=True)
    parser.add_argument("--world", type=int, required=True)
    parser.add_argument("--view", action="store_true")
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--batch", type=int, default=8)
    args = parser.parse_args()
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    torch.set_num_threads(1)
    random = numpy.random.default_rng(7)
    shape = (args.steps, args.world, args.batch)
    inputs = random.standard_normal(shape + INPUTS[args.model], dtype=numpy.float32)
    # Classes that depend on the input, so that there is something to learn.
    targets = inputs.reshape(shape + (-1,))[..., :CLASSES].argmax(axis=-1)
    torch.manual_seed(7)
    weights = nn.utils.parameters_to_vector(build(args.model).parameters()).detach().numpy()
    with tempfile.TemporaryDirectory(prefix="conformance-") as folder:
        for name, array in (("inputs", inputs), ("targets", targets), ("weights", weights)):
            array.tofile(os.path.join(folder, name + ".bin"))
        run_torch(args, folder, inputs, targets, weights)
        run_lockstep(args, folder)
        compare(args, folder)


if __name__ == "__main__":
    main()
