"""Trains one model with each hook that Lockstep brings, in PyTorch by lockstep.hook and in the engine.

The model, the weights and the batches are those of hooks.py. The same library runs in both worlds: its
host in PyTorch is engine/observer, in the engine engine/hooks/plugin. Losses and final weights are to
be equal bit for bit on 2 ranks. A hook that PyTorch's communication hooks cannot express is to be
refused with its sentence. Any difference, a missing PyTorch included, is exit code 1 and a line that
says what.
"""

import argparse
import os
import pathlib
import sys
import tempfile

sys.dont_write_bytecode = True
import hooks
import models
import peers
import numpy
import torch
import torch.distributed as dist
from torch import nn

WORLD = 2
# The hooks, with values that make them work within the steps.
TRAINED = {"allreduce": {}, "bf16": {}, "delayed": {}, "dgc": {"density": 0.05}, "ef_sign": {},
           "fp16": {}, "hierarchical": {}, "int8": {}, "noop": {},
           "powersgd": {"rank": 2, "start": 3}, "qsgd": {}, "randomk": {}, "sign": {}, "topk": {}}
WITHOUT_MOMENTUM = ("dgc",)  # keeps one itself
REFUSED = {"gossip": "after each step of the optimizer", "post_local_sgd": "after each step of the "
           "optimizer", "onebit": "in the optimizer's place", "zero_rs": "before each forward"}


def combinations(folder):
    """What the driver is given. Every hook that is there has to be in one of the lists."""
    there = {path.stem for path in folder.glob("*.so")}
    if there != TRAINED.keys() | REFUSED.keys():
        sys.exit(f"hooks without a test: {there ^ (TRAINED.keys() | REFUSED.keys())}")
    first, cap = peers.possible_caps(*models.CAPS[hooks.MODEL])
    return [{"hook": hook, "values": values, "view": bool(number % 2), "number": number,
             "steps": hooks.STEPS, "batch": hooks.BATCH, "input": models.INPUTS[hooks.MODEL],
             "first_bucket_mb": first, "bucket_cap_mb": cap, "learning_rate": 0.02,
             "momentum": 0.0 if hook in WITHOUT_MOMENTUM else hooks.MOMENTUM}
            for number, (hook, values) in enumerate(TRAINED.items())]


def train(rank, folder, combination, inputs, targets, weights):
    import lockstep

    model = models.build(hooks.MODEL)
    with torch.no_grad():
        nn.utils.vector_to_parameters(torch.tensor(weights), model.parameters())
    ddp = nn.parallel.DistributedDataParallel(
        model, gradient_as_bucket_view=combination["view"],
        **peers.bucket_caps(combination["first_bucket_mb"], combination["bucket_cap_mb"]))
    optimizer = torch.optim.SGD(model.parameters(), lr=combination["learning_rate"],
                                momentum=combination["momentum"], foreach=False)
    state, hook = lockstep.hook(combination["hook"], optimizer=optimizer, **combination["values"])
    ddp.register_comm_hook(state, hook)
    losses = []
    for step in range(hooks.STEPS):
        output = ddp(torch.from_numpy(inputs[step, rank]))
        loss = nn.functional.cross_entropy(output, torch.from_numpy(targets[step, rank]))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    rebuilt = ddp._get_ddp_logging_data()["rebuilt_per_bucket_param_indices"]
    peers.write(folder, f"torch_{combination['number']}_{rank}.json", {
        "losses": losses, "weights": nn.utils.parameters_to_vector(model.parameters()).tolist(),
        "buckets": [[int(index) for index in bucket.split()] for bucket in rebuilt.split(",")]})
    dist.barrier()
    state.close()


def require_refusals():
    import lockstep

    for name, why in REFUSED.items():
        optimizer = torch.optim.Adam([nn.Parameter(torch.zeros(2))])
        try:
            lockstep.hook(name, optimizer=optimizer)
        except lockstep.HookError as error:
            if f"hook '{name}'" not in str(error) or why not in str(error):
                sys.exit(f"{name} is refused by: {error}")
        else:
            sys.exit(f"{name} is not refused")


def train_all(rank, folder, chosen, inputs, targets, weights):
    require_refusals()
    for combination in chosen:
        train(rank, folder, combination, inputs, targets, weights)


def compare(combination, folder):
    name = combination["hook"]
    for rank in range(WORLD):
        ours, theirs = peers.read_both(folder, f"_{combination['number']}_{rank}")
        if ours["buckets"] != theirs["buckets"] or len(ours["buckets"]) < 3:
            sys.exit(f"{name}: rank {rank}: buckets are {ours['buckets']} in the engine and "
                     f"{theirs['buckets']} in PyTorch; they are to be equal, and 3 at least")
        for what in ("losses", "weights"):
            a, b = numpy.array(ours[what]), numpy.array(theirs[what])
            if a.shape != b.shape or not numpy.isfinite(b).all():
                sys.exit(f"{name}: rank {rank}: {what}: {a.shape} numbers in the engine, {b.shape} "
                         "in PyTorch")
            at = int(numpy.abs(a - b).argmax())
            if a[at] != b[at]:
                sys.exit(f"{name}: rank {rank}: {what}: number {at} is {a[at]!r} in the engine and "
                         f"{b[at]!r} in PyTorch")
    print(f"{name}: {hooks.STEPS} steps, {WORLD} ranks, {len(ours['buckets'])} buckets: losses and "
          "weights are equal bit for bit")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--driver", required=True)
    parser.add_argument("--package", required=True, help="folder of the Python package")
    args = parser.parse_args()
    shipped = pathlib.Path(args.driver).resolve().with_name("hooks")
    sys.path.insert(0, args.package)
    os.environ["LOCKSTEP_HOOKS"] = str(shipped)
    peers.prepare()
    chosen = combinations(shipped)
    inputs, targets = hooks.data(WORLD)
    torch.manual_seed(7)
    weights = nn.utils.parameters_to_vector(
        models.build(hooks.MODEL).parameters()).detach().numpy()
    with tempfile.TemporaryDirectory(prefix="conformance-") as folder:
        for name, array in (("inputs", inputs), ("targets", targets), ("weights", weights)):
            array.tofile(os.path.join(folder, name + ".bin"))
        peers.run_torch(WORLD, folder, lambda rank: train_all(rank, folder, chosen, inputs, targets,
                                                              weights))
        peers.run_lockstep(args.driver, "hooks", folder,
                           {"world": WORLD, "combinations": chosen, "hooks": str(shipped)}, 200,
                           processes=True)
        for combination in chosen:
            compare(combination, folder)


if __name__ == "__main__":
    main()
