"""Trains one model with communication hooks of Lockstep's library and with PyTorch's own.

The model has convolutions, matrices, vectors and batch normalisation; both sides start from the
same weights and see the same batches for 50 steps; Lockstep's ranks are processes, as PyTorch's
are, with the hooks as plugins. Compared are every rank's loss at each step, its final weights,
and the bucket lists: bit for bit with fp16, within 1e-5 with PowerSGD, within 1e-6 with
post-local SGD. On more than two ranks the order in which halves are added shows in their last
bit; PyTorch's and ours are two orders, and fp16 is compared within HALF_ORDERS there. Any
difference, a missing PyTorch included, is exit code 1 and a line that says what.

Both sides of PowerSGD begin the first compressed step with the same Q. PyTorch's state takes it
where a warm start keeps the last step's, Lockstep's hook from a saved state. Its learning rate is
small, so that both sides see the same gradients: error feedback evens out the spectrum of what is
compressed, and power iteration answers to rounding there. A gradient that is wrong by a thousandth
still shows. At a rate that is trained with, and on some processors where a whole bucket is one
matrix, PyTorch does not come within 1e-5 of itself when it begins with weights that are rounded
otherwise (`nudged`); there Lockstep is to be as near to it, within SAME_CHAOS times. At such a
rate training takes one of two ways at some step: PyTorch is nudged NUDGES times, to have gone both.

The files handed to the driver are listed in HooksRun.cpp.
"""

import argparse
import os
import pathlib
import sys
import tempfile

sys.dont_write_bytecode = True
import peers
import models
import numpy
import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks, post_localSGD_hook
from torch.distributed.algorithms.ddp_comm_hooks import powerSGD_hook as power
from torch.distributed.algorithms.model_averaging.averagers import PeriodicModelAverager

STEPS = 50
BATCH = 8
LEARNING_RATE = {"fp16": 0.02, "powersgd": 1e-4, "post_local_sgd": 0.02}
MOMENTUM = 0.9
START = 3  # first compressed step; the buckets were rebuilt after step 0
LOCAL_START = 10
HALF_ORDERS = 2e-2
SAME_CHAOS = 10
NUDGE = 1e-7  # of each weight: its last bit
NUDGES = 6
TOLERANCE = {"powersgd": 1e-5, "post_local_sgd": 1e-6}
MODEL = "cnn"


def combinations(world):
    """What the hook is given, by Lockstep's names."""
    found = [{"hook": "fp16", "values": {}, "view": view} for view in (False, True)]
    for rank, feedback, batched in ((1, 1, 0), (2, 1, 0), (4, 1, 0), (2, 0, 0), (1, 1, 1),
                                    (2, 1, 1)):
        found.append({"hook": "powersgd", "view": False, "start": START, "nudged": 2 * batched,
                      "values": {"rank": rank, "start": START, "error_feedback": feedback,
                                 "batched": batched}})
    for rank in (1, 4):
        found.append({"hook": "powersgd", "view": False, "start": START, "nudged": NUDGES,
                      "learning_rate": 0.02,
                      "values": {"rank": rank, "start": START, "error_feedback": 1,
                                 "batched": 0}})
    for ranks_per_node in (1, 2) if world > 2 else (1,):
        found.append({"hook": "post_local_sgd", "view": False,
                      "values": {"start": LOCAL_START, "period": 4,
                                 "ranks_per_node": ranks_per_node}})
    first, cap = peers.possible_caps(*models.CAPS[MODEL])
    for number, combination in enumerate(found):
        combination.update(number=number, steps=STEPS, batch=BATCH, input=models.INPUTS[MODEL],
                           first_bucket_mb=first, bucket_cap_mb=cap,
                           momentum=MOMENTUM)
        combination.setdefault("learning_rate", LEARNING_RATE[combination["hook"]])
    return found


def data(world):
    """Noise over a picture of each class: something that is learnt within the steps."""
    random = numpy.random.default_rng(11)
    shape = (STEPS, world, BATCH)
    pictures = random.standard_normal((models.CLASSES,) + models.INPUTS[MODEL])
    targets = random.integers(0, models.CLASSES, shape)
    noise = random.standard_normal(shape + models.INPUTS[MODEL])
    return (pictures[targets] + noise / 2).astype(numpy.float32), targets


def title(combination, world):
    values = ", ".join(f"{key} {value}" for key, value in combination["values"].items())
    return (f"{combination['hook']}{' (' + values + ')' if values else ''}, view "
            f"{'on' if combination['view'] else 'off'}, rate {combination['learning_rate']}, "
            f"{world} ranks")


