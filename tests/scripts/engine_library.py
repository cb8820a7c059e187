"""The program of the README, built outside of the tree against the installed engine, trains.

Usage: engine_library.py SOURCE_FOLDER BUILD_FOLDER
"""

import os
import pathlib
import re
import socket
import subprocess
import sys
import tempfile

RANKS = 2


def call(*command, **options):
    ended = subprocess.run(command, capture_output=True, text=True, check=False, **options)
    assert ended.returncode == 0, f"{command}: {ended.stdout}{ended.stderr}"
    return ended.stdout


def libtorch(build):
    """Where the build found a libtorch that is not the system's; empty otherwise."""
    cache = (pathlib.Path(build) / "CMakeCache.txt").read_text(encoding="utf-8")
    return next((line.split("=", 1)[1] for line in cache.splitlines()
                 if line.startswith("CMAKE_PREFIX_PATH:")), "")


def blocks(readme):
    """What stands in the README's section on the engine: its files by their kind."""
    section = readme.split("## The engine as a library")[1].split("\n## ")[0]
    return dict(re.findall(r"```(cmake|cpp)\n(.*?)```", section, re.DOTALL))


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def main():
    source, build = (pathlib.Path(folder).resolve() for folder in sys.argv[1:3])
    program = blocks((source / "README.md").read_text(encoding="utf-8"))
    assert len(program["cpp"].splitlines()) <= 45, "a quickstart is short"
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        call("cmake", "--install", build, "--prefix", folder / "first", "--component", "engine")
        prefix = folder / "moved"  # nothing may remember where it was installed to
        (folder / "first").rename(prefix)
        for path in prefix.rglob("*.cmake"):
            text = path.read_text(encoding="utf-8")
            for known in (str(source), str(build)):
                assert known not in text, f"{path} names {known}"

        project = folder / "quickstart"
        project.mkdir()
        (project / "CMakeLists.txt").write_text(program["cmake"], encoding="utf-8")
        (project / "quickstart.cpp").write_text(program["cpp"], encoding="utf-8")
        call("cmake", "-G", "Ninja", "-S", project, "-B", project / "build",
             f"-DCMAKE_PREFIX_PATH={prefix};{libtorch(build)}", "-DCMAKE_CXX_FLAGS=-Wall -Wextra -Werror")
        call("cmake", "--build", project / "build")

        environment = dict(os.environ, WORLD_SIZE=str(RANKS), MASTER_ADDR="127.0.0.1",
                           MASTER_PORT=str(free_port()), OMP_NUM_THREADS="1")
        ranks = [subprocess.Popen([project / "build/quickstart"], text=True,
                                  env=dict(environment, RANK=str(rank)),
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE)
                 for rank in range(RANKS)]
        said = []
        for rank in ranks:
            output, errors = rank.communicate(timeout=60)
            assert rank.returncode == 0, f"{output}{errors}"
            said.append(output)
        weights = {re.search(r"weight (\S+)", text).group(1) for text in said}
        assert len(weights) == 1, f"replicas differ: {said}"

        # A component that is not there is named, with what installs it.
        asked = project / "CMakeLists.txt"
        asked.write_text(program["cmake"].replace("COMPONENTS engine", "COMPONENTS hook"),
                         encoding="utf-8")
        refused = subprocess.run(["cmake", "-G", "Ninja", "-S", project, "-B", folder / "other",
                                  f"-DCMAKE_PREFIX_PATH={prefix}"],
                                 capture_output=True, text=True, check=False)
        assert refused.returncode != 0
        reason = " ".join(refused.stderr.split())
        assert 'no component "hook"' in reason and "--component sdk" in reason, refused.stderr


main()
