"""Exports real and made runs and has trace_check.py judge them; and sees that it does judge.

Usage: exported.py SOURCE BIN [--run]      BIN: folder of `lockstep`; --run: with runs made here
"""

import copy
import json
import pathlib
import re
import subprocess
import sys
import tempfile

SOURCE, BIN = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
CHECK = pathlib.Path(__file__).with_name("trace_check.py")
RUNS = {"first_steps/demo": 30, "hooks/hierarchical": 4, "ddp/round_robin": 4,
        "ddp/data_parallel": 4, "ddp/optimizer_in_backward": 6}


def lockstep(*arguments):
    """Returns what it printed."""
    return subprocess.run([BIN / "lockstep", *map(str, arguments)], check=True,
                          stdout=subprocess.PIPE, text=True).stdout


def judge(*arguments):
    return subprocess.run([sys.executable, "-B", CHECK, *map(str, arguments)],
                          capture_output=True, text=True, check=False)


def expect_good(*arguments):
    judged = judge(*arguments)
    if judged.returncode != 0:
        sys.exit(f"{arguments}:\n{judged.stdout}{judged.stderr}")
    print(judged.stdout, end="")


def export_all(run, folder):
    """All that is exported of a run, judged."""
    print(run.name)
    trace, packed, steps = folder / "all.json", folder / "all.json.gz", folder / "steps.csv"
    lockstep("export", run, "--json", trace, "--csv", "steps", steps)
    lockstep("export", run, "--json", packed)
    expect_good("structure", run, trace)
    expect_good("structure", run, packed)
    for reader in ([], ["--for", "hta"]):
        ranks = folder / ("hta" if reader else "ranks")
        printed = lockstep("export", run, "--per-rank", ranks, *reader)
        expect_good("structure", run, *sorted(ranks.iterdir()))
    said = folder / "said.txt"
    said.write_text(printed)
    expect_good("hta", run, said, steps, *sorted((folder / "hta").iterdir()))
    part = folder / "part"
    said.write_text(lockstep("export", run, "--range", "1..2", "--per-rank", part, "--for", "hta",
                             "--csv", "steps", folder / "part.csv"))
    expect_good("hta", run, said, folder / "part.csv", *sorted(part.iterdir()))
    other = re.sub(r"(\d) %", lambda digit: f"{(int(digit[1]) + 1) % 10} %", said.read_text(), count=1)
    if other != said.read_text():
        said.write_text(other)
        if judge("hta", run, said, folder / "part.csv", *sorted(part.iterdir())).returncode == 0:
            sys.exit("another last digit is not noticed")
    return trace


def spoilt(trace):
    """The same trace with one thing wrong, several times."""
    whole = json.loads(trace.read_text())
    at = {phase: next(i for i, event in enumerate(whole["traceEvents"]) if event["ph"] == phase)
          for phase in "XsfM"}
    collective = next(i for i, event in enumerate(whole["traceEvents"])
                      if event["ph"] == "X" and "Group size" in event["args"])

    def change(title, what):
        other = copy.deepcopy(whole)
        what(other["traceEvents"])
        return title, other

    yield change("a flow without an end", lambda events: events.pop(at["f"]))
    yield change("a flow to nowhere", lambda events: events[at["f"]].update(ts=0.0))
    yield change("a negative duration", lambda events: events[at["X"]].update(dur=-1.0))
    yield change("a missing event", lambda events: events.pop(at["X"]))
    yield change("a process without a name", lambda events: events.pop(at["M"]))
    yield change("a slice over the end of another",
                 lambda events: events.append({**events[collective], "ts": events[collective]["ts"] +
                                               events[collective]["dur"] / 2}))
    yield change("a collective without its group size",
                 lambda events: events[collective]["args"].update({"Group size": "2"}))


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        runs = sorted((SOURCE / "tests/golden").glob("*.lockstep"))
        if "--run" in sys.argv:
            for experiment, steps in RUNS.items():
                run = folder / (experiment.replace("/", "_") + ".lockstep")
                lockstep("run", "--quiet", SOURCE / "experiments" / (experiment + ".toml"), "--out", run,
                         "--set", f"train.steps={steps}")
                runs.append(run)
        trace = None
        for run in runs:
            of_run = folder / (run.stem + ".out")
            of_run.mkdir()
            trace = trace or export_all(run, of_run)
            if run != runs[0]:
                export_all(run, of_run)
        for title, other in spoilt(trace):
            path = folder / "spoilt.json"
            path.write_text(json.dumps(other))
            if judge("structure", runs[0], path).returncode == 0:
                sys.exit(f"{title} is not noticed")


main()
