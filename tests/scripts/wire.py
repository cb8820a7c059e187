"""The bytes that a run counts on the wire are those that pass its network interface.

Usage: wire.py BUILD_FOLDER

Trains 200 steps in a network namespace of its own, where the loopback interface carries nothing
else, and compares its counter with the sum over the ranks of what the run file says they sent.
The interface counts more: headers of TCP, IP and Ethernet, acknowledgements, the store's messages
and the rendezvous. Buckets are large enough that this stays within 3 %, as in real training.
Ends with 77, which ctest takes for skipped, where network namespaces are not permitted.
"""

import json
import os
import subprocess
import sys
import tempfile

SKIPPED = 77
TOLERANCE = 0.03
STEPS = 200
EXPERIMENT = """name = "wire"
[model]
kind = "mlp"
layers = [784, 512, 512, 10]
[data]
kind = "synthetic"
samples = 4096
batch_size = 8
[processes]
world_size = {world}
backend = "gloo"
[train]
steps = {steps}
evaluate_at_end = false
"""
NAMESPACE = ["unshare", "--net"] if os.geteuid() == 0 else ["unshare", "--map-root-user", "--net"]


def sent_over_loopback():
    with open("/proc/net/dev", encoding="ascii") as table:
        fields = next(line for line in table if line.strip().startswith("lo:")).split()
    return int(fields[9])


def compare(lockstep, world, folder):
    experiment = os.path.join(folder, "wire.toml")
    with open(experiment, "w", encoding="ascii") as file:
        file.write(EXPERIMENT.format(world=world, steps=STEPS))
    run = os.path.join(folder, f"{world}.lockstep")
    before = sent_over_loopback()
    ended = subprocess.run([lockstep, "run", experiment, "--out", run, "--quiet"],
                           cwd=folder, capture_output=True, text=True)
    interface = sent_over_loopback() - before
    assert ended.returncode == 0, ended.stderr
    told = json.loads(subprocess.run([lockstep, "info", "--json", run], check=True,
                                     capture_output=True, text=True).stdout)
    counted = sum(rank["wire_bytes"] for rank in told["ranks"])
    rest = 1 - counted / interface
    print(f"{world} ranks, {told['steps']} steps: {counted:,} bytes counted, {interface:,} on the "
          f"interface, of which {100 * rest:.2f} % are headers and other traffic")
    assert told["steps"] == STEPS, told["steps"]
    assert told["events_dropped"] == 0, told["events_dropped"]
    assert 0 <= rest <= TOLERANCE, f"{100 * rest:.2f} % is not between 0 and {100 * TOLERANCE} %"


def inside(lockstep):
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    with tempfile.TemporaryDirectory() as folder:
        for world in (2, 4):
            compare(lockstep, world, folder)


def main():
    if sys.argv[1] == "--inside":
        return inside(sys.argv[2])
    tried = subprocess.run([*NAMESPACE, "ip", "link", "set", "lo", "up"], capture_output=True,
                           text=True)
    if tried.returncode != 0:
        print(f"skipped: no network namespace can be made here: {tried.stderr.strip()}")
        sys.exit(SKIPPED)
    lockstep = os.path.join(os.path.abspath(sys.argv[1]), "bin/lockstep")
    sys.exit(subprocess.run([*NAMESPACE, sys.executable, "-B", os.path.abspath(__file__),
                             "--inside", lockstep]).returncode)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    main()
