"""A scratch tree with this project's scripts, with programs in place of those they call, and with
a build of ninja's whose steps are shell commands."""

import fcntl
import os
import pty
import shutil
import struct
import subprocess
import tempfile
import termios

# What `cmake --build FOLDER [--target TARGET...] [-- ARGUMENTS]` does with Ninja.
CMAKE = """echo "cmake $*" >>"$TREE/called"
[ "$1" = --build ] || exec "$TREE/programs/configure" "$@"
cd "$2" && shift 2
for word; do
  shift
  case $word in --target | --) ;; *) set -- "$@" "$word" ;; esac
done
exec ninja -j 1 "$@"
"""

RULES = """rule step
  command = $run
  description = $says
rule again
  command = $run
  description = Re-running CMake...
  generator = 1
"""


class Tree:
    """The folder: `app/` and `tests/run` as they are in `root`, `programs/` first on PATH."""

    def __init__(self, root, *scripts):
        self._folder = tempfile.TemporaryDirectory()
        self.path = os.path.realpath(self._folder.name)
        for script in scripts:
            os.makedirs(os.path.dirname(self.at(script)), exist_ok=True)
            shutil.copy(os.path.join(root, script), self.at(script))
        os.makedirs(self.at("programs"))
        self.environment = dict(os.environ, TREE=self.path, TMPDIR=self.path,
                                PATH=self.at("programs") + ":" + os.environ["PATH"])
        for name in ("DISPLAY", "WAYLAND_DISPLAY", "NINJA_STATUS"):
            self.environment.pop(name, None)

    def close(self):
        self._folder.cleanup()

    def at(self, name):
        return os.path.join(self.path, name)

    def write(self, name, text):
        os.makedirs(os.path.dirname(self.at(name)), exist_ok=True)
        with open(self.at(name), "w", encoding="utf-8") as file:
            file.write(text)
        return self.at(name)

    def read(self, name):
        with open(self.at(name), encoding="utf-8") as file:
            return file.read()

    def program(self, name, text):
        os.chmod(self.write(name, "#!/bin/sh\n" + text + "\n"), 0o755)

    def fifo(self, name):
        """A pipe with a name: a shell that reads from it waits until something is written."""
        os.mkfifo(self.at(name))

    def build(self, *steps, more=""):
        """A configured build folder; each step is (output, description, shell command)."""
        self.program("programs/cmake", CMAKE)
        self.write("build/CMakeCache.txt", "LOCKSTEP_WITH_TESTS:BOOL=ON\n")
        text = RULES + "build build.ninja: again\n  run = true\n"
        for output, says, run in steps:
            run = f"cd '{self.path}' && {run} && mkdir -p $$(dirname build/{output}) && " \
                  f"touch build/{output}"
            text += f"build {output}: step\n  run = {run}\n  says = {says}\n"
        outputs = " ".join(step[0] for step in steps)
        self.write("build/build.ninja", text + more + f"build all: phony {outputs}\ndefault all\n")

    def run(self, *command, **more):
        """Runs a script of the tree without a terminal."""
        return subprocess.run([self.at(command[0]), *command[1:]], cwd=self.path,
                              env={**self.environment, **more}, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              timeout=60, check=False)


class Terminal:
    """A script of a tree that runs on a terminal of its own, as wide as told."""

    def __init__(self, tree, *command, columns=80, **more):
        self._master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))

        def take_terminal():
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)

        self._process = subprocess.Popen(
            [tree.at(command[0]), *command[1:]], cwd=tree.path,
            env={**tree.environment, "TERM": "xterm", **more}, stdin=slave, stdout=slave,
            stderr=slave, start_new_session=True, preexec_fn=take_terminal)
        os.close(slave)
        self.text = ""

    def type(self, keys):
        os.write(self._master, keys)

    def read_until(self, part):
        """Reads until the terminal has shown `part`."""
        while part not in self.text:
            if not self._read():
                raise AssertionError(f"{part!r} did not come: {self.text!r}")

    def wait(self):
        """Reads to the end and returns the exit code."""
        while self._read():
            pass
        os.close(self._master)
        return self._process.wait(timeout=60)

    def _read(self):
        try:
            part = os.read(self._master, 4096)
        except OSError:  # nobody has the terminal open any more
            return False
        self.text += part.decode()
        return bool(part)

    def lines(self):
        """The lines as they stand at last, after what was written over."""
        shown = []
        for line in self.text.replace("\r\n", "\n").split("\n"):
            last = ""
            for part in line.split("\r"):
                # "\x1b[K" clears what stands behind it.
                last = part.replace("\x1b[K", "") if "\x1b[K" in part else part + last[len(part):]
            shown.append(last)
        return shown

    def states(self):
        """All that the line of progress showed, one after the other."""
        return [part.split("\x1b[K")[0] for part in self.text.split("\r") if "\x1b[K" in part]
