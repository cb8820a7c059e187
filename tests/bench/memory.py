"""What DDP adds to a training's memory: its peak less the peak without DDP."""

import pathlib
import statistics

from backends import backends
from contestants import Contestant
from figures import ask, compared, interval
from steps import CASES

PEER = ["/usr/bin/python3", pathlib.Path(__file__).resolve().parent / "ddp_step_peer.py"]
RANKS = 2
ROUNDS = 5
# On both sides the C library's allocator as it comes, so that what is compared is DDP: ranks leave
# it alone where the environment sets it up (engine/base/FreedMemory.h). This is its default.
ALLOCATOR = {"GLIBC_TUNABLES": "glibc.malloc.tcache_count=7"}
STEPS = {"mlp": 10, "resnet18": 4, "char_gpt_b16": 20}


def kilobytes(process, file, name):
    """A value of a file of /proc about a process."""
    with open(f"/proc/{process.pid}/{file}") as lines:
        return next(int(line.split()[1]) for line in lines if line.startswith(name + ":"))


def peak_mb(name, command, steps):
    """The sum over the ranks of the most that each had resident at once while they trained, as the
    kernel keeps it, after a first few steps in which memory settles. Memory that ranks share counts
    once: what a rank has mapped of it beyond its share of the pages is taken off."""
    with Contestant(name, command, RANKS, environment=ALLOCATOR) as contestant:
        contestant.turn(3)
        for process in contestant.ranks:
            with open(f"/proc/{process.pid}/clear_refs", "w") as file:
                file.write("5")  # the peak begins anew
        contestant.turn(steps)
        total = 0
        for process in contestant.ranks:
            shared = kilobytes(process, "status", "RssShmem")
            share = kilobytes(process, "smaps_rollup", "Pss_Shmem")
            total += kilobytes(process, "status", "VmHWM") - (shared - share)
        return total / 1024


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
        result = compared(name, f"memory added by DDP, {model}, batch {batch}, {RANKS} ranks, view",
                          added, f"Lockstep {backends(options)[-1]}", "PyTorch DDP", unit="MB")
        if min(map(min, added.values())) <= 0:  # less than without DDP: no ratio to speak of
            result |= {"ratio": None, "interval": result["sides"][result["ours_name"]]["interval"]}
        result["peaks_mb"] = peaks
        result["lines"] = ["peaks of resident memory, summed over the ranks; shared memory once"]
        for label, values in peaks.items():
            more = (f", {result['sides'][label]['median']:8.1f} MB added by DDP" if label in added
                    else "")
            result["lines"].append(f"{label:32} {sorted(values)[len(values) // 2]:8.1f} MB" + more)
        pairs = zip(added[result["ours_name"]], added[result["peer_name"]])
        differences = [ours - theirs for ours, theirs in pairs]
        least, most = interval(differences)
        result["lines"].append("added, less what PyTorch's DDP adds "
                               f"{statistics.median(differences):8.2f} MB [{least:.2f}, {most:.2f}]")
        # By its interval: the peaks of an allocator vary by more from run to run than the sides do.
        ask(result, "added, less what PyTorch's DDP adds, at least", least, "MB", 0)
        return result

    measure.__doc__ = (f"Memory that DDP adds to the training of {model}, batch {batch}, {RANKS} "
                       "ranks, gradients in the buckets, against PyTorch's.")
    return name, measure


BENCHMARKS = dict(memory(case) for case in STEPS)
