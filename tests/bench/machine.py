"""Where the figures were taken, and with which versions."""

import os
import pathlib
import platform
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PYTHON = "/usr/bin/python3"
UNKNOWN = "unknown"


def output(*command):
    try:
        ended = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return ended.stdout.strip() if ended.returncode == 0 else ""


def package(name):
    return output("dpkg-query", "-W", "-f", "${Version}", name) or UNKNOWN


def build_type(folder):
    """How the programs were built: build/bin stands beside build/CMakeCache.txt."""
    try:
        cache = (folder.parent / "CMakeCache.txt").read_text()
    except OSError:
        return UNKNOWN
    found = re.search(r"^CMAKE_BUILD_TYPE:\w+=(\w+)", cache, re.MULTILINE)
    return found.group(1) if found else UNKNOWN


def machine(folder):
    """What the programs in `folder` run on and beside. "load" is the mean number of processes that
    wanted a processor in the minute before: far below one on a quiet machine."""
    with open("/proc/cpuinfo") as cpuinfo:
        model = next((line.split(":")[1].strip() for line in cpuinfo
                      if line.startswith("model name")), platform.machine())
    with open("/proc/meminfo") as meminfo:
        memory_gb = int(meminfo.readline().split()[1]) / 2**20
    mpi = re.search(r"\d[\w.]*", output("mpirun", "--version"))
    return {"processor": model, "cores": os.cpu_count(), "memory_gb": round(memory_gb, 1),
            "kernel": platform.release(), "load": round(os.getloadavg()[0], 2),
            "build": build_type(folder),
            "commit": output("git", "-C", str(ROOT), "describe", "--always", "--dirty") or UNKNOWN,
            "libtorch": package("libtorch-dev"), "gloo": package("libgloo-dev"),
            "pytorch": output(PYTHON, "-c", "import torch; print(torch.__version__)") or UNKNOWN,
            "openmpi": mpi.group(0) if mpi else "not installed"}
