"""A run of many ranks in the studio, in pictures and in words."""

import json
import os
import pathlib
import struct
import subprocess
import sys
import tempfile
import time

from studio import report

WORLD = 1024
STEPS = 200
PLANTED = {"--slow": "700:12", "--link": "511:8", "--periodic": "41:24:10", "--slow-host": "100:4"}
NAMED = ("rank 700 computes", "rank 511 transfers", "rank 41 computes", "host node100")
FIRST_LINES = 20

VIEWS = ("timeline", "ranks", "overlap", "buckets", "divergence", "hooks", "live", "whatif")
MOST_MS = 3000
MOST_MB = 600
FRAMES_PER_S = 30
PICTURE_HEIGHT = 4000


def measured(command, **options):
    """Runs a command: what it printed, how long it took in ms, and its memory at most in MB."""
    with tempfile.TemporaryFile() as output:
        begin = time.monotonic()
        process = subprocess.Popen(command, stdout=output, **options)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        took = 1000 * (time.monotonic() - begin)
        if process.returncode != 0:
            sys.exit(f"bench: {command[0]} ended with {process.returncode}")
        output.seek(0)
        return output.read().decode(), took, usage.ru_maxrss * 1024 / 1e6


def height_of(picture):
    return struct.unpack(">I", picture.read_bytes()[20:24])[0]


def pictures(options, run, folder):
    """Time, memory and height of the picture of each view."""
    drawn = {}
    for view in VIEWS:
        file = folder / f"{view}.png"
        _, took, most = measured([options.bin / "lockstep-studio", run, "--picture",
                                  f"{view}={file}"])
        drawn[view] = {"ms": took, "most_mb": most, "height": height_of(file)}
    return drawn


def studio_ranks(options):
    """1,024 ranks in 200 iterations, four things planted among them: opening the run as the studio
    does, the frames of every view at every zoom by the raster painter with the pointer moving, the
    picture of every view, and whether `lockstep info` names all that is planted in its first
    lines."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        run = folder / "ranks.lockstep"
        subprocess.run([options.bin / "make_run", run, "--world", str(WORLD), "--steps", str(STEPS),
                        *(text for plant in PLANTED.items() for text in plant)], check=True,
                       stdout=subprocess.DEVNULL)
        tries = [json.loads(measured([options.bin / "bench_ranks", run])[0])
                 for _ in range(options.rounds or 3)]
        drawn = pictures(options, run, folder)
        info, info_ms, info_mb = measured([options.bin / "lockstep", "info", run])
    first = info.splitlines()[:FIRST_LINES]
    # The best of some: what else the machine does only ever adds.
    least = {key: min(one[key] for one in tries)
             for key in ("open_ms", "open_mb", "analyse_ms", "analysed_mb", "most_mb")}
    frames = {view: max(one["views"][view]["frames_per_s"] for one in tries)
              for view in tries[0]["views"]}
    named = sum(any(words in line for line in first) for words in NAMED)
    rows = [("open", least["open_ms"], "ms", MOST_MS, False),
            ("open: memory", least["open_mb"], "MB", MOST_MB, False),
            ("analysed: memory", least["analysed_mb"], "MB", MOST_MB, False)]
    rows += [(f"{view}: frames a second, slowest zoom, p95", rate, "", FRAMES_PER_S, True)
             for view, rate in frames.items()]
    for view, of in drawn.items():
        rows += [(f"picture of {view}", of["ms"], "ms", MOST_MS, False),
                 (f"picture of {view}: memory", of["most_mb"], "MB", MOST_MB, False),
                 (f"picture of {view}: height", of["height"], "px", PICTURE_HEIGHT, False)]
    rows += [("info", info_ms, "ms", MOST_MS, False), ("info: memory", info_mb, "MB", MOST_MB, False),
             (f"planted that info names in {FIRST_LINES} lines", named, "", len(NAMED), True)]
    result = report("studio_ranks", {**least, "frames_per_s": frames, "pictures": drawn,
                                     "info_ms": info_ms, "info_mb": info_mb, "named": named,
                                     "tries": tries}, rows)
    result["lines"].append(f"with what all views show: {least['most_mb']:.0f} MB")
    return result


BENCHMARKS = {"studio_ranks": studio_ranks}
