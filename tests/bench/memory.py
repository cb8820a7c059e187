"""What DDP adds to a training's memory: its peak less the peak without DDP."""

import pathlib

from backends import backends
from contestants import Contestant
from figures import ask, compared
from steps import CASES

PEER = ["/usr/bin/python3", pathlib.Path(__file__).resolve().parent / "ddp_step_peer.py"]
RANKS = 2
ROUNDS = 5
STEPS = {"mlp": 60, "resnet18": 4, "char_gpt_b16": 60}


def pss_mb(processes):
    """The ranks' proportional set size: a page that n processes map counts 1/n in each of them, so
    that what ranks share, gradients and libraries, counts once."""
    total = 0
    for process in processes:
        try:
            with open(f"/proc/{process.pid}/smaps_rollup") as rollup:
                total += next((int(line.split()[1]) for line in rollup
                               if line.startswith("Pss:")), 0)
        except OSError:
            pass  # it ended; its answer says how
    return total / 1024


def peak_mb(name, command, steps):
    """The largest sum over the ranks that was seen while they trained, after a first few steps in
    which memory settles. They run alone, since others would take shares of their libraries."""
    with Contestant(name, command, RANKS) as contestant:
        contestant.turn(3)
        contestant.begin(steps)
        peak, looks = 0.0, 0
        while not contestant.answered():
            peak = max(peak, pss_mb(contestant.ranks))
            looks += 1
        contestant.answers()
    if looks < 20:
        raise SystemExit(f"bench: {name}: only {looks} looks at its memory; take more --steps")
    return peak


def memory(case):
    """The benchmark of one model."""
    model, batch, _, _ = CASES[case]
    name = f"memory.{case}"

    def measure(options):
        words = [model, str(batch)]
        ours = [options.bin / "bench_ddp_step", *words]
        alone = {"Lockstep": [*ours, "none"], "PyTorch": [*PEER, *words, "none"]}
        ddp = {f"Lockstep {backend}": [*ours, backend, "--view"] for backend in backends(options)}
        ddp["PyTorch DDP"] = [*PEER, *words, "ddp", "--view"]
        commands = {**alone, **ddp}
        peaks = {label: [] for label in commands}
        for _ in range(options.rounds or ROUNDS):
            for label, command in commands.items():
                peaks[label].append(peak_mb(label, command, options.steps or STEPS[case]))
        added = {label: [with_ddp - without for with_ddp, without in
                         zip(peaks[label], peaks[label.split()[0]])] for label in ddp}
        if any(megabytes <= 0 for values in added.values() for megabytes in values):
            raise SystemExit(f"bench: {name}: a peak with DDP is below one without; the machine is "
                             "too busy, or take more --steps")
        result = compared(name, f"memory added by DDP, {model}, batch {batch}, {RANKS} ranks, view",
                          added, f"Lockstep {backends(options)[-1]}", "PyTorch DDP", unit="MB")
        result["peaks_mb"] = peaks
        result["lines"] = ["proportional set size, summed over the ranks, at the peak"]
        for label, values in peaks.items():
            more = (f", {result['sides'][label]['median']:8.1f} MB added by DDP" if label in added
                    else "")
            result["lines"].append(f"{label:32} {sorted(values)[len(values) // 2]:8.1f} MB" + more)
        ask(result, "added, of what PyTorch's DDP adds", result["ours"] / result["peer"], "", 1.0)
        return result

    measure.__doc__ = (f"Memory that DDP adds to the training of {model}, batch {batch}, {RANKS} "
                       "ranks, gradients in the buckets, against PyTorch's.")
    return name, measure


BENCHMARKS = dict(memory(case) for case in STEPS)
