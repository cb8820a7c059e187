"""app/set-up where everything is there already, as it is when tests run."""

import os
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = sys.argv[1]


class SetUp(unittest.TestCase):
    def test_installs_and_configures_nothing_when_nothing_is_missing(self):
        with tempfile.TemporaryDirectory() as root:
            for name in ("app", "build", "programs"):
                os.mkdir(os.path.join(root, name))
            shutil.copy(os.path.join(ROOT, "app/set-up"), os.path.join(root, "app/set-up"))
            for name, text in (("build/build.ninja", ""),
                               ("build/CMakeCache.txt", "LOCKSTEP_WITH_TESTS:BOOL=ON\n")):
                with open(os.path.join(root, name), "w", encoding="ascii") as file:
                    file.write(text)
            for name in ("apt-get", "sudo", "cmake"):
                path = os.path.join(root, "programs", name)
                with open(path, "w", encoding="ascii") as file:
                    file.write(f'#!/bin/sh\necho {name} "$@"\n')
                os.chmod(path, 0o755)
            path = os.path.join(root, "programs") + ":" + os.environ["PATH"]
            ended = subprocess.run([os.path.join(root, "app/set-up"), "--with-tests"],
                                   env=dict(os.environ, PATH=path), capture_output=True,
                                   text=True, check=False)
            # A name in its list that is no package of its own would be missing for ever.
            self.assertEqual((ended.returncode, ended.stdout), (0, "cmake --build build\n"), ended)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
