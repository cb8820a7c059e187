"""A job of PyTorch that trains on GPUs over NCCL, as the observer sees it: beside the job alone, and
beside what torch.profiler says of the same steps.

Usage: observed.py --bin FOLDER --world N CASE
"""

import argparse
import hashlib
import json
import os
import pathlib
import sys

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS / "observer"), str(TESTS / "bench")]

import captures
import fidelity
import job
from recorded import Recorded, alone, check, check_iterations, main

JOB = pathlib.Path(__file__).resolve()
STEPS = 24
KERNEL = "nccl"              # of which the names of NCCL's kernels begin
MOST_OFF = 0.05              # of a bucket's time on the GPU, at the median
MOST_LATE = 100              # us, at the median


# -- the job --------------------------------------------------------------------------------------


def train(steps, ways):
    import torch
    import torch.distributed as dist

    from devices import gpu_of_rank
    from models import Mlp

    os.environ["CUBLAS_WORKSPACE_CONFIG"] = ":4096:8"  # what deterministic algorithms ask for
    device = gpu_of_rank()
    torch.use_deterministic_algorithms(True)
    dist.init_process_group("nccl")
    rank = dist.get_rank()
    torch.manual_seed(0)
    net = Mlp((1024, 2048, 2048, 2048, 10)).to(device)
    model = torch.nn.parallel.DistributedDataParallel(net, bucket_cap_mb=8)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    if "watch" in ways:
        import lockstep

        model = lockstep.watch(model, optimizer)
    generator = torch.Generator().manual_seed(rank)
    losses, marks, profiler = [], [], None
    for step in range(steps):
        if "waits" in ways and step == 3:
            job.wait_for_leave(rank)
        if "profiled" in ways and step == fidelity.BEFORE:
            dist.barrier()
            profiler = torch.profiler.profile()
            profiler.start()
            fidelity.mark(torch, marks)
        x = torch.randn(256, 1024, generator=generator).to(device)
        y = torch.randint(10, (256,), generator=generator).to(device)
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    told = {"rank": rank, "losses": losses, "weights": digest(net)}
    torch.cuda.synchronize()
    if profiler is not None:
        fidelity.mark(torch, marks)
        profiler.stop()
        told["kernels"] = sorted(sum(fidelity.spans_of(
            profiler, marks, lambda event: event.get("cat") == "kernel"
            and event["name"].startswith(KERNEL)).values(), []))
    print(json.dumps(told) + "\n", end="", flush=True)
    dist.barrier()
    dist.destroy_process_group()


def digest(net):
    weights = hashlib.sha256()
    for parameter in net.parameters():
        weights.update(parameter.detach().cpu().numpy().tobytes())
    return weights.hexdigest()


# -- what is seen of it ---------------------------------------------------------------------------


def command(options):
    return [sys.executable, JOB, options.world, STEPS]


def record(options, *ways):
    return Recorded(options, options.world, *ways, command=command(options)).good()


def spans(run_, rank, kind, steps):
    """(start, end) of those of a bucket, in their order."""
    return run_.rows(
        "SELECT start_ns, start_ns + duration_ns FROM spans_ns WHERE rank = ? AND kind = ? AND "
        "bucket IS NOT NULL AND step >= ? AND step < ? ORDER BY start_ns", rank, kind, *steps)


def beside(what, ours, theirs):
    """Prints how far spans are from the profiler's, and returns the median of what their lengths
    differ by, and of how far their ends are off in us."""
    off = {"begin": [(a[0] - b[0]) / 1e3 for a, b in zip(ours, theirs)],
           "end": [(a[1] - b[1]) / 1e3 for a, b in zip(ours, theirs)],
           "length": [(a[1] - a[0]) / (b[1] - b[0]) - 1 for a, b in zip(ours, theirs)]}
    lengths = [(b[1] - b[0]) / 1e3 for b in theirs]
    print(f"{what}: {len(ours)} of {fidelity.quantile(lengths, 0.5):.0f} us at the median")
    for side, values in off.items():
        scale, unit = (100, "%") if side == "length" else (1, "us")
        print("  {}: {:+.1f} {} at the median, nine of ten from {:+.1f} to {:+.1f}".format(
            side, scale * fidelity.quantile(values, 0.5), unit,
            scale * fidelity.quantile(values, 0.05), scale * fidelity.quantile(values, 0.95)))
    return (fidelity.quantile([abs(value) for value in off["length"]], 0.5),
            fidelity.quantile([abs(value) for value in off["end"]], 0.5))


