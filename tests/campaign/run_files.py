"""Damaged run files are read, or refused in one line that names them."""

import json
import os
import shutil

from campaign import Campaign, expect

PAGE = 4096


def damage(rng, data):
    kind = rng.choice(["bits", "bits", "header", "range", "zeros", "cut", "swap", "grow"])
    at = rng.randrange(len(data))
    if kind == "bits":
        for _ in range(rng.randint(1, 64)):
            data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    elif kind == "header":
        # The header of the file or of one of its pages: sizes, counts and pointers.
        start = rng.choice([0, PAGE * rng.randrange(len(data) // PAGE)])
        for _ in range(rng.randint(1, 4)):
            data[min(start + rng.randrange(100), len(data) - 1)] = rng.choice([0, 1, 127, 128, 255])
    elif kind == "range":
        size = rng.choice([8, 100, PAGE])
        data[at:at + size] = rng.randbytes(len(data[at:at + size]))
    elif kind == "zeros":
        size = rng.choice([8, 100, PAGE])
        data[at:at + size] = bytes(len(data[at:at + size]))
    elif kind == "cut":
        del data[at:]
    elif kind == "swap":
        first, second = (PAGE * rng.randrange(len(data) // PAGE) for _ in range(2))
        data[first:first + PAGE], data[second:second + PAGE] = (data[second:second + PAGE],
                                                                data[first:first + PAGE])
    else:
        data += rng.randbytes(rng.randint(1, 2 * PAGE))


class RunFiles(Campaign):
    name = "run-files"
    shows = "random damage to a run file: lockstep info and copy end with one line"
    cases = 1000

    def run_case(self, rng, folder):
        # The golden file and no run of today's: a case must be the same again.
        path = os.path.join(folder, "x.lockstep")
        shutil.copy(os.path.join(self.root, "tests/golden/run-1.0.lockstep"), path)
        with open(path, "rb") as file:
            data = bytearray(file.read())
        for _ in range(rng.randint(1, 3)):
            if len(data) >= PAGE:
                damage(rng, data)
        with open(path, "wb") as file:
            file.write(data)
        told = self.check("info", "x.lockstep", folder=folder)
        structured = self.check("info", "x.lockstep", "--json", folder=folder)
        expect(told.code == structured.code, f"info: {told}; info --json: {structured}")
        if structured.code == 0:
            try:
                json.loads(structured.out)
            except ValueError as error:
                expect(False, f"info --json: {error}: {structured}")
        copied = self.check("copy", "x.lockstep", "copy.lockstep", folder=folder)
        left = {"x.lockstep"} | ({"copy.lockstep"} if copied.code == 0 else set())
        expect(set(os.listdir(folder)) == left, f"left behind: {os.listdir(folder)}")

    def check(self, *arguments, folder):
        ended = self.lockstep(*arguments, folder=folder, limit=20)
        if ended.code == 0:
            expect(not ended.err, f"{arguments[0]}: {ended}")
        else:
            expect(ended.code in (2, 3) and ended.err.count("\n") == 1
                   and ended.err.startswith("lockstep: ") and "x.lockstep" in ended.err,
                   f"{arguments[0]}: {ended}")
        return ended
