"""The studio: long runs, a live run under load, and what following costs the run it follows."""

import json
import os
import pathlib
import shutil
import signal
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time

from figures import interval, judged
from load import EVENTS_PER_S, MANY, MANY_EVENTS_PER_S, RANKS, Load, of_many

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent

SPANS = {10_000_000: {"open_ms": 3000, "added_mb": 400, "diagnose_ms": 5000, "frames_per_s": 30},
         100_000: {"frames_per_s": 60}}

LISTED = 5000
LISTED_MS = 1000

LIVE_S = 30
LIVE_START_S = 4
LAST_LOOK_S = 15  # after the end, in which tables take in the whole run once more
IDLE_S = 10
WARM_UP_S = 2  # of the load, in which the studio opens the run
LATENCY_P95_MS = 250
MANY_START_S = 15  # for all of them to have begun
MANY_LATENCY_P95_MS = 500
OVER_16_MS_PERCENT = 1
LIVE_CPU_PERCENT = 40
IDLE_CPU_PERCENT = 1

WINDOW_S = 5  # of the demo with the studio open, and as long with it closed
SETTLE_S = 1
STEP_RATIO = 1.10


class Display:
    """An X server of its own, and a studio's home within `folder`."""

    def __init__(self, folder):
        if shutil.which("Xvfb") is None:
            sys.exit("bench: this benchmark needs Xvfb, of the package xvfb")
        readable, writable = os.pipe()
        self.server = subprocess.Popen(
            ["Xvfb", "-displayfd", str(writable), "-screen", "0", "1280x800x24"],
            pass_fds=[writable], stderr=subprocess.DEVNULL)
        os.close(writable)
        with os.fdopen(readable) as answer:
            number = answer.readline().strip()
        if not number:
            sys.exit("bench: Xvfb does not start")
        home = folder / "home"
        home.mkdir(mode=0o700)
        self.environment = dict(os.environ, DISPLAY=f":{number}", QT_QPA_PLATFORM="xcb",
                                XDG_CONFIG_HOME=str(home), XDG_DATA_HOME=str(home),
                                XDG_CACHE_HOME=str(home), XDG_RUNTIME_DIR=str(home))

    def studio(self, options, run, figures):
        return subprocess.Popen([options.bin / "lockstep-studio", run, "--figures", figures],
                                env=self.environment)

    def close(self):
        self.server.terminate()
        self.server.wait()


def end(*processes):
    for process in processes:
        if process is not None and process.poll() is None:
            process.terminate()
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def cpu_seconds(process):
    with open(f"/proc/{process.pid}/stat") as stat:
        fields = stat.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def wait_for(path, process, limit_s=20):
    deadline = time.monotonic() + limit_s
    while not path.exists():
        if process.poll() is not None or time.monotonic() > deadline:
            sys.exit(f"bench: {path.name} did not come")
        time.sleep(0.02)


def report(name, figures, rows):
    lines, missed = [], []
    for row in rows:
        line, failed = judged(*row)
        lines.append(line)
        missed += failed
    return {"name": name, "unit": "", "figures": figures, "lines": lines, "missed": missed}


def diagnose_ms(options, run):
    begin = time.monotonic()
    subprocess.run([options.bin / "lockstep", "diagnose", run], check=True,
                   stdout=subprocess.DEVNULL)
    return 1000 * (time.monotonic() - begin)


def studio_open(options):
    """Opening a made run of 10 million spans (and one of 100 thousand) as the studio does, the
    memory it adds, what `lockstep diagnose` takes for it, and the slowest zoom's frames by the
    raster painter, at the 95th percentile of pans over the run."""
    figures, rows = {}, []
    with tempfile.TemporaryDirectory() as folder:
        for spans, limits in SPANS.items():
            run = pathlib.Path(folder) / f"{spans}.lockstep"
            subprocess.run([options.bin / "make_run", run, str(spans), str(RANKS)], check=True,
                           stdout=subprocess.DEVNULL)
            tries = [json.loads(subprocess.run([options.bin / "bench_timeline", run], check=True,
                                               capture_output=True, text=True).stdout)
                     for _ in range(3)]
            # The best of three: what else the machine does only ever adds.
            best = {"open_ms": min(one["open_ms"] for one in tries),
                    "open_cpu_ms": min(one["open_cpu_ms"] for one in tries),
                    "added_mb": max(one["added_mb"] for one in tries),
                    "diagnose_ms": min(diagnose_ms(options, run) for _ in range(3)),
                    "frames_per_s": max(one["worst_zoom_frames_per_s"] for one in tries)}
            figures[spans] = {**best, "tries": tries}
            for key, limit in limits.items():
                rows.append((f"{spans:,} spans: {key}", best[key], "", limit,
                             key == "frames_per_s"))
            run.unlink()
    return report("studio_open", figures, rows)