def case_same(options):
    """What is computed is the same to the last bit, and every iteration is whole."""
    by_itself = alone(options.world, job=JOB, steps=STEPS)
    run_ = record(options).same_as(by_itself)
    check(run_.problems() == [], run_.problems())
    check_iterations(run_, options.world, STEPS, host_waits=False)
    (told,), = run_.rows("SELECT count(*) FROM spans_ns WHERE kind = 'backward' AND detail & 0x8000")
    check(told == options.world * STEPS, f"{told} backwards have the GPU's times")


def case_times(options):
    """A bucket's time on the GPU is the profiler's, by our events and by NCCL's own word."""
    run_ = record(options, "profiled")
    check(run_.problems() == [], run_.problems())
    steps = (fidelity.BEFORE, STEPS)
    wrong = []
    for rank in range(options.world):
        kernels = run_.ranks[rank]["kernels"]
        for what in ("collective", "nccl_kernel"):
            ours = spans(run_, rank, what, steps)
            if len(ours) != len(kernels):
                wrong.append(f"rank {rank}: {len(ours)} {what}, the profiler saw {len(kernels)} kernels")
                continue
            length, end = beside(f"rank {rank}, {what}", ours, kernels)
            if length > MOST_OFF or end > MOST_LATE:
                wrong.append(f"rank {rank}, {what}: {100 * length:.1f} %, {end:.0f} us")
    for rank, name, value in run_.rows(
            "SELECT rank, name, max(value) FROM metrics WHERE name LIKE 'nccl.%' GROUP BY rank, name"):
        print(f"rank {rank}: {name} at most {value:.0f}")
    check(not wrong, "; ".join(wrong))


def case_capture(options):
    """`lockstep capture` brings kernels and copies of a live job, NCCL's at their buckets' times."""
    held = captures.Held(options, options.world, job=JOB, steps=STEPS)
    code, said = held.capture(3)
    check(code == 0, said)
    run_ = held.go_on().good()
    check(run_.problems() == [], run_.problems())
    names = dict(run_.rows("SELECT CAST(substr(key, 7) AS INTEGER), value FROM environment WHERE "
                           "rank = 0 AND key LIKE 'phase.%'"))
    for rank in range(options.world):
        kernels = run_.rows("SELECT value, step, start_ns, start_ns + duration_ns FROM spans_ns WHERE "
                            "rank = ? AND kind = 'device_kernel' ORDER BY start_ns", rank)
        copies = run_.rows("SELECT count(*) FROM spans_ns WHERE rank = ? AND kind = 'device_copy'",
                           rank)[0][0]
        traced = sorted({step for _, step, _, _ in kernels})
        print(f"rank {rank}: {len(kernels)} kernels and {copies} copies of iterations {traced}")
        check(len(traced) >= 3 and copies > 0, f"rank {rank}: kernels of {traced}, {copies} copies")
        nccl = [row[2:] for row in kernels if names[row[0]].startswith(KERNEL) and row[1] in traced[:3]]
        if options.world > 1:
            flown = spans(run_, rank, "collective", (traced[0], traced[0] + 3))
            check(len(flown) == len(nccl), f"{len(flown)} collectives, {len(nccl)} kernels of NCCL")
            beside(f"rank {rank}, collective", flown, nccl)


CASES = {"same": case_same, "times": case_times, "capture": case_capture}


if __name__ == "__main__":
    if "RANK" in os.environ:
        train(int(sys.argv[2]), sys.argv[3:])
    elif sys.argv[1:2] and sys.argv[1].isdigit():
        sys.exit(job.launch(int(sys.argv[1])))
    else:
        parser = argparse.ArgumentParser()
        parser.add_argument("--bin", type=pathlib.Path, required=True)
        parser.add_argument("--world", type=int, required=True)
        parser.add_argument("case", choices=CASES)
        chosen = parser.parse_args()
        main(CASES, chosen)
