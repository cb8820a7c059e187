"""Every room has a door: a README.md that is read in one go and names what there is.

Usage: doors.py ROOT | doors.py --self-test
"""

import pathlib
import re
import sys
import tempfile

HOUSES = ("engine", "engine/process_group", "ui", "ui/panels", "ui/views")  # whose folders are rooms
MOST_LINES = 60

# What a README names as a file of the tree: `Work.h`, `engine/trace/Event.h`, `detail/JobParts.h`.
FILE = re.compile(r"`((?:[\w-]+/)*[\w-]+\.(?:h|cpp|c|py|md|toml))`")
# And as something in it: `Reducer`, `Ledger<Open>`, `OpenCall::fail`; Xyz is who writes a new one.
NAME = re.compile(r"`(?!Xyz)([A-Z][a-z]\w+)[`<:(]")


def rooms(root):
    return [room for house in HOUSES for room in sorted((root / house).iterdir())
            if room.is_dir() and any(room.rglob("*.h"))]


def faults_of(root, room, files, words):
    door = room / "README.md"
    name = room.relative_to(root).as_posix()
    if not door.exists():
        return [f"{name}: has no README.md"]
    text = door.read_text()
    found = []
    if text.count("\n") > MOST_LINES:
        found.append(f"{name}/README.md: {text.count(chr(10))} lines, more than {MOST_LINES}: what is "
                     "looked up belongs into a file of its own beside it")
    for named in FILE.findall(text):
        if not any(path == named or path.endswith("/" + named) for path in files):
            found.append(f"{name}/README.md: there is no {named}")
    found += [f"{name}/README.md: nothing is called {named}" for named in NAME.findall(text)
              if named not in words]
    return found


def words_of(root, files):
    return {word for path in files for word in re.findall(r"\w+", (root / path).read_text())}


def check(root):
    files = [path.relative_to(root).as_posix() for top in ("app", "engine", "experiments", "plugins",
                                                           "tests", "ui", "resources")
             for path in (root / top).rglob("*") if path.is_file()]
    files += [path.name for path in root.iterdir() if path.is_file()]
    words = words_of(root, (path for path in files if path.endswith((".h", ".cpp", ".c", ".py", ".txt"))))
    found = [fault for room in rooms(root) for fault in faults_of(root, room, files, words)]
    print("\n".join(found) or f"{len(rooms(root))} rooms have a door")
    return 1 if found or not rooms(root) else 0


def self_test():
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        texts = {"right": "`A.h`, `engine/right/A.h` and `Known::part`\n", "long": "line\n" * (MOST_LINES + 1),
                 "stale": "see `Gone.h`\n", "forgotten": "see `Unknown`\n", "bare": None}
        for name, text in texts.items():
            (root / "engine" / name).mkdir(parents=True)
            (root / "engine" / name / "A.h").touch()
            if text is not None:
                (root / "engine" / name / "README.md").write_text(text)
        files = [f"engine/{name}/A.h" for name in texts]
        wrong = [name for name in texts
                 if (faults_of(root, root / "engine" / name, files, {"Known"}) == []) != (name == "right")]
    print(f"not noticed: {wrong}" if wrong else "every fault is noticed")
    return 1 if wrong else 0


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sys.exit(self_test() if sys.argv[1] == "--self-test" else check(pathlib.Path(sys.argv[1])))
