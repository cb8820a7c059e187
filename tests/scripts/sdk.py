"""A hook from the template, built outside of the tree against the installed SDK, runs.

Usage: sdk.py BUILD_FOLDER [--run]   (--run: there is an engine to run it with)
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile

EXPERIMENT = """name = "mine"
[model]
kind = "mlp"
layers = [784, 32, 10]
[data]
kind = "synthetic"
samples = 512
[processes]
world_size = 2
[hook]
name = "my_hook"
limit = 0.001
[train]
steps = 4
"""


def call(*command, **options):
    ended = subprocess.run(command, capture_output=True, text=True, **options)
    assert ended.returncode == 0, f"{' '.join(command)}: {ended.stdout}{ended.stderr}"
    return ended.stdout


def main():
    build = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        prefix = os.path.join(folder, "prefix")
        call("cmake", "--install", build, "--prefix", prefix, "--component", "sdk")
        source = os.path.join(folder, "mine")
        shutil.copytree(os.path.join(prefix, "share/lockstep/hook_template"), source)
        call("cmake", "-G", "Ninja", "-S", source, "-B", f"{source}/build",
             f"-DCMAKE_PREFIX_PATH={prefix}", "-DCMAKE_CXX_FLAGS=-Wall -Wextra -Wpedantic -Werror")
        call("cmake", "--build", f"{source}/build")

        # Beside an experiment, it is found by its name.
        os.mkdir(f"{folder}/hooks")
        shutil.copy(f"{source}/build/my_hook.so", f"{folder}/hooks")
        experiment = os.path.join(folder, "mine.toml")
        with open(experiment, "w", encoding="utf-8") as file:
            file.write(EXPERIMENT)
        lockstep = os.path.join(build, "bin/lockstep")
        listed = call(lockstep, "hooks", "my_hook", "--for", experiment)
        assert "limit = 1   largest magnitude of a gradient" in listed, listed
        call(lockstep, "validate", experiment)
        if "--run" in sys.argv:
            run = json.loads(call(lockstep, "run", experiment, "--json", "--out", "mine.lockstep",
                                  cwd=folder))
            assert run["state"] == "finished", run
            assert run["ranks"][0]["ddp_logging"]["hook.clipped"] > 0, run


main()
