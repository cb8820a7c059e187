"""What app/run builds is all that runs: each program and each module that an installation would have,
those that nothing links included.

Usage: everything.py SOURCE_FOLDER BUILD_FOLDER
"""

import pathlib
import re
import subprocess
import sys
import unittest

SOURCE = pathlib.Path(sys.argv[1]).resolve()
BUILD = pathlib.Path(sys.argv[2]).resolve()


def sources(targets):
    """What these are built from, as ninja knows it."""
    return set(subprocess.run(["ninja", "-C", BUILD, "-t", "inputs", *targets], check=True, text=True,
                              stdout=subprocess.PIPE).stdout.splitlines())


def installed_by(script):
    """The programs and modules of an install script of CMake's and of those that it includes: below
    the build's folder may lie others, of other presets."""
    text = script.read_text()
    found = [str(pathlib.Path(file).relative_to(BUILD)) for file in re.findall(
        r'TYPE (?:EXECUTABLE|MODULE) FILES "([^"]*)"', text)]
    for included in re.findall(r'include\("([^"]*/cmake_install\.cmake)"\)', text):
        found += installed_by(pathlib.Path(included))
    return found


class Everything(unittest.TestCase):
    def test_is_each_program_and_module_that_is_installed(self):
        targets = re.search(r"^everything=\((.*)\)$", (SOURCE / "app/run").read_text(), re.M)[1]
        installed = installed_by(BUILD / "cmake_install.cmake")
        self.assertIn("bin/lockstep", installed)
        self.assertEqual(sources(installed) - sources(targets.split()), set())


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
