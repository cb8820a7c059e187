"""Compares how ZeroRedundancyOptimizer shares parameters with PyTorch's own.

For each model and world size: the owner of every parameter, and the bytes of Adam's moments that
each rank keeps. Any difference, a missing PyTorch included, is exit code 1 and a line that says
what. Prints the largest share of a rank.
"""

import argparse
import sys
import tempfile

sys.dont_write_bytecode = True
import peers
import torch
from torch.distributed.optim import ZeroRedundancyOptimizer

STEP_BYTES = 8  # of Adam's counter, an int64 here


def layers(sizes):
    return [n for a, b in zip(sizes, sizes[1:]) for n in (a * b, b)]


MODELS = {
    "mlp": layers([1024, 2048, 2048, 2048, 10]),
    "deep_linear": layers([512] * 49),
    "uneven": [7, 7, 3, 100, 1, 1, 64, 64, 30, 5],
}


def partition(model):
    parameters = [torch.zeros(n, requires_grad=True) for n in MODELS[model]]
    optimizer = ZeroRedundancyOptimizer(parameters, torch.optim.Adam, lr=0.1)
    owners = {}
    for rank, groups in enumerate(optimizer._partition_parameters()):
        for group in groups:
            owners.update({id(parameter): rank for parameter in group["params"]})
    for parameter in parameters:
        parameter.grad = torch.ones_like(parameter)
    optimizer.step()
    moments = sum(state[name].numel() * state[name].element_size()
                  for state in optimizer.optim.state.values()
                  for name in ("exp_avg", "exp_avg_sq"))
    return {"owners": [owners[id(parameter)] for parameter in parameters],
            "state_bytes": moments + STEP_BYTES * len(optimizer.optim.state)}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--driver", required=True)
    parser.add_argument("--world", type=int, required=True)
    args = parser.parse_args()
    peers.prepare()
    with tempfile.TemporaryDirectory(prefix="partition-") as folder:
        peers.run_torch(args.world, folder, lambda rank: peers.write(
            folder, f"torch_{rank}.json", {model: partition(model) for model in MODELS}))
        peers.run_lockstep(args.driver, "partition", folder,
                           {"world": args.world, "models": MODELS}, 100)
        for model in MODELS:
            kept = []
            for rank in range(args.world):
                ours, theirs = (side[model] for side in peers.read_both(folder, f"_{rank}"))
                if ours != theirs:
                    sys.exit(f"{model}, rank {rank} of {args.world}: {ours} in Lockstep, {theirs} "
                             "in PyTorch")
                kept.append(ours["state_bytes"])
            print(f"{model}, {args.world} ranks: owners as PyTorch's; the largest part of Adam's "
                  f"state is {max(kept) / sum(kept):.4f} of {sum(kept)} bytes")


if __name__ == "__main__":
    main()
