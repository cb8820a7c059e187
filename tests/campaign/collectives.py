"""Random sequences of collectives over Gloo against a serial oracle (Collectives.cpp)."""

import subprocess

from campaign import Campaign, Failure


class Collectives(Campaign):
    name = "collectives"
    shows = "random operations, dtypes, sizes, roots and ranks over Gloo against a serial oracle"
    cases = 1500

    def run(self, chosen, keep):
        # One process for all, since loading libtorch takes longer than a hundred cases.
        command = [self.program("campaign_collectives"), str(self.seed), *map(str, chosen)]
        limit = 60 + len(chosen)
        began = None
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                   text=True)
        try:
            out, _ = process.communicate(timeout=limit)
            ending = f"ended with {process.returncode}"
        except subprocess.TimeoutExpired:
            process.kill()
            out, _ = process.communicate()
            ending = f"did not end within {limit} s"
        said = []
        failed = 0
        for line in out.splitlines():
            word, _, rest = line.partition(" ")
            if word == "case":
                began = int(rest)
                said = []
            elif word == "failed":
                failed += 1
                yield Failure(began, rest)
            else:
                said.append(line)
        if process.returncode != 0 and not failed:
            last = chosen[0] if began is None else began
            yield Failure(last, f"{' '.join(command[:2])} {ending} in this case: "
                                + " ".join(said[-5:]))
