"""What the observer says of a job of PyTorch beside what torch.profiler and DistributedDataParallel's
own logger say of the same steps.

Usage: fidelity.py --bin FOLDER [--steps N] [--suite]

Prints how far its times are off; the exit code is 1 where layouts or orders differ, or where a time is
further off at the 95th percentile than LIMITS say. --suite: with bounds that also a busy machine keeps.
"""

import argparse
import json
import os
import pathlib
import sys
import tempfile
import time

from recorded import Recorded, Wrong, check

LIMITS = {"launched": 100, "began": 200, "ended": 200, "ready": 200}  # us, at the 95th percentile
HEARD = ("2.15",)  # versions of PyTorch of which Gloo's threads are heard; of others it is derived
SUITE = {what: 20_000 for what in LIMITS}               # of the medians
WORLD = 2
BEFORE = 3  # steps: the buckets are rebuilt
MARK = "fidelity.mark"

# What a profiler calls a gradient's arrival, an allreduce as DDP asks for it, where Gloo does it, and
# what DDP does with each parameter of a bucket that it has waited for.
GRADIENT = "torch::autograd::AccumulateGrad"
LAUNCHES = ("c10d::allreduce_", "record_param_comms")
WORK = "gloo:all_reduce"
COPY = "torch.distributed.ddp.reducer::copy_bucket_to_grad"
MARKS = 8


# -- the job --------------------------------------------------------------------------------------


def train(steps):
    import torch
    import torch.distributed as dist

    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    torch.manual_seed(0)
    sizes = [256, 512, 512, 512, 512, 10]
    layers = []
    for inputs, outputs in zip(sizes, sizes[1:]):
        layers += [torch.nn.Linear(inputs, outputs), torch.nn.ReLU()]
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Sequential(*layers[:-1]),
                                                      bucket_cap_mb=1.5)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    import lockstep

    model = lockstep.watch(model, optimizer)
    x = torch.randn(64, sizes[0])
    marks = []
    profiler = torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU])
    for step in range(steps):
        if step == BEFORE:
            dist.barrier()
            profiler.start()
            mark(torch, marks)
        optimizer.zero_grad(set_to_none=True)
        model(x).square().mean().backward()
        optimizer.step()
    mark(torch, marks)
    profiler.stop()
    data = model._get_ddp_logging_data()
    told = {"rank": dist.get_rank(), "profiler": spans_of(
        profiler, marks,
        lambda event: event["name"] in (GRADIENT, *LAUNCHES, WORK, COPY)), "logger": {
        name: str(data[name]) for name in ("rebuilt_bucket_sizes", "rebuilt_per_bucket_param_indices",
                                           "prev_iteration_grad_ready_order_indices")
        if name in data}}
    for rank in range(WORLD):  # in turn: a pipe mixes what is longer than it takes at once
        if rank == dist.get_rank():
            print(json.dumps(told) + "\n", end="", flush=True)
        dist.barrier()
    dist.destroy_process_group()


def mark(torch, marks):
    for _ in range(MARKS):
        before = time.monotonic_ns()
        with torch.profiler.record_function(MARK):
            pass
        marks.append((before, time.monotonic_ns()))


def spans_of(profiler, marks, is_wanted):
    """{name: [(start, end)]} in ns of CLOCK_MONOTONIC, of what the profiler saw and is wanted."""
    with tempfile.TemporaryDirectory() as folder:
        profiler.export_chrome_trace(f"{folder}/trace.json")
        with open(f"{folder}/trace.json", encoding="utf-8", errors="replace") as file:
            trace = json.load(file)
    events = trace["traceEvents"] if isinstance(trace, dict) else trace
    whole = [event for event in events if event.get("ph") == "X" and "dur" in event]
    seen = sorted((event for event in whole if event["name"] == MARK), key=lambda e: e["ts"])
    check(len(seen) == len(marks), f"of {len(marks)} marks the profiler saw {len(seen)}")
    ties = [(after - before, event["ts"] + event["dur"] / 2, (before + after) / 2)
            for event, (before, after) in zip(seen, marks)]
    _, first_us, first = min(ties[:MARKS])
    _, last_us, last = min(ties[MARKS:])
    rate = (last - first) / (last_us - first_us)
    told = {}
    for event in whole:
        if is_wanted(event):
            start = first + (event["ts"] - first_us) * rate
            told.setdefault(event["name"], []).append((start, start + event["dur"] * rate))
    return {name: sorted(spans) for name, spans in told.items()}


