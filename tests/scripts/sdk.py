"""A hook from the template, built outside of the tree against the installed SDK, runs.

Usage: sdk.py BUILD_FOLDER [--run]   (--run: there is an engine to run it with)
"""

import json
import os
import re
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


def verify_readme(build, prefix, folder, runs):
    """Builds the whole hooks that the README shows, and holds them to what they say."""
    with open(os.path.join(os.path.dirname(__file__), "../../plugins/abi/README.md"),
              encoding="utf-8") as file:
        blocks = re.findall(r"```cpp\n(.*?)```", file.read(), re.DOTALL)
    hooks = [block for block in blocks if "LOCKSTEP_HOOKS(" in block]
    assert len(hooks) == 2, f"{len(hooks)} whole hooks in the README"
    source = os.path.join(folder, "readme")
    os.mkdir(source)
    names = []
    with open(f"{source}/CMakeLists.txt", "w", encoding="utf-8") as project:
        project.write("cmake_minimum_required(VERSION 3.25)\nproject(readme CXX)\n"
                      "find_package(Lockstep REQUIRED)\n")
        for hook in hooks:
            name = re.search(r'Description\("(\w+)"', hook).group(1)
            names.append(name)
            project.write(f"lockstep_add_hook({name} SOURCES {name}.cpp)\n")
            with open(f"{source}/{name}.cpp", "w", encoding="utf-8") as file:
                file.write(hook)
    call("cmake", "-G", "Ninja", "-S", source, "-B", f"{source}/build",
         f"-DCMAKE_PREFIX_PATH={prefix}", "-DCMAKE_CXX_FLAGS=-Wall -Wextra -Wpedantic -Werror")
    call("cmake", "--build", f"{source}/build")
    for name in names if runs else []:
        call(os.path.join(build, "bin/lockstep"), "hooks", f"{source}/build/{name}.so", "--verify")


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

        verify_readme(build, prefix, folder, "--run" in sys.argv)

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
