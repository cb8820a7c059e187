"""Records jobs of PyTorch (job.py, loop.py) and holds what the run file says against what PyTorch
says.

Usage: observe.py --bin FOLDER CASE
"""

import argparse
import math
import pathlib
import struct
import sys
import tempfile

import torch

import captures
import loops
import recorded
from recorded import (ROUNDING, STEPS, Recorded, alone, check, check_iterations, main, run,
                      same_ranks, starts)

DERIVED = 0x4000


def check_buckets(run_, world, steps, parameters):
    """Every gradient of every iteration, every bucket, and what became of it."""
    layouts = dict(run_.rows("SELECT layout, step FROM layouts"))
    last = max(layouts)
    sizes = [size for size, in run_.rows(
        "SELECT bytes FROM buckets WHERE layout = ? ORDER BY bucket", last)]
    told = [int(size) for size in str(run_.ranks[0]["bucket_sizes"]).replace(",", " ").split()]
    check(sorted(sizes) == sorted(told), f"buckets of {sizes} bytes, and DDP says {told}")
    behind = []  # ns from a bucket's launch to its last gradient
    for rank in range(world):
        for step in range(layouts[last], steps):
            backward, = starts(run_, rank, "backward", step)
            ready = starts(run_, rank, "gradient_ready", step)
            check(sorted(value for *_, value in ready) == list(range(parameters)),
                  f"rank {rank}, step {step}: gradients {ready}")
            launched = starts(run_, rank, "bucket_launched", step)
            flown = starts(run_, rank, "collective", step)
            check([bucket for _, _, bucket, _ in launched] == list(range(len(sizes))),
                  f"rank {rank}, step {step}: launched {launched}")
            check(sorted(row[2] for row in flown if row[2] is not None)
                  == list(range(len(sizes))), f"rank {rank}, step {step}: collectives {flown}")
            for start, _, bucket, _ in launched:
                mine = [at for at, _, of, _ in ready if of == bucket]
                behind.append(max(mine) - start)
                check(backward[0] <= start <= backward[1], f"bucket {bucket} went elsewhere")
            for start, end, bucket, _ in flown:
                check(bucket is None or end <= backward[1] + 1000,
                      f"rank {rank}, step {step}: bucket {bucket} ended behind its backward")
    # Where a rank has no core for a while, the gradients of that iteration are late by it.
    late = [ns for ns in behind if ns > 1_000_000]
    check(len(late) <= len(behind) / 5, f"buckets went before their gradients, by ns: {late}")


PARAMETERS = 8


def case_same(options, world, *ways):
    """What the job computes is bit for bit the same, and everything of it is seen."""
    run_ = Recorded(options, world, *ways).good().same_as(alone(world, *ways))
    check_iterations(run_, world, STEPS)
    check_buckets(run_, world, STEPS, PARAMETERS)


def case_auto(options):
    """Without a line in the job."""
    run_ = Recorded(options, 2, attach="auto").good().same_as(alone(2))
    check_iterations(run_, 2, STEPS)
    check_buckets(run_, 2, STEPS, PARAMETERS)


