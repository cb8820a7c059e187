#!/usr/bin/env python3
"""Runs the experiments of this folder and prints what came of each, as a Markdown table.

    experiments/hooks/convergence/measure.py [--write] [--seeds N] [FILE...]

--write puts the table into README.md; --seeds takes the mean over several seeds. The programs are
those of build/bin, or of --bin.
"""

import argparse
import json
import pathlib
import re
import sqlite3
import subprocess
import sys
import tempfile

FOLDER = pathlib.Path(__file__).resolve().parent
BEGIN, END = "<!-- measured: begin -->", "<!-- measured: end -->"


def run(binary, file, folder, *sets):
    """Runs an experiment; returns what `lockstep info` says of it, and its run file."""
    path = pathlib.Path(folder, file.stem + ".lockstep")
    path.unlink(missing_ok=True)
    options = [option for value in sets for option in ("--set", value)]
    ended = subprocess.run([binary, "run", file, "--json", "--out", path, *options],
                           capture_output=True, text=True, timeout=600, check=False)
    if ended.returncode != 0:
        sys.exit(f"{file.name}: {ended.stderr}")
    return json.loads(ended.stdout), path


def rows(path, query):
    database = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    try:
        return database.execute(query).fetchall()
    finally:
        database.close()


def mean(numbers):
    numbers = list(numbers)
    return sum(numbers) / len(numbers)


def measure(binary, file, folder, seed):
    info, path = run(binary, file, folder, f"train.seed={seed}")
    steps = info["steps"]
    accuracy = dict(rows(path, "SELECT step, value FROM metrics WHERE name = 'test_accuracy'"))
    loss = mean(value for value, in rows(
        path, f"SELECT value FROM metrics WHERE name = 'loss' AND step >= {steps - 50}"))
    # The mean square of the replicas' distances to their mean, at each measurement.
    apart = [value for _, value in rows(
        path, "SELECT step, AVG(value) FROM metrics WHERE name = 'hook.distance_squared' "
              "GROUP BY step ORDER BY step")]
    if apart:  # measuring sends bytes, too
        info, _ = run(binary, file, folder, f"train.seed={seed}", "hook.measure_every=0")
    sent = mean(rank["wire_bytes"] for rank in info["ranks"]) / steps
    return {"early": 100 * accuracy[min(accuracy)], "late": 100 * accuracy[max(accuracy)],
            "loss": loss, "sent": sent / 1000, "middle": apart[len(apart) // 2] if apart else None,
            "last": apart[-1] if apart else None, "most": max(apart) if apart else None}


def figure(value, digits):
    return "-" if value is None else f"{value:.{digits}f}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("files", nargs="*", type=pathlib.Path)
    parser.add_argument("--bin", type=pathlib.Path, default=FOLDER.parents[2] / "build" / "bin")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    if options.write and options.files:
        parser.error("--write takes no FILE: the table in README.md has all")

    def order(file):  # h2 before h16
        return [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", file.stem)]

    lines = ["| experiment | accuracy after 100 steps, % | after 400, % | loss of the last 50 | "
             "kB sent a rank and step | distance² half-way | at the end | at most |",
             "| --- | --- | --- | --- | --- | --- | --- | --- |"]
    for file in options.files or sorted(FOLDER.glob("*.toml"), key=order):
        with tempfile.TemporaryDirectory(prefix="convergence-") as folder:
            seeds = [measure(options.bin / "lockstep", file.resolve(), folder, seed + 1)
                     for seed in range(options.seeds)]
        of = {key: None if seeds[0][key] is None else mean(seed[key] for seed in seeds)
              for key in seeds[0]}
        lines.append(f"| {file.stem} | {figure(of['early'], 1)} | {figure(of['late'], 1)} | "
                     f"{figure(of['loss'], 3)} | {figure(of['sent'], 1)} | "
                     f"{figure(of['middle'], 3)} | {figure(of['last'], 3)} | "
                     f"{figure(of['most'], 3)} |")
        print(lines[-1], flush=True)
    if options.write:
        readme = FOLDER / "README.md"
        before, rest = readme.read_text().split(BEGIN)
        _, after = rest.split(END)
        readme.write_text("\n".join([before + BEGIN, "", *lines, "", END + after]))


if __name__ == "__main__":
    main()
