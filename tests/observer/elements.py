"""What the compiled module reads of tensors: sizes, what is not finite, fingerprints.

Usage: elements.py --package FOLDER
"""

import argparse
import array
import math
import pathlib
import struct
import sys


def check(holds, what):
    if not holds:
        sys.exit(f"elements: {what}")


def doubles(text):
    return [struct.unpack(">d", bytes.fromhex(text[at:at + 16]))[0]
            for at in range(0, len(text), 16)]


def check_tally(native, code):
    """Sizes are of what is finite; the first that is not is named by its place."""
    for count in (0, 1, 511, 512, 513, 3000):
        values = array.array(code, [math.sin(i) * (i % 7 - 3) for i in range(count)])
        for bad in ({}, {0: math.nan}, {512: math.inf, 700: math.nan}, {count - 1: -math.inf}):
            told = array.array(code, values)
            for at, value in bad.items():
                if 0 <= at < count:
                    told[at] = value
            finite = [abs(value) for value in told if math.isfinite(value)]
            squares, largest, nans, infinities, place = native.tally(
                told.buffer_info()[0], count, told.itemsize)
            case = f"{count} of {code}, {bad}"
            check(math.isclose(squares, math.fsum(v * v for v in finite), rel_tol=1e-9,
                               abs_tol=1e-12), f"{case}: squares {squares}")
            check(largest == max(finite, default=0), f"{case}: largest {largest}")
            check(nans == sum(map(math.isnan, told)), f"{case}: {nans} NaNs")
            check(infinities == sum(map(math.isinf, told)), f"{case}: {infinities} infinities")
            first = [at for at, value in enumerate(told) if not math.isfinite(value)]
            check(place == (first[0] if first else -1), f"{case}: the first at {place}")


def check_fingerprints(native):
    """A hash and a norm each, and a sketch of all that tells how far two of them are apart."""
    one = array.array("f", [math.sin(i) for i in range(3000)])
    other = array.array("f", one)
    other[1234] += 3
    wide = array.array("d", [0.5] * 300)

    def told(floats):
        places = [(a.buffer_info()[0], len(a) * a.itemsize, a.buffer_info()[0], len(a), a.itemsize)
                  for a in (floats, wide)]
        return native.fingerprints(places)

    (hashes, norms, sketch), (others, _, another) = told(one), told(other)
    check(told(one) == (hashes, norms, sketch), "the same bits, told otherwise")
    check(hashes[:16] != others[:16] and hashes[16:] == others[16:], f"{hashes}, {others}")
    wanted = [math.sqrt(sum(v * v for v in one)), math.sqrt(75)]
    check(all(math.isclose(a, b, rel_tol=1e-9) for a, b in zip(doubles(norms), wanted)),
          f"norms {doubles(norms)}")
    apart = math.dist(doubles(sketch), doubles(another))
    check(math.isclose(apart, 3, rel_tol=1e-6), f"3 apart, and the sketches are {apart}")


parser = argparse.ArgumentParser()
parser.add_argument("--package", type=pathlib.Path, required=True)
options = parser.parse_args()
sys.path.insert(0, str(options.package))
from lockstep import _native  # noqa: E402 - where the package is, is known now

check_tally(_native, "f")
check_tally(_native, "d")
check_fingerprints(_native)