# -- what both say --------------------------------------------------------------------------------


def numbers(text):
    return [int(word) for word in str(text).replace(",", " ").replace(";", " ").split()]


def check_layout(run_, rank):
    """The buckets, and what is in them."""
    logger = run_.ranks[rank]["logger"]
    sizes = [size for size, in run_.rows("SELECT bytes FROM buckets WHERE layout = 1 ORDER BY bucket")]
    told = numbers(logger["rebuilt_bucket_sizes"])
    check(sorted(sizes) == sorted(told), f"buckets of {sizes} bytes, and DDP says {told}")
    if "rebuilt_per_bucket_param_indices" in logger:
        mine = [[p for p, in run_.rows(
            "SELECT parameter FROM bucket_parameters WHERE layout = 1 AND bucket = ? ORDER BY "
            "position", bucket)] for bucket in range(len(sizes))]
        theirs = [numbers(part) for part in
                  logger["rebuilt_per_bucket_param_indices"].split(", ")]
        theirs = [part for part in theirs if part]
        check(sorted(mine) == sorted(theirs) or sum(mine, []) == sum(theirs, []),
              f"parameters {mine}, and DDP says {theirs}")
    return len(sizes)


def instants(run_, rank, kind, step, what="start_ns", more="value"):
    return run_.rows(f"SELECT {what}, bucket, {more} FROM spans_ns WHERE rank = ? AND kind = ? AND "
                     "step = ? ORDER BY start_ns", rank, kind, step)


def compare(run_, rank, steps, buckets):
    """How far each time is from the profiler's, in us; what the profiler does not see is missing. `used`:
    how far the ends that it does not know are from when DDP used the result."""
    profiler = {name: [tuple(span) for span in spans]
                for name, spans in run_.ranks[rank]["profiler"].items()}
    order = numbers(run_.ranks[rank]["logger"].get("prev_iteration_grad_ready_order_indices", ""))
    sizes = [count for count, in run_.rows("SELECT count(*) FROM bucket_parameters WHERE layout = 1 "
                                           "GROUP BY bucket ORDER BY bucket")]
    off = {what: [] for what in (*LIMITS, "used")}
    for step in range(BEFORE, steps):
        (begin, end), = run_.rows("SELECT start_ns, start_ns + duration_ns FROM spans_ns WHERE "
                                  "rank = ? AND kind = 'backward' AND step = ?", rank, step)

        def seen(*names):
            for name in names:
                found = [span for span in profiler.get(name, ())
                         if begin - 1e6 <= span[0] <= end + 1e6]
                if found:
                    return found
            return []

        ready = instants(run_, rank, "gradient_ready", step)
        grads = seen(GRADIENT)
        check(not order or step != steps - 1 or [p for _, _, p in ready] == order,
              f"rank {rank}: gradients came in the order {ready}, and DDP says {order}")
        if grads:
            check(len(grads) == len(ready), f"{len(ready)} gradients, the profiler saw {len(grads)}")
            off["ready"] += [mine - theirs[1] for (mine, _, _), theirs in zip(ready, grads)]
        launches = seen(*LAUNCHES)
        launched = instants(run_, rank, "bucket_launched", step)
        check(len(launched) == buckets, f"step {step}: {launched}")
        if launches:
            check(len(launches) == buckets, f"{buckets} buckets, the profiler saw {len(launches)}")
            off["launched"] += [mine - theirs[0]
                                for (mine, _, _), theirs in zip(launched, launches)]
        # The profiler may stop before it hears of the end of the last step's.
        worked = seen(WORK) if step != steps - 1 else []
        if worked:
            mine = {bucket: (start, start + duration) for start, bucket, duration in instants(
                run_, rank, "collective", step, "start_ns", "duration_ns") if bucket is not None}
            check(sorted(mine) == list(range(len(worked))), f"{mine}, the profiler saw {worked}")
            copies = seen(COPY)
            check(len(copies) == sum(sizes), f"{sum(sizes)} parameters, the profiler saw {copies}")
            for bucket, (start, stop) in enumerate(worked):
                off["began"].append(mine[bucket][0] - start)
                # Gloo's thread wakes DDP and then tells the profiler that the work ended. Where it
                # loses its core in between, the profiler's end is late by its own times: DDP, which
                # waits for its buckets in order, has begun to copy this one's gradients. When it
                # ended the profiler does not say of these, and the observer that it was before DDP
                # had copied all.
                used = copies[sum(sizes[:bucket])][0]
                off["ended" if stop <= used else "used"].append(
                    mine[bucket][1] - (stop if stop <= used else used))
                check(mine[bucket][1] <= end, f"bucket {bucket} ended behind its backward: {mine}")
    return {what: [ns / 1000 for ns in values] for what, values in off.items()}