class SameQ:
    """A PowerSGD hook of PyTorch that finds drawn factors at its first compressed step.

    `factors` are those, as Lockstep keeps them: by parameter, or by the first one of a batched
    bucket, column after column. One bucket follows the other: PyTorch's hook calls collectives
    from callbacks, in an order that over Gloo differs from rank to rank with several buckets in
    flight, and they wait for each other for good.
    """

    def __init__(self, combination, parameters):
        values = combination["values"]
        self.batched = bool(values["batched"])
        self.rank = values["rank"]
        self.indices = {parameter: index for index, parameter in enumerate(parameters)}
        self.random = torch.Generator().manual_seed(combination["number"])
        self.factors = {}
        self.state = power.PowerSGDState(
            None, matrix_approximation_rank=self.rank, start_powerSGD_iter=values["start"],
            use_error_feedback=bool(values["error_feedback"]))

    def draw(self, parameter, columns, rank):
        q = torch.randn(columns, rank, generator=self.random)
        self.factors[self.indices[parameter]] = q.t().reshape(-1).tolist()
        return q

    def prepare(self, bucket):
        key = bucket.index()
        if self.batched:
            side = int(numpy.ceil(numpy.sqrt(bucket.buffer().numel())))
            self.state.q_memory_dict[key] = self.draw(bucket.parameters()[0], side, self.rank)
            self.state.p_memory_dict[key] = torch.empty(side, self.rank)
            return
        factors, rows_in_all = [], 0
        for parameter, gradient in zip(bucket.parameters(), bucket.gradients()):
            rows, columns = gradient.view(gradient.shape[0], -1).shape
            rank = min(rows, columns, self.rank)
            if power._should_compress(rows, columns, rank, self.state.min_compression_rate)[0]:
                factors.append(self.draw(parameter, columns, rank).reshape(-1))
                rows_in_all += rows * rank
        self.state.q_memory_dict[key] = torch.cat(factors) if factors else torch.empty(0)
        self.state.p_memory_dict[key] = torch.empty(rows_in_all)

    def hook(self, _, bucket):
        if self.state.iter == self.state.start_powerSGD_iter:
            self.prepare(bucket)
        run = power.batched_powerSGD_hook if self.batched else power.powerSGD_hook
        future = run(self.state, bucket)
        future.wait()
        return future


def take_matrices_for_stacks():
    """PyTorch 1.13's batched hook hands one matrix to what takes a stack of them, and fails."""
    orthogonalize = power._orthogonalize
    power._orthogonalize = lambda matrices, epsilon=0: orthogonalize(
        matrices if matrices.dim() == 3 else matrices.unsqueeze(0), epsilon)


def register(ddp, combination, parameters):
    """Returns what is to follow each step of the optimizer, and the factors of PowerSGD."""
    values = combination["values"]
    if combination["hook"] == "fp16":
        ddp.register_comm_hook(None, default_hooks.fp16_compress_hook)
        return lambda: None, None
    if combination["hook"] == "powersgd":
        same = SameQ(combination, parameters)
        ddp.register_comm_hook(None, same.hook)
        return lambda: None, same.factors
    node = values["ranks_per_node"]
    subgroup = None
    for first in range(0, dist.get_world_size() if node > 1 else 0, node):
        group = dist.new_group(range(first, first + node))
        subgroup = group if first <= dist.get_rank() < first + node else subgroup
    state = post_localSGD_hook.PostLocalSGDState(
        None, subgroup, values["start"], post_local_gradient_allreduce=node > 1)
    ddp.register_comm_hook(state, post_localSGD_hook.post_localSGD_hook)
    averager = PeriodicModelAverager(values["period"], warmup_steps=values["start"])
    return lambda: averager.average_parameters(ddp.parameters()), None


def train_torch(rank, folder, combination, inputs, targets, weights, name="torch"):
    model = models.build(MODEL)
    with torch.no_grad():
        nn.utils.vector_to_parameters(torch.tensor(weights), model.parameters())
    ddp = nn.parallel.DistributedDataParallel(
        model, gradient_as_bucket_view=combination["view"],
        **peers.bucket_caps(combination["first_bucket_mb"], combination["bucket_cap_mb"]))
    after, factors = register(ddp, combination, list(model.parameters()))
    optimizer = torch.optim.SGD(model.parameters(), lr=combination["learning_rate"],
                                momentum=MOMENTUM)
    losses = []
    for step in range(STEPS):
        output = ddp(torch.from_numpy(inputs[step, rank]))
        loss = nn.functional.cross_entropy(output, torch.from_numpy(targets[step, rank]))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        after()
        losses.append(loss.item())
    rebuilt = ddp._get_ddp_logging_data()["rebuilt_per_bucket_param_indices"]
    number = combination["number"]
    peers.write(folder, f"{name}_{number}_{rank}.json", {
        "losses": losses, "weights": nn.utils.parameters_to_vector(model.parameters()).tolist(),
        "buckets": [[int(index) for index in bucket.split()] for bucket in rebuilt.split(",")]})
    if rank == 0 and factors is not None:
        peers.write(folder, f"factors_{number}.json", factors)


