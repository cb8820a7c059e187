"""Damaged experiment files are refused by file, line and column, or are still valid."""

import glob
import os
import re

from campaign import Campaign, expect

VALUES = ["two", '"two"', "-1", "0", "65", "1e400", "nan", "inf", "-0.0", "true", "[]", "{}",
          "[[1], 2]", "1979-05-27", '"\\u0000"', '"""', "9223372036854775808", "0x7fffffff", '""',
          "{ a = 1, a = 2 }", "'\\'", "[784, 0, 10]", "[1, 1.5]", "1_000", '"' + "x" * 5000 + '"']


def mutate(rng, text, others):
    lines = text.split(b"\n")
    kind = rng.choice(["bytes", "value", "value", "value", "line", "line", "cut", "splice", "nest",
                       "key"])
    at = rng.randrange(len(lines))
    if kind == "bytes":
        data = bytearray(text)
        for _ in range(rng.randint(1, 8)):
            data[rng.randrange(len(data))] = rng.randrange(256)
        return bytes(data)
    if kind == "value":
        settings = [i for i, line in enumerate(lines) if b"=" in line]
        at = rng.choice(settings) if settings else at
        lines[at] = lines[at].split(b"=")[0] + b"= " + rng.choice(VALUES).encode()
    elif kind == "key":
        key, equals, value = lines[at].partition(b"=")
        letters = bytearray(key or b"x")
        letters[rng.randrange(len(letters))] = rng.choice(b"abcxyz_.[]\" =#\t")
        lines[at] = bytes(letters) + equals + value
    elif kind == "line":
        other = rng.randrange(len(lines))
        lines[at:at + 1] = rng.choice([[], [lines[at]] * 2, [lines[other]], [b"[", lines[at]]])
    elif kind == "cut":
        return text[:rng.randrange(len(text))]
    elif kind == "splice":
        lines = lines[:at] + rng.choice(others).split(b"\n")[rng.randrange(10):]
    else:
        lines.insert(at, b"deep = " + rng.choice([b"[", b"{a="]) * rng.choice([10, 300, 20_000]))
    return b"\n".join(lines)


class ExperimentFiles(Campaign):
    name = "experiment-files"
    shows = "random damage to the shipped experiments: lockstep validate names the place"
    cases = 2000

    def __init__(self, bin_folder, seed):
        super().__init__(bin_folder, seed)
        paths = sorted(glob.glob(os.path.join(self.root, "experiments/**/*.toml"), recursive=True))
        self.texts = []
        for path in paths:
            with open(path, "rb") as file:
                self.texts.append(file.read())

    def run_case(self, rng, folder):
        text = rng.choice(self.texts)
        for _ in range(rng.randint(1, 4)):
            text = mutate(rng, text, self.texts) or b"\n"
        with open(os.path.join(folder, "x.toml"), "wb") as file:
            file.write(text)
        ended = self.lockstep("validate", "x.toml", folder=folder, limit=10)
        if ended.code == 0:
            said = re.fullmatch(r"x\.toml: ok(\n|, \d+ runs\n(  .+\n)+)", ended.out)
            expect(said and not ended.err, f"accepted, but: {ended}")
            return
        expect(ended.code == 2 and not ended.out and ended.err.endswith("\n"), f"{ended}")
        for line in ended.err[:-1].split("\n"):
            # What is missing has no place in the file.
            expect(re.match(r"lockstep: x\.toml:\d+:\d+: .|lockstep: x\.toml: [a-z_.]+: missing: ",
                            line), f"no place in {line!r}")