def case_no_sync(options):
    """Micro-batches are of the iteration that they end in."""
    run_ = Recorded(options, 2, "no_sync").good().same_as(alone(2, "no_sync"))
    check(len(run_.rows("SELECT 1 FROM spans_ns WHERE kind = 'step' AND rank = 0"))
          == STEPS // 3, "iterations")
    check([len(starts(run_, 0, "backward", step)) for step in range(STEPS // 3)]
          == [3] * (STEPS // 3), "backwards")


def case_other(options, *ways):
    """Other ways to train: the job is as it was, and its iterations are seen."""
    run_ = Recorded(options, 2, *ways).good().same_as(alone(2, *ways))
    check_iterations(run_, 2, STEPS)


def case_model_alone(options):
    """Where no optimizer is seen, an iteration ends as the next forward begins, the last one as the
    job ends: nothing of it is lost."""
    run_ = Recorded(options, 2, "model_alone").good().same_as(alone(2))
    check_buckets(run_, 2, STEPS, PARAMETERS)
    for rank in range(2):
        told = run_.rows("SELECT step, value FROM metrics WHERE name = 'loss' AND rank = ? "
                         "ORDER BY step", rank)
        check(told == list(enumerate(run_.ranks[rank]["losses"])), told)


def case_two_models(options):
    run_ = Recorded(options, 2, "two_models").good().same_as(alone(2, "two_models"))
    check(run_.rows("SELECT count(*) FROM parameters") == [(PARAMETERS,)], "of the first model")
    told = [name for name, _, _ in run_.phases(0)]
    check(told == ["forward of Linear", "backward of Linear"] * STEPS, told)


def case_own_hook(options):
    """The user's own communication hook works as it did."""
    run_ = Recorded(options, 2, "own_hook").good().same_as(alone(2, "own_hook"))
    check(run_.facts(0, "hook") == {"": "fp16_compress_hook"}, run_.facts(0, "hook"))
    phases = {kind: run_.rows(
        "SELECT start_ns, start_ns + duration_ns, detail FROM spans_ns WHERE kind = ? AND rank = 0 "
        "ORDER BY step, bucket", kind)
        for kind in ("hook_encode", "hook_communicate", "hook_decode")}
    flown = run_.rows("SELECT count(*) FROM collectives WHERE rank = 0 AND bucket IS NOT NULL")[0][0]
    check([len(rows) for rows in phases.values()] == [flown] * 3, phases)
    for encode, fly, decode in zip(*phases.values()):
        check(encode[1] <= fly[0] + ROUNDING and fly[1] <= decode[0] + ROUNDING
              and encode[2] == fly[2] == decode[2] == DERIVED, (encode, fly, decode))


def case_unrecorded(options):
    """The same two lines outside `lockstep record` do nothing."""
    package = options.bin.parent / "python"
    done, ranks = run([sys.executable, recorded.JOB, 2, STEPS, "watch"], PYTHONPATH=str(package))
    check(done.returncode == 0, done.stderr)
    same_ranks(ranks, alone(2))


def case_failure(options):
    """A rank that throws is named; the exit code is kept."""
    run_ = Recorded(options, 2, "throw")
    check(run_.done.returncode == 1, f"exit code {run_.done.returncode}")
    (failure,), = run_.rows("SELECT value FROM meta WHERE key = 'failure'")
    check(failure.startswith("rank 1 failed") and failure.endswith("ValueError: boom"), failure)


def case_nccl(options):
    """What NCCL's profiler plugin is told, by whatever NCCL, stands in the run, at its buckets."""
    run_ = Recorded(options, 2, "nccl").good().same_as(alone(2))
    buckets = run_.rows("SELECT bucket, bytes FROM buckets WHERE layout = 1 ORDER BY bucket")
    for rank in range(2):
        for step in range(1, STEPS):
            kernels = starts(run_, rank, "nccl_kernel", step)
            check([(bucket, value & 0xFFFFFFFFFF) for _, _, bucket, value in kernels] == buckets,
                  f"rank {rank}, step {step}: kernels {kernels} of buckets {buckets}")
            calls = starts(run_, rank, "nccl_call", step)
            check(all(call[0] - 20_000 <= kernel[0] <= kernel[1] for call, kernel
                      in zip(calls, kernels)), f"rank {rank}, step {step}: {calls}, {kernels}")
    told = dict(run_.rows("SELECT rank, value FROM environment WHERE key = 'nccl.communicator.0'"))
    check(told == {0: "rank 0 of 2", 1: "rank 1 of 2"}, str(told))
    late = run_.rows("SELECT rank, step, value FROM metrics WHERE name = "
                     "'nccl.0.late_by_at_most_ns'")
    check({rank for rank, _, _ in late} == {0, 1}, str(late))
    for rank, step, value in late:  # no later than a kernel of that time stands after its call
        calls = starts(run_, rank, "nccl_call", step)
        kernels = starts(run_, rank, "nccl_kernel", step)
        most = max(kernel[0] - call[0] for call, kernel in zip(calls, kernels))
        check(0 <= value <= most + 20_000, f"rank {rank}, step {step}: {value} ns, {most} at most")


def case_leave(options):
    """A job that leaves without destroy_process_group ends as well as before."""
    for _ in range(5):
        Recorded(options, 2, "leave").good()


def case_late(options):
    """A group ends while a thread of its own has still to call, and to let go of, what the observer
    gave it: both take Python's lock."""
    if recorded.sees_all():
        raise recorded.Impossible("groups are seen by their own hooks")
    for ways in (("late",), ("late", "leave")):
        Recorded(options, 2, *ways).good().same_as(alone(2))


def case_post_hook(options):
    """A group has a post-hook from the collective that is followed by its work to the next backward,
    whose buckets are heard. DDP itself broadcasts once, as it rebuilds its buckets."""
    if not recorded.sees_all():
        raise recorded.Impossible("groups have no hooks")
    run_ = Recorded(options, 2, "broadcasts").good().same_as(alone(2, "broadcasts"))
    for rank in range(2):
        told = [[what, step] for what, step in run_.ranks[rank]["hooks"]
                if what in ("given", "taken")]
        check(told == [[what, step] for step in (1, 3, 6) for what in ("given", "taken")], told)
    ended = run_.rows("SELECT rank, step FROM collectives WHERE operation = 'broadcast' "
                      "AND duration_ns > 0 ORDER BY rank, step")
    # Those before a forward are of the iteration before it.
    check(ended == [(rank, step) for rank in range(2) for step in (1, 1, 2, 5)], ended)
    check_buckets(run_, 2, STEPS, PARAMETERS)


def case_unseen(options):
    """Backwards that ask for what those before them did have a hook that PyTorch calls without
    Python, and their buckets are told all the same."""
    if not recorded.sees_all():
        raise recorded.Impossible("groups have no hooks")
    run_ = Recorded(options, 2, "unseen").good().same_as(alone(2))
    if "unseen" not in [what for what, _ in run_.ranks[0]["hooks"]]:
        raise recorded.Impossible("this PyTorch is not known to call a hook without Python")
    for rank in range(2):  # DDP rebuilds its buckets behind iteration 0, and three are looked at
        told = [[what, step] for what, step in run_.ranks[rank]["hooks"]
                if what not in ("given", "taken")]
        check(told == [[what, step] for step in range(4, STEPS) for what in ("unseen", "seen")],
              told)
    check_buckets(run_, 2, STEPS, PARAMETERS)


def case_gradients(options):
    """How large a rank's own gradients are, before they are averaged."""
    asked = {"record": ["--check-gradients", "4"]}
    run_ = Recorded(options, 2, "norms", **asked).good().same_as(alone(2))
    layouts = dict(run_.rows("SELECT step, layout FROM layouts"))
    buckets = {layout: count for layout, count in run_.rows(
        "SELECT layout, count(*) FROM buckets GROUP BY layout")}
    for rank in range(2):
        check([step for step, in run_.rows(
            "SELECT DISTINCT step FROM gradients WHERE rank = ? ORDER BY step", rank)]
            == [0, 4, 8], f"iterations of rank {rank}")
        norms = dict(run_.rows("SELECT step, value FROM metrics WHERE name = 'gradient_norm' AND "
                               "rank = ?", rank))
        for step in (0, 4, 8):
            truth = run_.ranks[rank]["norms"][step]
            check(abs(norms[step] / truth - 1) < 1e-5, f"{norms[step]}, and it is {truth}")
            found = run_.rows("SELECT bucket, nans + infinities, parameter, largest <= norm FROM "
                              "gradients WHERE rank = ? AND step = ? ORDER BY bucket", rank, step)
            layout = layouts[max(first for first in layouts if first <= step)]
            check(found == [(bucket, 0, None, 1) for bucket in range(buckets[layout])], str(found))
            spans = starts(run_, rank, "gradient_check", step)
            check(sorted(row[2] for row in spans) == list(range(buckets[layout])), str(spans))
    # With a hook of the user's it is what the hook is given; where nobody asks, nothing is told.
    run_ = Recorded(options, 2, "norms", "own_hook", **asked).good()
    told = run_.rows("SELECT value FROM metrics WHERE name = 'gradient_norm' AND rank = 1 AND "
                     "step = 4")[0][0]
    check(abs(told / run_.ranks[1]["norms"][4] - 1) < 1e-5, f"of a hook's: {told}")
    check(Recorded(options, 2).good().rows("SELECT count(*) FROM gradients") == [(0,)], "unasked")


def case_off_core(options):
    """How long a rank was ready to run and had no core."""
    run_ = Recorded(options, 3, "one_core").good().same_as(alone(3))
    for rank, told in run_.ranks.items():
        check(run_.facts(rank, "core_waits") == {"": "schedstat"}, "by what it is told")
        (waited,), = run_.rows(
            "SELECT sum(value) FROM spans_ns WHERE rank = ? AND kind = 'off_core'", rank)
        check(0.5 * told["waited_ns"] < waited < 1.1 * told["waited_ns"] + 20e6,
              f"rank {rank} waited {waited} ns, and the kernel says {told['waited_ns']}")
    elsewhere = run_.rows(
        "SELECT w.rank, w.step FROM spans_ns AS w LEFT JOIN spans_ns AS s ON s.kind = 'step' AND "
        "s.rank = w.rank AND s.step = w.step WHERE w.kind = 'off_core' AND (s.step IS NULL OR "
        "w.start_ns + w.duration_ns / 2 NOT BETWEEN s.start_ns AND s.start_ns + s.duration_ns)")
    check(elsewhere == [], f"waits in another iteration: {elsewhere}")


def case_another(options):
    """A backward that asks for a collective of its own, as none before it did: the iteration is named
    in which it may stand under a bucket's name, and there is no second."""
    run_ = Recorded(options, 2, "another").good().same_as(alone(2, "another"))
    check_iterations(run_, 2, STEPS)
    problems = [text for text in run_.problems() if "had other collectives than those" in text]
    if recorded.sees_all() and torch.__version__.startswith("2.15"):
        check(problems and all(text.startswith("the backward of iteration 9 had other collectives")
                               for text in problems), f"problems {run_.problems()}")
    else:  # each is looked at
        check(not problems, f"problems {problems}")
    flown = run_.rows("SELECT count(*) FROM collectives WHERE rank = 0 AND step = 9")[0][0]
    buckets = run_.rows("SELECT count(*) FROM collectives WHERE rank = 0 AND step = 8")[0][0]
    check(flown == buckets + 1, f"{flown} collectives in iteration 9, {buckets} before")


def case_compile(options):
    """A model behind torch.compile, here with a back end that compiles nothing."""
    if not hasattr(torch, "compile"):
        raise recorded.Impossible("no torch.compile")
    case_other(options, "compile")


def case_restart(options):
    """torchrun starts the ranks again: their second lives go on in the same run."""
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--master_port",
                recorded.free_port(), "--nproc_per_node"]
    tried, _ = run([*torchrun, 1, "--no_python", "true"])
    if tried.returncode != 0:  # Debian 12's does not know Python 3.11; Debian 13's wants libuv
        raise recorded.Impossible(f"torchrun fails: {tried.stderr.strip().splitlines()[-1]}")
    with tempfile.TemporaryDirectory() as folder:
        run_ = Recorded(options, 2, "fail_once", MEETING=f"{folder}/store", command=[
            *torchrun, "2", "--max_restarts", "1", recorded.JOB, 2, STEPS])
    check(run_.done.returncode == 0, f"exit code {run_.done.returncode}: {run_.done.stderr}")
    steps = [step for step, in run_.rows(
        "SELECT step FROM spans_ns WHERE kind = 'step' AND rank = 0 ORDER BY start_ns")]
    check(len(steps) > STEPS and steps == sorted(set(steps)), f"iterations {steps}")


def case_diverged(options):
    """One rank's parameter is changed behind DDP's back: the run has diverged, and says where."""
    run_ = Recorded(options, 2, "flip", record=["--check-replicas", "2"])
    check(run_.done.returncode == 0, f"exit code {run_.done.returncode}: {run_.done.stderr}")
    (state,), = run_.rows("SELECT value FROM meta WHERE key = 'state'")
    check(state == "diverged", f"it is {state}: {run_.problems()}")
    (text,), = run_.rows("SELECT value FROM meta WHERE key = 'divergence'")
    check(text.startswith(f"the replicas differ at step {STEPS // 2 + 2}: 2.weight of rank 1")
          and f"at step {STEPS // 2} all were equal" in text, text)
    equal = Recorded(options, 2, record=["--check-replicas", "5"]).good().same_as(alone(2))
    check(equal.rows("SELECT DISTINCT step FROM fingerprints ORDER BY step")
          == [(0,), (5,), (10,), (STEPS,)], "samples")
    check(equal.rows("SELECT * FROM parameters_differ") == [], "equal replicas differ")
    sketches = equal.rows("SELECT count(*), count(DISTINCT counters), max(length(counters)) FROM "
                          "sketches WHERE step = 5")
    check(sketches == [(2, 1, 256 * 8)], f"sketches {sketches}")
    apart = run_.rows("SELECT counters FROM sketches WHERE step = ? ORDER BY rank", STEPS // 2 + 2)
    ours, theirs = (struct.unpack("<256d", counters) for counters, in apart)
    distance = math.dist(ours, theirs)
    check(0.5 < distance < 2, f"1 was added to one element, and the sketches are {distance} apart")


def case_logging(options):
    """DDP's own logger stands under its names."""
    run_ = Recorded(options, 2).good()
    facts = run_.facts(1, "ddp.")
    check(facts["module_name"] == "Sequential" and facts["rank"] == "1"
          and facts["has_rebuilt_buckets"] == "true"
          and facts["rebuilt_bucket_sizes"] == run_.ranks[1]["bucket_sizes"], facts)
    times = run_.rows("SELECT value FROM metrics WHERE name = 'backward_compute_time' AND rank = 1")
    spans = run_.rows("SELECT max(duration_ns) FROM spans_ns WHERE kind = 'backward' AND rank = 1")
    check(0 < len(times) <= 10 and all(0 < ns <= spans[0][0] * 1.5 for ns, in times),
          f"{times}, and the longest backward takes {spans}")


CASES = {
    "same.world_2": lambda o: case_same(o, 2),
    "same.world_3": lambda o: case_same(o, 3),
    "same.view": lambda o: case_same(o, 3, "view"),
    "auto": case_auto,
    "no_sync": case_no_sync,
    "unused": lambda o: case_other(o, "unused"),
    "static": lambda o: case_other(o, "static"),
    "workers": lambda o: case_other(o, "workers"),
    "scheduler": lambda o: case_other(o, "scheduler"),
    "model_alone": case_model_alone,
    "two_models": case_two_models,
    "own_hook": case_own_hook,
    "unrecorded": case_unrecorded,
    "failure": case_failure,
    "leave": case_leave,
    "late": case_late,
    "post_hook": case_post_hook,
    "unseen": case_unseen,
    "gradients": case_gradients,
    "off_core": case_off_core,
    "another": case_another,
    "amp": lambda o: case_other(o, "amp"),
    "compile": case_compile,
    "restart": case_restart,
    "diverged": case_diverged,
    "logging": case_logging,
    **loops.CASES,
    "nccl": case_nccl,
    **captures.CASES,
}


parser = argparse.ArgumentParser()
parser.add_argument("--bin", type=pathlib.Path, required=True)
parser.add_argument("case", choices=CASES)
main(CASES, parser.parse_args())
