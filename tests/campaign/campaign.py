"""A campaign: one property, many random cases. A case is drawn from the seed, the campaign's
name and its own number alone, so that it can be run again without the others."""

import dataclasses
import os
import random
import shutil
import subprocess
import tempfile


@dataclasses.dataclass
class Failure:
    case: int
    text: str


class Wrong(Exception):
    """What a case did is not what the property says."""


def expect(holds, text):
    if not holds:
        raise Wrong(text)


@dataclasses.dataclass
class Ended:
    code: int
    out: str
    err: str

    def __str__(self):
        return f"exit code {self.code}, stdout {self.out[-400:]!r}, stderr {self.err[-800:]!r}"


class Campaign:
    name = ""
    shows = ""
    cases = 0
    by_name_only = False

    def __init__(self, bin_folder, seed):
        self.bin = bin_folder
        self.seed = seed
        self.root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

    def random_of(self, case):
        return random.Random(f"{self.seed}/{self.name}/{case}")

    def program(self, name):
        return os.path.join(self.bin, name)

    def lockstep(self, *arguments, folder, limit=30):
        """Runs `lockstep` to its end. A hang and an end by a signal are wrong for every case."""
        try:
            ended = subprocess.run([self.program("lockstep"), *arguments], cwd=folder,
                                   capture_output=True, timeout=limit, check=False)
        except subprocess.TimeoutExpired:
            raise Wrong(f"lockstep {' '.join(arguments)} did not end within {limit} s") from None
        result = Ended(ended.returncode, ended.stdout.decode(errors="replace"),
                       ended.stderr.decode(errors="replace"))
        expect(result.code >= 0, f"lockstep {' '.join(arguments)}: ended by a signal: {result}")
        return result

    def run(self, chosen, keep):
        """Runs the cases and yields a Failure for each that failed."""
        for case in chosen:
            folder = tempfile.mkdtemp(prefix=f"lockstep-{self.name}-")
            try:
                self.run_case(self.random_of(case), folder)
            except Wrong as wrong:
                yield Failure(case, str(wrong))
            finally:
                if keep:
                    print(f"files of case {case}: {folder}")
                else:
                    shutil.rmtree(folder, ignore_errors=True)

    def run_case(self, rng, folder):
        raise NotImplementedError
