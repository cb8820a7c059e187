"""Runs benchmarks in turns with their peers; see tests/bench/run.

Every contestant is a group of rank processes that stay up and wait, asleep, for their turn. Turns
alternate, so that what else the machine does falls on all sides alike; a ratio is taken round by
round, and its 95 % interval is a bootstrap over the rounds.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys

import causes
import forecasts
import healthy
import memory
import messages
import observer
import ranks
import recorder
import reductions
import refresh
import relays
import replay
import runs
import simulate
import steps
import table
import tune
from kernels import kernels
from machine import machine
from studio import studio_live, studio_many, studio_open, studio_runs, studio_step

BENCHMARKS = {**steps.BENCHMARKS, **reductions.BENCHMARKS, **messages.BENCHMARKS,
              **memory.BENCHMARKS, **recorder.BENCHMARKS, **relays.BENCHMARKS,
              "kernels": kernels, **runs.BENCHMARKS, **forecasts.BENCHMARKS, **tune.BENCHMARKS,
              **healthy.BENCHMARKS, **causes.BENCHMARKS, **simulate.BENCHMARKS,
              **replay.BENCHMARKS, **observer.BENCHMARKS, "studio_open": studio_open,
              "studio_live": studio_live, "studio_many": studio_many, "studio_step": studio_step,
              "studio_runs": studio_runs,
              **ranks.BENCHMARKS, **refresh.BENCHMARKS}

EPILOG = """A NAME is a benchmark or the first parts of some: ddp_step, allreduce.4kb. In the JSON
file each benchmark has name, unit, ours, peer, bound, ratio = peer / ours and interval (of the
ratio, or of ours where there is no ratio), null where it has none; sides has the times of all that
were measured in the same rounds."""


class Parser(argparse.ArgumentParser):
    def error(self, message):
        sys.exit(f"bench: {message}; see tests/bench/run --help")


def count(text):
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError("it has to be 1 or more")
    return value


def parse(arguments):
    parser = Parser(prog="tests/bench/run", epilog=EPILOG)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--bin", type=lambda folder: pathlib.Path(folder).absolute(),
                        help=argparse.SUPPRESS)
    parser.add_argument("--check", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE",
                        help="write the results here, after each benchmark anew")
    parser.add_argument("--table", type=pathlib.Path, metavar="FILE",
                        help="write them as a table in Markdown; in a file with the marks of one, "
                             "as README.md, between these")
    parser.add_argument("--from", dest="earlier", type=pathlib.Path, metavar="FILE",
                        action="append", default=[],
                        help="take earlier results, of --json, too; without NAME run nothing")
    parser.add_argument("--backends", type=lambda text: text.split(","), metavar="A,B",
                        help="ours to measure; the last one stands for Lockstep")
    parser.add_argument("--rounds", type=count, help="in place of each benchmark's own number")
    parser.add_argument("--steps", type=count, help="steps a turn, likewise")
    parser.add_argument("--only", type=lambda text: text.split(","), metavar="A,B",
                        help="of healthy: these experiments, as first_steps/mnist_mlp; of "
                             "forecasts and tune: these models, of forecasts these kinds, "
                             "too; of causes and remedies: these causes; of simulate: these "
                             "settings; of replay: these experiments, or folders of them")
    parser.add_argument("--busy", type=int, metavar="N",
                        help="of healthy: beside so many busy loops, in place of none and then 4")
    parser.add_argument("--keep", type=pathlib.Path, metavar="FOLDER",
                        help="of forecasts and simulate: leave the runs there, and take those that "
                             "are there already in place of new ones")
    parser.add_argument("--list", action="store_true", help="name the benchmarks")
    options = parser.parse_args(arguments)
    for path in (options.json, options.table):
        folder = None if path is None else path.absolute().parent
        if folder is not None and (path.is_dir() or not os.access(folder, os.W_OK)):
            parser.error(f"{path} cannot be written")
    return options, chosen(options, parser)


def chosen(options, parser):
    """The benchmarks to run, in the order of BENCHMARKS."""
    if not options.names:
        return [] if options.earlier else list(BENCHMARKS)
    wanted = set()
    for name in options.names:
        found = [one for one in BENCHMARKS if one == name or one.startswith(name + ".")]
        if not found:
            parser.error(f"no benchmark named {name}; there are {', '.join(BENCHMARKS)}")
        wanted.update(found)
    return [name for name in BENCHMARKS if name in wanted]


def read(paths):
    """The machines and the benchmarks of earlier results, the last of each name."""
    machines, found = [], {}
    for path in paths:
        try:
            results = json.loads(path.read_text())
            machines.append(results["machine"])
            found |= {result["name"]: result for result in results["benchmarks"]}
        except (OSError, ValueError, KeyError, TypeError) as error:
            sys.exit(f"bench: {path} has no results of --json: {error}")
    return machines, found


def one_machine(machines):
    """The last of several, which have to be one machine: figures of two are not for one table."""
    if len({(one["processor"], one["cores"]) for one in machines}) > 1:
        sys.exit("bench: the results are of several machines")
    return machines[-1]


def show(result):
    """Prints one result; returns the figures it misses."""
    name = result["name"]
    if result.get("ratio") is not None:
        low, high = result["interval"]
        bound = "" if result["bound"] is None else f"{result['bound']:.5g}"
        print(f"{name:28} {result['ours']:>10.5g} {result['peer']:>10.5g} {bound:>10} "
              f"{result['ratio']:8.3f}  [{low:.3f}, {high:.3f}] {result['unit']}, "
              f"{result['ours_name']} against {result['peer_name']}")
    else:
        print(name)
    for line in result.get("lines", []):
        print(f"{'':4}{line}")
    sys.stdout.flush()
    return [f"bench: {name}: {line}" for line in result.get("missed", [])]


def main():
    options, names = parse(sys.argv[1:])
    if options.check:
        return 0
    if options.list:
        for name, function in BENCHMARKS.items():
            print(f"{name:23} {' '.join(function.__doc__.split())}")
        return 0
    machines, found = read(options.earlier)
    if names:
        machines.append(machine(options.bin))
    where = one_machine(machines)
    missed = []
    if names:
        print(" ".join(f"{key}={value}" for key, value in where.items()))
        print(f"{'benchmark':28} {'ours':>10} {'peer':>10} {'bound':>10} {'ratio':>8}  95 % interval")
    options.found = found
    results = {"machine": where, "benchmarks": list(found.values())}
    for name in names:
        try:
            made = BENCHMARKS[name](options)
        except (SystemExit, OSError, subprocess.SubprocessError) as failure:
            print(f"{name}\n{'':4}{failure}", flush=True)
            missed.append(f"bench: {name}: {str(failure).removeprefix('bench: ')}")
            continue  # the others can still be measured
        for result in made if isinstance(made, list) else [made]:
            for key in ("ours", "peer", "bound", "ratio", "interval"):
                result.setdefault(key, None)
            found[result["name"]] = result
            missed += show(result)
        results["benchmarks"] = list(found.values())
        if options.json:
            options.json.write_text(json.dumps(results, indent=2) + "\n")
    if options.table:
        failure = table.write(results, options.table)
        if failure:
            sys.exit(f"bench: {failure}")
    print("\n".join(missed), end="\n" if missed else "", file=sys.stderr)
    return 1 if missed else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit("bench: interrupted")