def quantile(values, part):
    return sorted(values)[min(len(values) - 1, int(part * len(values)))]


def measure(options):
    run_ = Recorded(options, WORLD, job=pathlib.Path(__file__).resolve(), command=[
        sys.executable, pathlib.Path(__file__).resolve(), "--job", str(options.steps)]).good()
    check(run_.problems() == [], run_.problems())
    buckets = [check_layout(run_, rank) for rank in range(WORLD)][0]
    all_off = {what: [] for what in LIMITS}
    unknown = []
    for rank in range(WORLD):
        off = compare(run_, rank, options.steps, buckets)
        unknown += off.pop("used")
        for what, values in off.items():
            all_off[what] += values
    (version,), = run_.rows("SELECT value FROM environment WHERE rank = 0 AND key = 'torch'")
    print(f"PyTorch {version}, {WORLD} ranks, {options.steps - BEFORE} steps, {buckets} buckets: "
          "layouts and orders are equal")
    missed = []
    for what, values in all_off.items():
        if not values:
            print(f"  {what}: this profiler does not say")
            continue
        far = [abs(value) for value in values]
        median, most = quantile(values, 0.5), quantile(far, 0.95)
        limit = SUITE[what] if options.suite else LIMITS[what]
        figure = quantile(far, 0.5) if options.suite else most
        print(f"  {what}: {median:+.0f} us at the median, nine of ten from "
              f"{quantile(values, 0.05):+.0f} to {quantile(values, 0.95):+.0f}, {most:.0f} us off at the "
              f"95th percentile of {len(values)}")
        if figure > limit and (what != "began" or version.startswith(HEARD)):
            missed.append(f"{what}: {figure:.0f} us, and {limit} are allowed")
    if unknown:
        print(f"  of {len(unknown)} the profiler heard the end when DDP was using the result; the observer's "
              f"is {quantile(unknown, 0.5):+.0f} us from when it began to at the median, nine of ten from "
              f"{quantile(unknown, 0.05):+.0f} to {quantile(unknown, 0.95):+.0f}")
    check(not missed, "; ".join(missed))


if __name__ == "__main__":
    if "--job" in sys.argv:
        count = int(sys.argv[sys.argv.index("--job") + 1])
        if "RANK" in os.environ:
            train(count)
        else:
            import job

            sys.exit(job.launch(WORLD))
    else:
        parser = argparse.ArgumentParser()
        parser.add_argument("--bin", type=pathlib.Path, required=True)
        parser.add_argument("--steps", type=int, default=120)
        parser.add_argument("--suite", action="store_true")
        try:
            measure(parser.parse_args())
        except Wrong as wrong:
            sys.exit(f"fidelity: {wrong}")
