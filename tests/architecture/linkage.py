"""Checks what the built programs and libraries link.

- The command line and the studio load neither libtorch nor OpenCV nor Qt 5 nor an MPI.
- Nothing we build refers to a symbol of c10d: neither undefined nor taken from a library.

Usage: linkage.py BUILD_FOLDER
"""

import pathlib
import re
import subprocess
import sys

FREE_OF_TORCH = ("lockstep", "lockstep-studio", "lockstep-hookscan")
HEAVY = re.compile(r"lib(torch|c10|opencv|Qt5|mpi)")


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


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
    if free == 0:
        faults.append(f"{build}/bin holds none of {', '.join(FREE_OF_TORCH)}: build them first")
    print("\n".join(faults) or f"{scanned} binaries and archives, {free} of them free of libtorch")
    return 1 if faults else 0


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sys.exit(main(pathlib.Path(sys.argv[1])))
