"""The replay of shipped experiments' own steps against what was measured."""

import json
import pathlib
import statistics
import subprocess
import tempfile

from figures import ask

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
FOLDERS = ("first_steps", "ddp", "hooks")  # of experiments/; hooks/convergence is none of them
ROUNDS = 1
STEPS = 40
# Models that take long over a step on two cores.
FEWER_STEPS = {"first_steps/resnet18": 12, "first_steps/char_gpt": 20, "first_steps/mnist_cnn": 20}
LIMIT_S = 180
MOST_MISSED = 2  # % of the step, by half of the replays
MISSES = "a replay of its own steps misses what was measured"


def experiments(only):
    names = [f"{folder}/{path.stem}" for folder in FOLDERS
             for path in sorted((ROOT / "experiments" / folder).glob("*.toml"))]
    chosen = [name for name in names if not only or name in only or name.split("/")[0] in only]
    if not chosen:
        raise SystemExit(f"bench: --only takes some of {', '.join([*FOLDERS, *names])}")
    return chosen


def error_percent(ranks):
    """The mean over the ranks of what each one's replay misses: over and under make no good mean."""
    return 100 * statistics.mean(abs(rank["replayed_step_ms"] - rank["measured_step_ms"])
                                 / rank["measured_step_ms"] for rank in ranks)


def one_run(options, run, name, steps):
    """A row of an experiment: means over the ranks of the medians, as measured and as replayed; or
    why there is no replay."""
    lockstep = options.bin / "lockstep"
    sets = [f"train.steps={steps}", "train.evaluate_at_end=false", "link.simulate_anyway=true"]
    words = [word for setting in sets for word in ("--set", setting)]
    run.unlink(missing_ok=True)
    done = subprocess.run([lockstep, "run", ROOT / f"experiments/{name}.toml", "--quiet", "--out",
                           run, *words], capture_output=True, text=True, cwd=ROOT, timeout=LIMIT_S)
    if done.returncode != 0:
        raise SystemExit(f"bench: {name}: {done.stderr.strip()}")
    # Computing that takes as long as it did changes nothing: what is told is the replay.
    told = subprocess.run([lockstep, "whatif", run, "--compute-factor", "1", "--json"],
                          capture_output=True, text=True, cwd=ROOT)
    row = {"experiment": name, "measured_ms": None, "replayed_ms": None, "error_percent": None,
           "why": told.stderr.strip().partition("because ")[2] or told.stderr.strip()}
    if told.returncode != 0:
        return row
    ranks = json.loads(told.stdout)["ranks"]
    measured, replayed = (statistics.mean(rank[f"{what}_step_ms"] for rank in ranks)
                          for what in ("measured", "replayed"))
    return row | {"measured_ms": measured, "replayed_ms": replayed,
                  "error_percent": error_percent(ranks)}


def line(row):
    if row["error_percent"] is None:
        return f"{row['experiment']:38} no replay: {row['why']}"
    return (f"{row['experiment']:38} measured {row['measured_ms']:9.3f} ms, replayed "
            f"{row['replayed_ms']:9.3f} ms, error {row['error_percent']:6.2f} %")


def replay(options):
    """What the replay makes of the own steps of each shipped experiment of first_steps, ddp and
    hooks, run for a few steps, against what was measured. --only NAME,... takes some of them, or of
    the folders, --steps N other numbers of steps."""
    chosen = experiments(options.only)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        run = pathlib.Path(folder) / "replay.lockstep"
        for _ in range(options.rounds or ROUNDS):
            for name in chosen:
                steps = options.steps or FEWER_STEPS.get(name, STEPS)
                rows.append(one_run(options, run, name, steps))
                print(f"{'':4}{line(rows[-1])}", flush=True)
    told = [row["error_percent"] for row in rows if row["error_percent"] is not None]
    # A replay that misses by so much that it is refused is no better than the worst that is told.
    missed = sum(MISSES in row["why"] for row in rows)
    errors = sorted([*told, *[float("inf")] * missed])
    result = {"name": "replay", "title": "replays of shipped experiments", "unit": "%",
              "rows": rows, "lines": [
                  f"{len(told)} of {len(rows)} runs replayed, {missed} refused since the replay "
                  f"misses, {len(rows) - len(told) - missed} have no buckets to replay or tell too "
                  "little of them"]}
    error = statistics.median(errors) if errors else None
    result["ours"] = error
    ask(result, "median error of a replayed step", error, "%", MOST_MISSED)
    return result


BENCHMARKS = {"replay": replay}
