"""Every setting of an experiment has an effect: something outside engine/experiment reads it.

Usage: settings.py ROOT | settings.py --self-test
"""

import pathlib
import re
import sys
import tempfile

# A row of the schema: table.add("capture.enabled", at<&E::capture, &C::enabled>(), ...
ROW = re.compile(r'table\.add\(\s*"([\w.]+)",\s*at<([^;]*?)>\(\)')
MEMBER = re.compile(r"::(\w+)\s*$")


def settings(root):
    """Returns the member of `Experiment` that each key fills."""
    text = "".join(path.read_text() for path in sorted((root / "engine/experiment/detail").glob("*.cpp")))
    return {key: MEMBER.search(path).group(1) for key, path in ROW.findall(text)}


def readers(root):
    return "".join(path.read_text() for top in ("engine", "app") for path in (root / top).rglob("*")
                   if path.suffix in (".cpp", ".h") and root / "engine/experiment" not in path.parents)


def check(root):
    keys, text = settings(root), readers(root)
    dead = [key for key, member in keys.items()
            if not re.search(rf"(\.|->|::){member}\b", text)]
    for key in dead:
        print(f"{key}: nothing outside engine/experiment reads it; give it an effect or take it away")
    if not dead:
        print(f"{len(keys)} settings are read")
    return 1 if dead or not keys else 0


def self_test():
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        for name, text in (("engine/experiment/detail/Rows.cpp",
                            'table.add("a.steps", at<&E::a, &A::steps>(), "Steps");\n'
                            'table.add(\n    "a.rate", at<&E::a, &A::rate>(), "Rate");\n'),
                           ("engine/experiment/Write.cpp", "value.rate\n"),
                           ("engine/train/Loop.cpp", "experiment.a.steps\n"), ("app/main.cpp", "")):
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text)
        noticed = check(root) == 1 and settings(root) == {"a.steps": "steps", "a.rate": "rate"}
        (root / "app/main.cpp").write_text("experiment.a.rate\n")
        right = noticed and check(root) == 0
        print("a setting that nothing reads is noticed" if right else "NOT noticed")
        return 0 if right else 1


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sys.exit(self_test() if sys.argv[1] == "--self-test" else check(pathlib.Path(sys.argv[1])))
