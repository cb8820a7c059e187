"""Checks what the built programs and libraries link.

- The command line and the studio load neither libtorch nor OpenCV nor Qt 5 nor an MPI.
- Nothing we build refers to a symbol of c10d: neither undefined nor taken from a library.
- Every reference of ours to Gloo is bound to libgloo, and none to the other Gloo that the libtorch
  of PyTorch's wheel exports.
- What a job of PyTorch loads of ours needs no C library newer than 2.28: clusters are old.

Usage: linkage.py BUILD_FOLDER
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile

FREE_OF_TORCH = ("lockstep", "lockstep-studio", "lockstep-hookscan")
HEAVY = re.compile(r"lib(torch|c10|opencv|Qt5|mpi)")
BINDING = re.compile(r"binding file (\S+) \[\d+\] to (\S+) \[\d+\]: normal symbol `([^']*)'")
OLDEST_GLIBC = (2, 28)
GLOO = re.compile(r"^_Z\w*4gloo\d")


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def gloo_bindings(program):
    """Which library gave each symbol of Gloo that the program refers to, as its loader says."""
    with tempfile.TemporaryDirectory() as folder:
        log = pathlib.Path(folder, "bindings")
        subprocess.run([program, "--help"], check=True, capture_output=True, timeout=100,
                       env={**os.environ, "LD_BIND_NOW": "1", "LD_DEBUG": "bindings",
                            "LD_DEBUG_OUTPUT": str(log)})
        text = "".join(part.read_text(errors="replace") for part in log.parent.iterdir())
    return [(symbol, pathlib.Path(library).name) for user, library, symbol in BINDING.findall(text)
            if pathlib.Path(user).name == program.name and GLOO.search(symbol)]


def check_gloo(build):
    rank = build / "bin" / "lockstep-rank"
    if not rank.exists() or "libgloo" not in output("readelf", "-d", rank):
        return []
    bound = gloo_bindings(rank)
    if not bound:
        return [f"{rank.name} links libgloo and refers to nothing of it, or its loader told nothing"]
    return [f"{rank.name} takes {symbol} from {library}"
            for symbol, library in bound if not library.startswith("libgloo.so")]


def check_observer(build):
    faults = []
    for native in sorted((build / "python" / "lockstep").glob("*.so")):
        needed = re.findall(r"GLIBC_(\d+)\.(\d+)",
                            output("readelf", "--version-info", "--wide", native))
        newest = max((int(major), int(minor)) for major, minor in needed)
        if newest > OLDEST_GLIBC:
            faults.append(f"{native.name} needs glibc {newest[0]}.{newest[1]}")
    return faults


def main(build):
    faults, free, scanned = [], 0, 0
    for program in sorted((build / "bin").iterdir()):
        if program.name in FREE_OF_TORCH:
            free += 1
            heavy = sorted({line.split()[0] for line in output("ldd", program).splitlines()
                            if HEAVY.search(line)})
            if heavy:
                faults.append(f"{program.name} links {', '.join(heavy)}")
        if program.is_file() and program.read_bytes()[:4] == b"\x7fELF":
            scanned += 1
            names = output("nm", "-DC", "--undefined-only", program)
            faults += [f"{program.name} refers to {line.strip()}"
                       for line in names.splitlines() if "c10d::" in line]
    for archive in sorted(build.rglob("liblockstep*.a")):
        scanned += 1
        names = output("nm", "-C", "--undefined-only", archive)
        faults += [f"{archive.name} refers to {line.strip()}"
                   for line in names.splitlines() if "c10d::" in line]
    faults += check_gloo(build) + check_observer(build)
    if free == 0:
        faults.append(f"{build}/bin holds none of {', '.join(FREE_OF_TORCH)}: build them first")
    print("\n".join(faults) or f"{scanned} binaries and archives, {free} of them free of libtorch")
    return 1 if faults else 0


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sys.exit(main(pathlib.Path(sys.argv[1])))
