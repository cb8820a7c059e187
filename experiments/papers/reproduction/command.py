"""The command `reproduce`: runs, draws, judges."""

import argparse
import os
import pathlib
import platform
import sys
import tomllib

from reproduction import plots, table, verdicts
from reproduction.catalogue import FIGURES
from reproduction.lockstep import BIN, RUNS, Failure, Lockstep
from reproduction.points import write_csv
from reproduction.runs import found_in

FOLDER = pathlib.Path(__file__).resolve().parents[1]
README = FOLDER / "README.md"

EPILOG = """Without a NAME all figures are made, or with --table none. OUT gets NAME.csv and NAME.png
of each, its runs in a folder NAME, and verdicts.json. A figure that is not reproduced is a result,
not a failure: the exit code is 0."""


class Parser(argparse.ArgumentParser):
    def error(self, message):
        sys.exit(f"reproduce: {message}; see experiments/papers/reproduce --help")


def parse(words):
    parser = Parser(prog="reproduce", epilog=EPILOG)
    parser.add_argument("names", nargs="*", metavar="NAME", help="of a figure; --list names them")
    parser.add_argument("--list", action="store_true", help="name the figures and their papers")
    parser.add_argument("--out", type=pathlib.Path, default=RUNS / "papers",
                        metavar="FOLDER", help="where results go; default: runs/papers")
    parser.add_argument("--runs", type=pathlib.Path, metavar="FOLDER",
                        help="take the runs in here, the last of each kind, and run nothing")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", dest="sets",
                        help="override a key of every experiment, as lockstep run does")
    parser.add_argument("--table", action="store_true",
                        help="put all verdicts of OUT into the table of README.md")
    parser.add_argument("--bin", type=pathlib.Path, default=BIN, metavar="FOLDER",
                        help="where the programs are; default: build/bin, or those installed")
    options = parser.parse_args(words)
    for name in options.names:
        if name not in FIGURES:
            parser.error(f"no figure named {name}; there are {', '.join(FIGURES)}")
    if options.runs and options.sets:
        parser.error("--set is for new runs; --runs takes those that there are")
    return options


def stem_of(file):
    return file.rsplit("/", 1)[-1]


def name_in(file):
    path = FOLDER / f"{file}.toml"
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))["name"]
    except (OSError, KeyError, tomllib.TOMLDecodeError) as error:
        raise Failure(f"{path} cannot be read: {error}") from None


def runs_of(figure, lockstep, options):
    """{file name: its runs}, made now or found in --runs."""
    folder = options.runs
    names = {name_in(file): stem_of(file) for file in figure.files}
    if folder is None:
        folder = options.out / figure.name
        folder.mkdir(parents=True, exist_ok=True)
        for old in folder.glob("*.lockstep"):
            old.unlink()
        for file in figure.files:
            sets = list(options.sets)
            if file in figure.settings:
                sets += figure.settings[file](lockstep, found_in(lockstep, folder, names))
            lockstep.run(FOLDER / f"{file}.toml", folder / stem_of(file), sets)
    elif not folder.is_dir():
        raise Failure(f"--runs {folder} is no folder")
    runs = {stem: [] for stem in names.values()}
    for run in found_in(lockstep, folder, names):
        runs[names[run.experiment]].append(run)
    missing = [stem for stem, found in runs.items() if not found]
    if missing:
        raise Failure(f"{folder} has no finished run of {' and of '.join(missing)}.toml")
    return runs


def machine(cores):
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        model = next((line.split(":", 1)[1].strip() for line in file
                      if line.startswith("model name")), platform.machine())
    return f"{model}, {cores} cores"


def reproduce(figure, lockstep, options):
    """Makes one figure; returns its verdict in words."""
    runs = runs_of(figure, lockstep, options)
    try:
        points = figure.take(runs)
        verdict = figure.judge(points)
    except (LookupError, ValueError) as error:
        raise Failure(f"its runs are not whole: {error}") from None
    cores = os.cpu_count()
    write_csv(points, cores, options.out / f"{figure.name}.csv")
    if plots.is_available():
        plots.draw(figure, points, verdict, cores, options.out / f"{figure.name}.png")
    print(verdicts.sentence(figure.name, figure.shape, verdict), flush=True)
    return {"word": verdict.word(), "seen": verdict.seen(), "machine": machine(cores)}


def work(options):
    lockstep = Lockstep(options.bin)
    lockstep.check()
    options.out.mkdir(parents=True, exist_ok=True)
    verdict_file = options.out / "verdicts.json"
    table.read_results(verdict_file)  # a file that is none of ours is refused before anything runs
    if not plots.is_available():
        print(f"reproduce: no pictures: install {plots.PACKAGE} for them", file=sys.stderr)
    failed = 0
    for name in options.names or ([] if options.table else FIGURES):
        try:
            made = reproduce(FIGURES[name], lockstep, options)
        except Failure as failure:
            print(f"reproduce: {name}: {failure}", file=sys.stderr)
            failed += 1
            continue
        # Read once more: another `reproduce` may have added its own in the meantime.
        table.write_results(table.read_results(verdict_file) | {name: made}, verdict_file)
    if options.table:
        table.write(FIGURES.values(), table.read_results(verdict_file), README)
    return 1 if failed else 0


def main(words):
    options = parse(words)
    if options.list:
        for figure in FIGURES.values():
            print(f"{figure.name:22} {figure.paper}")
        return 0
    try:
        return work(options)
    except (Failure, table.TableError) as failure:
        print(f"reproduce: {failure}", file=sys.stderr)
    except OSError as error:
        print(f"reproduce: {error.filename}: {error.strerror}", file=sys.stderr)
    except KeyboardInterrupt:
        print("reproduce: interrupted", file=sys.stderr)
        return 130
    return 1
