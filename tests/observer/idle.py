"""What the two lines take of a step where nobody records: steps of two models that are the same but
for the lines, in turns, in one process.

Usage: idle.py --package FOLDER [--steps N]

Nothing of the observer's may be called in such a step, which is checked; and the difference of the
medians, which is printed with its 95 % interval, may not be above LIMIT for sure.
"""

import argparse
import os
import pathlib
import random
import statistics
import sys
import tempfile
import time

LIMIT = 1.0  # us a step


def make(watched):
    import torch

    torch.manual_seed(0)
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(16, 16))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    if watched:
        import lockstep

        model = lockstep.watch(model, optimizer)
    return model, optimizer


def step(model, optimizer, x):
    began = time.perf_counter_ns()
    model(x).sum().backward()
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    return (time.perf_counter_ns() - began) / 1000


def calls_in(run):
    """The observer's functions that a step calls."""
    import lockstep

    called = set()
    package = os.path.join(os.path.dirname(lockstep.__file__), "")

    def look(frame, event, _):
        if event == "call" and frame.f_code.co_filename.startswith(package):
            called.add(frame.f_code.co_name)

    sys.setprofile(look)
    run()
    sys.setprofile(None)
    return called


def interval(differences, rounds=2000):
    generator = random.Random(0)
    medians = sorted(statistics.median(generator.choices(differences, k=len(differences)))
                     for _ in range(rounds))
    return medians[int(0.025 * rounds)], medians[int(0.975 * rounds)]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--package", type=pathlib.Path, required=True)
    parser.add_argument("--steps", type=int, default=4000)
    options = parser.parse_args()
    sys.path.insert(0, str(options.package))
    os.environ.pop("LOCKSTEP_ATTACH", None)
    import torch
    import torch.distributed as dist

    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        dist.init_process_group("gloo", init_method=f"file://{folder}/store", rank=0, world_size=1)
        x = torch.randn(4, 16)
        sides = [make(False), make(True)]
        for side in sides * 50:
            step(*side, x)
        import lockstep

        if calls_in(lambda: lockstep.log(loss=1.0)) != {"log"}:
            sys.exit("idle: a call of the observer's would not be seen")
        called = calls_in(lambda: step(*sides[1], x))
        if called:
            sys.exit(f"idle: nobody records, and a step calls {', '.join(sorted(called))}")
        plain, lines = [], []
        for turn in range(options.steps):
            first = turn % 2
            both = {side: step(*sides[side], x) for side in (first, 1 - first)}
            plain.append(both[0])
            lines.append(both[1])
        dist.destroy_process_group()
    low, high = interval([b - a for a, b in zip(plain, lines)])
    print(f"PyTorch {torch.__version__}: a step of {statistics.median(plain):.1f} us takes "
          f"{statistics.median(lines):.1f} us with the two lines, difference "
          f"{statistics.median(b - a for a, b in zip(plain, lines)):+.2f} us [{low:+.2f}, {high:+.2f}]")
    if low > LIMIT:
        sys.exit(f"idle: more than {LIMIT} us")


if __name__ == "__main__":
    main()