def train_all(rank, folder, chosen, inputs, targets, weights):
    take_matrices_for_stacks()
    signs = numpy.random.default_rng(12).choice((-1, 1), (NUDGES, weights.size))
    nudged = (weights * (1 + NUDGE * signs)).astype(numpy.float32)
    for combination in chosen:
        train_torch(rank, folder, combination, inputs, targets, weights)
        for number in range(combination.get("nudged", 0)):
            train_torch(rank, folder, combination, inputs, targets, nudged[number],
                        f"nudged{number}")
        dist.barrier()


def own_distance(combination, world, folder):
    """How far PyTorch comes from itself, in losses and in weights."""
    farthest = {"losses": 0.0, "weights": 0.0}
    for rank in range(world):
        names = ["torch"] + [f"nudged{number}" for number in range(combination["nudged"])]
        plain, *nudged = [peers.read(folder, f"{name}_{combination['number']}_{rank}.json")
                          for name in names]
        for what in farthest:
            differences = numpy.abs([numpy.subtract(run[what], plain[what]) for run in nudged])
            farthest[what] = max(farthest[what], float(differences.max()))
    return farthest


def compare(combination, world, folder):
    """Returns the largest differences of a loss and of a weight."""
    named = title(combination, world)
    tolerance = TOLERANCE.get(combination["hook"], 0.0 if world == 2 else HALF_ORDERS)
    tolerances = dict.fromkeys(("losses", "weights"), tolerance)
    if combination.get("nudged"):
        tolerances = {what: max(tolerance, SAME_CHAOS * distance) for what, distance
                      in own_distance(combination, world, folder).items()}
    worst = {"losses": 0.0, "weights": 0.0}
    for rank in range(world):
        ours, theirs = peers.read_both(folder, f"_{combination['number']}_{rank}")
        if ours["buckets"] != theirs["buckets"] or len(ours["buckets"]) < 3:
            sys.exit(f"{named}: rank {rank}: buckets are {ours['buckets']} in Lockstep and "
                     f"{theirs['buckets']} in PyTorch; they are to be equal, and 3 at least")
        for what in worst:
            a, b = numpy.array(ours[what]), numpy.array(theirs[what])
            if a.shape != b.shape or not numpy.isfinite(b).all():
                sys.exit(f"{named}: rank {rank}: {what}: {a.shape} numbers in Lockstep, {b.shape} "
                         f"in PyTorch")
            difference = numpy.abs(a - b)
            at = int(difference.argmax())
            if not difference[at] <= tolerances[what]:
                sys.exit(f"{named}: rank {rank}: {what}: number {at} is {a[at]} in Lockstep and "
                         f"{b[at]} in PyTorch, off by {difference[at]:.3g}, more than "
                         f"{tolerances[what]:.3g}")
            worst[what] = max(worst[what], float(difference[at]))
    return worst


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--driver", required=True)
    parser.add_argument("--world", type=int, required=True)
    parser.add_argument("--only", type=int, help="the number of one combination")
    args = parser.parse_args()
    peers.prepare()
    chosen = [c for c in combinations(args.world) if args.only in (None, c["number"])]
    inputs, targets = data(args.world)
    torch.manual_seed(11)
    weights = nn.utils.parameters_to_vector(models.build(MODEL).parameters()).detach().numpy()
    with tempfile.TemporaryDirectory(prefix="hooks-") as folder:
        for name, array in (("inputs", inputs), ("targets", targets), ("weights", weights)):
            array.tofile(os.path.join(folder, name + ".bin"))
        peers.run_torch(args.world, folder,
                        lambda rank: train_all(rank, folder, chosen, inputs, targets, weights))
        libraries = pathlib.Path(args.driver).resolve().parent / "hooks"
        peers.run_lockstep(args.driver, "hooks", folder, {
            "world": args.world, "hooks": str(libraries), "combinations": chosen}, 200,
            processes=True)
        for combination in chosen:
            worst = compare(combination, args.world, folder)
            text = (f"{title(combination, args.world)}: losses within {worst['losses']:.2g}, "
                    f"weights within {worst['weights']:.2g}")
            if combination.get("nudged"):
                own = own_distance(combination, args.world, folder)
                text += f"; PyTorch of itself {own['losses']:.2g}, {own['weights']:.2g}"
            print(text)


if __name__ == "__main__":
    main()