def studio_runs(options):
    """5,000 runs in a folder, listed as by a start that has seen none of them and by the next one:
    until the list stands, and how many files the second opens."""
    tries = []
    for _ in range(3):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            run = folder / "run.lockstep"
            subprocess.run([options.bin / "make_run", run, "2000", "2"], check=True,
                           stdout=subprocess.DEVNULL)
            tries.append(json.loads(subprocess.run(
                [options.bin / "bench_runs", run, str(LISTED)], check=True, capture_output=True,
                text=True, env=dict(os.environ, XDG_CACHE_HOME=str(folder / "cache"))).stdout))
    best = {key: min(one[key] for one in tries) for key in tries[0]}
    return report("studio_runs", {**best, "tries": tries}, [
        (f"{LISTED:,} runs never seen: listed", best["first_listed_ms"], "ms", LISTED_MS, False),
        (f"{LISTED:,} runs known: listed", best["again_listed_ms"], "ms", LISTED_MS, False),
        (f"{LISTED:,} runs known: files opened", best["again_opened"], "", 0, False)])


def followed(options, load):
    """What the studio says of a load that it followed on its timeline from the start to the end, and
    what was recorded of it."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        run, told = folder / "load.lockstep", folder / "told"
        display = Display(folder)
        recording = studio = None
        try:
            recording = load.start(options, run)
            wait_for(run, recording)
            studio = display.studio(options, run, told)
            load.sleep_until(WARM_UP_S)
            used = [cpu_seconds(process) for process in (studio, recording)]
            since = time.monotonic()
            load.sleep_until(load.seconds - 1)
            live_cpu, recorder_cpu = (
                100 * (cpu_seconds(process) - before) / (time.monotonic() - since)
                for process, before in zip((studio, recording), used))
            if recording.wait(60) != 0:
                sys.exit("bench: the run of generators failed")
            time.sleep(LAST_LOOK_S)
            before = cpu_seconds(studio)
            time.sleep(IDLE_S)
            idle_cpu = 100 * (cpu_seconds(studio) - before) / IDLE_S
            figures = json.loads(told.read_text())
        finally:
            end(studio, recording)
            display.close()
        with sqlite3.connect(run) as file:
            spans, = file.execute("SELECT count(*) FROM spans").fetchone()
            dropped, = file.execute("SELECT sum(events_dropped) FROM ranks").fetchone()
    if figures["state"] != "finished" or figures["spans"] != spans:
        sys.exit(f"bench: the studio shows {figures['spans']} spans of a run that is "
                 f"{figures['state']}, and the file has {spans}")
    return figures | {"dropped": dropped, "live_cpu_percent": live_cpu,
                      "idle_cpu_percent": idle_cpu, "recorder_cpu_percent": recorder_cpu,
                      "events_per_s": spans / load.seconds}


def studio_live(options):
    """100,000 events/s of 8 processes that only emit, recorded and followed on the studio's
    timeline: events dropped, event to pixel, how long input waits for the GUI thread, the studio's
    processor time meanwhile and once the run is over."""
    figures = followed(options, Load(LIVE_S, LIVE_START_S))
    return report("studio_live", figures, [
        ("spans recorded a second", figures["events_per_s"], "", 0.95 * EVENTS_PER_S, True),
        ("events dropped", figures["dropped"], "", 0),
        ("event to pixel, p95", figures["event_to_pixel_ms"]["p95"], "ms", LATENCY_P95_MS),
        ("moments with a wait over 16 ms", figures["gui_wait_ms"]["over_16_percent"], "%",
         OVER_16_MS_PERCENT),
        ("studio, of one core", figures["live_cpu_percent"], "%", LIVE_CPU_PERCENT),
        ("studio after the run, of one core", figures["idle_cpu_percent"], "%", IDLE_CPU_PERCENT)])


def studio_many(options):
    """256 processes that only emit, 1,000 events a second each, recorded and followed on the
    studio's timeline: events dropped, and event to pixel."""
    total = MANY * MANY_EVENTS_PER_S
    figures = followed(options, of_many(LIVE_S, MANY_START_S))
    return report("studio_many", figures, [
        ("spans recorded a second", figures["events_per_s"], "", 0.95 * total, True),
        ("events dropped", figures["dropped"], "", 0),
        ("event to pixel, p95", figures["event_to_pixel_ms"]["p95"], "ms", MANY_LATENCY_P95_MS)])


