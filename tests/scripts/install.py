"""What `cmake --install` puts into a folder runs from there, and from wherever it is moved to.

Usage: install.py SOURCE_FOLDER BUILD_FOLDER [--paths]

--paths: look for the folders of the source and the build in what was installed. Not under a
sanitizer, which keeps the names of source files on purpose.
"""

import configparser
import gzip
import json
import os
import pathlib
import re
import shutil
import stat
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

SOURCE = pathlib.Path(sys.argv[1]).resolve()
BUILD = pathlib.Path(sys.argv[2]).resolve()
PATHS = "--paths" in sys.argv


def call(*command, **options):
    ended = subprocess.run(command, capture_output=True, text=True, timeout=100, check=False,
                           **options)
    assert ended.returncode == 0, f"{command}: {ended.returncode} {ended.stdout}{ended.stderr}"
    return ended.stdout


class Install(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        scratch = tempfile.TemporaryDirectory()
        cls.addClassCleanup(scratch.cleanup)
        cls.scratch = pathlib.Path(scratch.name)
        first = cls.scratch / "first"
        call("cmake", "--install", BUILD, "--prefix", first, "--strip")
        # Nothing that runs may remember where it was installed to.
        cls.prefix = cls.scratch / "moved/here"
        cls.prefix.parent.mkdir()
        first.rename(cls.prefix)
        cls.home = cls.scratch / "home"
        cls.home.mkdir()

    def run_installed(self, program, *words):
        environment = {name: value for name, value in os.environ.items()
                       if not name.startswith(("LOCKSTEP_", "XDG_"))}
        environment.update(HOME=str(self.home))
        for name in ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM"):
            environment.pop(name, None)
        return call(str(self.prefix / "bin" / program), *map(str, words), env=environment,
                    cwd=self.home)

    def files(self, below=""):
        return [path for path in (self.prefix / below).rglob("*") if path.is_file()]

    def test_the_shipped_experiments_train_with_the_shipped_data(self):
        listed = self.run_installed("lockstep", "list", self.prefix / "share/lockstep/experiments")
        self.assertIn("first_steps/demo.toml", listed)
        shown = {(self.home / line.split("  ")[0]).resolve()
                 for line in self.run_installed("lockstep", "list").splitlines()}
        demo = self.prefix / "share/lockstep/experiments/first_steps/demo.toml"
        self.assertIn(demo.resolve(), shown)
        self.assertTrue(all(path.is_relative_to(self.prefix.resolve()) for path in shown), shown)

        ended = json.loads(self.run_installed("lockstep", "run", demo, "--set", "train.steps=3",
                                              "--out", "demo.lockstep", "--json"))
        self.assertEqual(ended["state"], "finished", ended)
        self.assertEqual(len(ended["ranks"]), 2)
        self.run_installed("lockstep-studio", "--picture", "timeline=demo.png", "demo.lockstep")
        self.assertEqual((self.home / "demo.png").read_bytes()[:8], b"\x89PNG\r\n\x1a\n")

    def test_the_shipped_hooks_are_found_and_described(self):
        hooks = self.run_installed("lockstep", "hooks")
        for library in (BUILD / "bin/hooks").glob("*.so"):
            self.assertRegex(hooks, rf"(?m)^ *{library.stem} ")
        self.assertIn(str(self.prefix / "lib/lockstep/hooks/topk.so"),
                      self.run_installed("lockstep", "hooks", "topk"))

    def test_no_program_remembers_the_source_or_the_build(self):
        for path in self.files("bin") + self.files("lib"):
            binary = path.read_bytes()
            if not binary.startswith(b"\x7fELF"):
                continue
            runpath = re.findall(r"\((?:RUNPATH|RPATH)\).*\[(.*)\]", call("readelf", "-d", path))
            for folder in (SOURCE, BUILD):
                self.assertFalse(any(str(folder) in entry for entry in runpath), (path, runpath))
                if PATHS:
                    found = re.findall(re.escape(str(folder).encode()) + rb"/[\w./-]+",
                                       binary)
                    self.assertEqual(found, [], path)

    def test_manual_pages_say_what_help_says(self):
        pages = {page.name.removesuffix(".1.gz"): gzip.decompress(page.read_bytes()).decode()
                 for page in self.files("share/man/man1")}
        for name in ("lockstep", "lockstep-run", "lockstep-hooks", "lockstep-rank",
                     "lockstep-studio"):
            self.assertIn(name, pages)
        for name, text in pages.items():
            self.assertRegex(text, rf'^\.TH "{name.upper()}" "1" '.replace("-", r"\\-"))
            for section in ("NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "SEE ALSO"):
                self.assertIn(f"\n.SH {section}\n", text, name)
        self.assertIn("ddp.bucket_cap_mb", pages["lockstep-run"])
        self.assertIn(r"\-\-picture", pages["lockstep-studio"])
        if shutil.which("groff"):
            for name, text in pages.items():
                ended = subprocess.run(["groff", "-man", "-ww", "-z", "-Tutf8", "-K", "utf8"],
                                       input=text, capture_output=True, text=True, check=False)
                self.assertEqual((ended.returncode, ended.stderr), (0, ""), name)

    def test_the_desktop_finds_the_studio(self):
        share = self.prefix / "share"
        entries = configparser.ConfigParser(interpolation=None)
        entries.optionxform = str
        entries.read(share / "applications/lockstep-studio.desktop")
        entry = entries["Desktop Entry"]
        self.assertTrue((self.prefix / "bin" / entry["Exec"].split()[0]).exists())
        icon = share / f"icons/hicolor/scalable/apps/{entry['Icon']}.svg"
        types = share / "mime/packages/lockstep.xml"
        for file in (icon, types):
            xml.etree.ElementTree.parse(file)
        self.assertIn(entry["MimeType"].rstrip(";"), types.read_text())
        if shutil.which("desktop-file-validate"):
            self.assertEqual(
                call("desktop-file-validate", share / "applications/lockstep-studio.desktop"), "")

    def test_everyone_may_read_and_the_owner_alone_may_write(self):
        started = {self.prefix / "share/lockstep/experiments/papers/reproduce",
                   *self.files("bin"), *(self.prefix / "lib/lockstep").glob("lockstep-*")}
        for path in self.files():
            mode = stat.S_IMODE(path.stat().st_mode)
            self.assertEqual(mode & 0o666, 0o644, path)
            if path.suffix != ".so":
                self.assertEqual(bool(mode & 0o111), path in started, path)

    def test_licences_and_the_sdk_are_there(self):
        text = (self.prefix / "share/doc/lockstep/copyright").read_text()
        for owner in ("The Lockstep authors", "Yann LeCun", "CC-BY-SA-3.0", "public-domain"):
            self.assertIn(owner, text)
        # How a hook is built with it is tests/scripts/sdk.py's matter.
        self.assertTrue((self.prefix / "include/lockstep/comm_hook.hpp").exists())
        self.assertTrue((self.prefix / "share/lockstep/hook_template/CMakeLists.txt").exists())

    def test_the_papers_are_reproduced_with_the_installed_programs(self):
        reproduce = self.prefix / "share/lockstep/experiments/papers/reproduce"
        help_text = call(reproduce, "--help", cwd=self.home)
        self.assertIn("default: runs/papers", help_text)
        # A figure that cannot be made says so; here it is that nothing is in the folder of runs,
        # which is looked at after the programs.
        (self.home / "none").mkdir()
        ended = subprocess.run([reproduce, "overlap", "--runs", "none"], capture_output=True,
                               text=True, check=False, cwd=self.home)
        self.assertIn("has no finished run", ended.stderr)
        self.assertTrue((self.home / "runs/papers").is_dir())


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
