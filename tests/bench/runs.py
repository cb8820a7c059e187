"""Benchmarks of whole runs and of programs that measure themselves."""

import json
import pathlib
import re
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


def checked(options):
    """Share of 200 steps of the demo that comparing its first calls takes, and what those waited
    for their last rank, which they do in any case."""
    with tempfile.TemporaryDirectory() as folder:
        demo = (ROOT / "experiments/first_steps/demo.toml").read_text()
        experiment = pathlib.Path(folder) / "demo.toml"
        experiment.write_text(re.sub(r"(?m)^epochs = .*", "steps = 200", demo))
        run = pathlib.Path(folder) / "demo.lockstep"
        lockstep = options.bin / "lockstep"
        subprocess.run([lockstep, "run", experiment, "--out", run, "--quiet"], check=True,
                       cwd=ROOT)
        report = json.loads(subprocess.run([lockstep, "info", "--json", run], check=True,
                                           capture_output=True, text=True).stdout)
    checks = report["checks"]
    spans = checks["calls"] * report["world_size"]
    figures = {"calls": checks["calls"], "own_ms_a_call": checks["own_ms"] / spans,
               "waiting_ms_a_call": checks["waiting_ms"] / spans,
               "own_percent_of_step": checks["own_percent"],
               "waiting_percent_of_step": checks["waiting_percent"]}
    return {"name": "checked", "unit": "%", **figures,
            "lines": [f"{name} = {value:.4g}" for name, value in figures.items()]}


def shaped(options):
    """The shaped link against its preset, 1 KB to 64 MB: bandwidth of a full link, and what a
    single allreduce takes beyond link or backend, less the latency asked for."""
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "out.json"
        subprocess.run([options.bin / "test_engine_process_group_shaped",
                        "--gtest_filter=ShapedAccuracy.*", "--gtest_brief=1",
                        f"--gtest_output=json:{out}"], check=True)
        suite = json.loads(out.read_text())["testsuites"][0]["testsuite"]
    lines = [line for test in suite for key, line in test.items() if key.startswith("line_")]
    return {"name": "shaped", "lines": lines}


BENCHMARKS = {"checked": checked, "shaped": shaped}
