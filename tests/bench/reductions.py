"""Allreduce among ranks of one host: ours, PyTorch's Gloo, OpenMPI's, and a bare loop."""

import contextlib
import os
import pathlib
import shutil
import statistics

from backends import backends
from contestants import Contestant, alternate
from figures import algbw, ask, busbw, compared, interval, mean_call

PEER = ["/usr/bin/python3", pathlib.Path(__file__).resolve().parent / "messages_peer.py"]

SIZES = {"4kb": 4 << 10, "64kb": 64 << 10, "1mb": 1 << 20, "100mb": 100 << 20}
ROUNDS = 30
TURN_MS = 200  # of calls; at least three
MOST_CALLS = 20_000

GLOO = "PyTorch Gloo"
MPI = "OpenMPI"
BARE = "bare loop"

# What is asked of the shared memory on 2 ranks.
FASTER_THAN_GLOO = {"4kb": 50, "1mb": 6, "100mb": 5}
OF_OPENMPI = 0.9  # from 64 KB on
OF_BARE_PERCENT = {"100mb": 70}

MPI_NO = "OpenMPI is not measured: no mpirun, or no libopenmpi-dev when the programs were built"
MPI_ENVIRONMENT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


def mpi_command(options, ranks):
    """OpenMPI over shared memory alone; None where it is not there."""
    program = options.bin / "bench_mpi_allreduce"
    if shutil.which("mpirun") is None or not os.access(program, os.X_OK):
        return None
    return ["mpirun", "-n", str(ranks), "--oversubscribe", "--bind-to", "none", "--mca", "pml",
            "ob1", "--mca", "btl", "vader,self", program]


def sides_of(options, size, ranks, stack):
    """Contestant and words by label."""
    def enter(name, command, **arguments):
        return stack.enter_context(Contestant(name, command, **arguments))

    words = ("allreduce", str(size))
    sides = {}
    for name in backends(options):
        ours = enter(name, [options.bin / "bench_messages", name], ranks=ranks)
        sides[f"Lockstep {name}"] = (ours, (*words, "placed"))
        if name != "gloo":  # where memory is placed makes no difference to it
            sides[f"Lockstep {name}, ordinary memory"] = (ours, words)
    sides[GLOO] = (enter(GLOO, PEER, ranks=ranks), words)
    command = mpi_command(options, ranks)
    if command is not None:
        sides[MPI] = (enter(MPI, command, ranks=1, environment=MPI_ENVIRONMENT), words)
    bare = [options.bin / "bench_bare_allreduce", str(ranks), str(size)]
    sides[BARE] = (enter(BARE, bare, ranks=1), words)
    return sides


def calls_of_a_turn(side):
    """So many that a turn takes about TURN_MS, by a first look."""
    contestant, words = side
    contestant.turn(3, *words)
    took = mean_call(contestant.turn(3, *words))
    if took < 1:
        took = mean_call(contestant.turn(30, *words))
    return max(3, min(MOST_CALLS, int(TURN_MS / max(took, 1e-6))))


def lines_of(times, size, ranks):
    lines = []
    for label, values in times.items():
        took = statistics.median(values)
        low, high = interval(values)
        lines.append(f"{label:40} {took:9.4f} ms [{low:.4f}, {high:.4f}]  algbw "
                     f"{algbw(size, took):7.3f} GB/s  busbw {busbw(size, took, ranks):7.3f} GB/s")
    return lines


def results_of(name, word, ranks, times, ours):
    size = SIZES[word]
    title = f"allreduce, {word[:-2]} {word[-2:].upper()}, {ranks} ranks"
    result = compared(name, f"{title}, against PyTorch's Gloo", times, ours, GLOO, BARE)
    result["lines"] = lines_of(times, size, ranks)
    for label, side in result["sides"].items():
        side |= {"algbw": algbw(size, side["median"]), "busbw": busbw(size, side["median"], ranks)}
    shared = ours == "Lockstep shared_memory" and ranks == 2
    of_bare = [100 * bare / own for bare, own in zip(times[BARE], times[ours])]
    result |= {"of_bound_percent": statistics.median(of_bare),
               "of_bound_interval": interval(of_bare)}
    if shared and word in FASTER_THAN_GLOO:
        ask(result, "times faster than Gloo", result["ratio"], "", FASTER_THAN_GLOO[word], True)
    if shared and word in OF_BARE_PERCENT:
        ask(result, "of the bare loop's bandwidth", result["of_bound_percent"], "%",
            OF_BARE_PERCENT[word], True)
    if MPI not in times:
        result["lines"].append(MPI_NO)
        return [result]
    mpi = compared(f"{name}.mpi", f"{title}, against OpenMPI", times, ours, MPI, BARE)
    del mpi["sides"]  # those of the first result
    if shared and word != "4kb":
        ask(mpi, "times as fast as OpenMPI", mpi["ratio"], "", OF_OPENMPI, True)
    return [result, mpi]


def allreduce(word, ranks):
    """The benchmark of one size on so many ranks."""
    name = f"allreduce.{word}.{ranks}"

    def measure(options):
        with contextlib.ExitStack() as stack:
            sides = sides_of(options, SIZES[word], ranks, stack)
            calls = {label: calls_of_a_turn(side) for label, side in sides.items()}
            times = alternate(sides, options.rounds or ROUNDS, lambda label: mean_call(
                sides[label][0].turn(calls[label], *sides[label][1])))
        return results_of(name, word, ranks, times, f"Lockstep {backends(options)[-1]}")

    measure.__doc__ = (f"allreduce of {word[:-2]} {word[-2:].upper()} of floats, {ranks} ranks, "
                       "against PyTorch's Gloo, OpenMPI and a bare loop over shared memory.")
    return name, measure


BENCHMARKS = dict(allreduce(word, ranks) for word in SIZES for ranks in (2, 4))