def step_ms(file, begin_s, end_s):
    """The median step of the slowest rank among those that lie within a stretch of time."""
    rows = file.execute(
        "SELECT max(duration_ns) / 1e6, max(start_ns + duration_ns) FROM spans_ns "
        "WHERE kind = 'step' GROUP BY step HAVING min(start_ns) > ? "
        "AND max(start_ns + duration_ns) < ?", (begin_s * 1e9, end_s * 1e9)).fetchall()
    if len(rows) < 10:
        sys.exit(f"bench: the demo took {len(rows)} steps in {end_s - begin_s:.0f} s; the machine "
                 "is too busy for this benchmark")
    return statistics.median(ms for ms, _ in rows)


def studio_step(options):
    """A step of the demo while the studio follows it on its timeline, against one with the studio
    closed, in turns within one run."""
    demo = (ROOT / "experiments/first_steps/demo.toml").read_text()
    stretches = {"open": [], "closed": []}
    cpu = []
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        experiment, run, told = (folder / part for part in ("demo.toml", "demo.lockstep", "told"))
        experiment.write_text("\n".join(
            "steps = 1000000" if line.startswith("epochs = ") else line
            for line in demo.splitlines()))
        display = Display(folder)
        recording = studio = None
        try:
            recording = subprocess.Popen(
                [options.bin / "lockstep", "run", experiment, "--out", run, "--quiet"], cwd=ROOT)
            wait_for(run, recording)
            for number in range(max(4, (options.rounds or 30) // 3)):
                for word in (("open", "closed") if number % 2 == 0 else ("closed", "open")):
                    if word == "open":
                        told.unlink(missing_ok=True)
                        studio = display.studio(options, run, told)
                        wait_for(told, studio)  # written first when the run so far is loaded
                    time.sleep(SETTLE_S)
                    used = cpu_seconds(studio) if word == "open" else 0
                    begin_s = time.monotonic()
                    time.sleep(WINDOW_S)
                    stretches[word].append((begin_s, time.monotonic()))
                    if word == "open":
                        cpu.append(100 * (cpu_seconds(studio) - used) / WINDOW_S)
                    if recording.poll() is not None:
                        sys.exit("bench: the demo ended early")
                    end(studio)
        finally:
            end(studio)
            if recording is not None:
                recording.send_signal(signal.SIGINT)
                recording.wait(60)
            display.close()
        with sqlite3.connect(run) as file:
            opened, closed = ([step_ms(file, *stretch) for stretch in stretches[word]]
                              for word in ("open", "closed"))
    ratios = [one / other for one, other in zip(opened, closed)]
    ratio, (low, high) = statistics.median(ratios), interval(ratios)
    result = report("studio_step", {"open_ms": opened, "closed_ms": closed, "ratio": ratio,
                                    "interval": [low, high], "studio_cpu_percent": cpu},
                    [("step with the studio open, of closed", ratio, "", STEP_RATIO)])
    result["lines"].append(f"{statistics.median(opened):.2f} ms open, "
                           f"{statistics.median(closed):.2f} ms closed; 95 % interval "
                           f"[{low:.3f}, {high:.3f}], {len(ratios)} rounds; studio "
                           f"{statistics.median(cpu):.0f} % of one core")
    return result
