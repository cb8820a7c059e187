"""CMakePresets.json: each preset that finds what it is for can be configured.
Usage: presets.py SOURCE_FOLDER"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

SOURCE = pathlib.Path(sys.argv[1])
PRESETS = json.loads((SOURCE / "CMakePresets.json").read_text())["configurePresets"]


def is_here(preset):
    """Whether what it asks for in a place of its own, as another libtorch, is there."""
    prefix = preset.get("cacheVariables", {}).get("CMAKE_PREFIX_PATH", "/")
    return pathlib.Path(prefix.replace("$env{HOME}", os.environ.get("HOME", ""))).exists()


class Presets(unittest.TestCase):
    def test_can_be_configured(self):
        # The suite itself runs in a tree of the release preset.
        names = [preset["name"] for preset in PRESETS
                 if not preset.get("hidden") and preset["name"] != "release" and is_here(preset)]
        self.assertIn("asan", names)
        for name in names:
            with self.subTest(preset=name), tempfile.TemporaryDirectory() as folder:
                done = subprocess.run(["cmake", "--preset", name, "-B", folder], cwd=SOURCE,
                                      capture_output=True, text=True)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertTrue((pathlib.Path(folder) / "build.ninja").exists())


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
