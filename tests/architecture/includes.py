"""Walks every #include line and compares it with the table of allowed edges, and looks for a second
copy of what is done in one place.

Usage: includes.py ROOT | includes.py --self-test
"""

import pathlib
import re
import sys

# A room of engine/ may include the rooms before it; those up to `plugin` see no libtorch. The
# kernels are a leaf that plugins use, too.
ENGINE = ["kernels", "observer", "base", "glossary", "trace", "run", "buckets", "experiment", "cost", "analysis", "diagnosis", "simulate", "export", "report", "import", "capture", "store", "relay",
          "launch", "plugin", "device", "process_group", "optim", "hooks", "ddp", "data_parallel", "train"]
WITHOUT_TORCH = ENGINE[:ENGINE.index("plugin") + 1]
UI = ["model", "canvas", "chart", "table", "panels", "stage", "views", "help", "shell"]
UI_SEES_ENGINE = {"base", "glossary", "trace", "run", "buckets", "experiment", "cost", "analysis", "diagnosis", "simulate",
                  "export", "report", "launch",
                  "plugin"}
# What rooms of engine/ see of plugins/: its border, nothing behind it.
SEE_BORDER = {"observer", "plugin", "hooks"}

# What the operating system has and one place of ours wraps: descriptors' events and programs.
POSIX = re.compile(r"^(spawn|sys/epoll|sys/eventfd)\.h$")

TORCH = re.compile(r"^(torch|ATen|c10|caffe2)/")
# The headers that bring the whole of torch: 20 s of reading where tensors alone take 8. A room
# includes the parts it uses; tests of these rooms may build a model of any layers in a few lines.
WHOLE_TORCH = re.compile(r"^torch/(torch|all|nn|extension|script)\.h$")
TESTS_WITH_MODELS = ("tests/engine/ddp/", "tests/engine/data_parallel/", "tests/engine/hooks/",
                     "tests/engine/optim/", "tests/engine/train/", "tests/conformance/",
                     "tests/mistakes/", "tests/bench/")
# A new kind of event compiles what includes this. Headers make do with EventRecord.h, but for these,
# which few include and which name a kind.
KINDS = "engine/trace/Event.h"
HEADERS_THAT_NAME_KINDS = {"engine/trace/UserPhases.h", "engine/trace/RankDrain.h",
                           "engine/export/Selection.h", "ui/views/compare/CompareTables.h"}
C10D = re.compile(r"^(torch/csrc/distributed|c10d)/")
QT = re.compile(r"^(Q[A-Z]\w*|Qt\w*/.*)$")
IMGUI = re.compile(r"^(imgui|backends/imgui)")
INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]')

# What is done in one place: a pattern, the files that may hold it, and what others use. Of the
# studio first, then of all that speaks.
ONE_PLACE_OF_UI = [
    (re.compile(r"\bpublic Q(Abstract(Table|Item)|StandardItem|SortFilterProxy)"
                r"(Model|Proxy)?|\bnew Q(SortFilterProxyModel|TableView)\b"),
     ("ui/table/",), "tables are rows in a TableView (ui/table)"),
    (re.compile(r"\bQMetaObject::invokeMethod\b|\bbackgroundPool\(\)"),
     ("ui/model/BackgroundJob.",), "work off the UI thread is a BackgroundJob (ui/model)"),
    (re.compile(r"\b\w+View::(makeAction|setRun|setTheme)\(|\bdouble kZoomStep\b"),
     ("ui/stage/",), "a view's run, theme, keys and zoom are the stage's (ui/stage)"),
    (re.compile(r"\bdelete canvas_"), (), "a canvas may outlive its client (ui/canvas)"),
    (re.compile(r"\b(1\.0|1), (2\.0|2), (5\.0|5)\}|\blist_?\.polyline\(points,"),
     ("ui/chart/",), "axes and curves are drawn from ui/chart"),
    (re.compile(r"""'f', [^,]*\) \+ (QStringLiteral|QLatin1String)\(" %"\)"""
                r"""|\("( × |th)"\)|%\d ([nµm]?s|%)"\)\.arg\([^,]*, 0, 'f'"""),
     ("ui/model/Format.",), "numbers are written by ui/model/Format.h"),
]
NUMBER = ("numbers are written by engine/base/NumberText.h, in the studio by ui/model/Format.h")
ONE_PLACE = [
    (re.compile(r"\b(std::string|QString) (\w+::)?(bytes|duration|ms|time|percent|count|"
                r"counted|grouped|ranks|rankList|threeDigits)(Text|InWords)?\("
                r"(const )?(double|int|float|std::u?int\d+_t|std::size_t|std::vector<int>&) "),
     ("engine/base/NumberText.",), NUMBER),
    (re.compile(r"""== 1 \? (QStringLiteral\(|tr\()?"(✕ )?(1 )?([a-z]*)"\)? : """
                r"""(QStringLiteral\(|tr\()?"(✕ )?(%1 )?\4s"""),
     ("engine/base/NumberText.", "engine/store/detail/Errors."), NUMBER),
    # A setting in MiB is written with `g`, as its file has it.
    (re.compile(r"\{:[ +\d]*\.\d([fg]\} ?([nuµm]?s|%)|f\} ?[KMG]i?B)(?!\w)"),
     ("engine/base/NumberText.", "engine/trace/ClockOffset."), NUMBER),
    (re.compile(r"\btoupper\(|\.toUpper\(\)"), ("engine/base/StartingLarge.h",),
     "a clause becomes a sentence by engine/base/StartingLarge.h, in the studio by ui/model's"),
]

# What kinds of events mean: five of them in a row, or three compared one after the other, are a list.
KIND = r"(\w+::)*EventKind::k\w+"
LIST_OF_KINDS = re.compile(rf"(case {KIND}:\s+){{5}}|([=(\w.>-]*kind == {KIND}\)?\s*\|\|\s*){{2}}"
                           rf"\(?[\w.>-]*kind == {KIND}")
LISTS_OF_KINDS = ("engine/trace/", "ui/model/SpanNames.", "ui/views/timeline/SpanStyle.", "tests/")


def lists_of_kinds(path, text):
    """Returns the lines on which `path` lists kinds of events for itself."""
    return [] if path.startswith(LISTS_OF_KINDS) else [
        text.count("\n", 0, found.start()) + 1 for found in LIST_OF_KINDS.finditer(text)]


def forbidden(path, target):
    """Returns why `path` must not include `target`, or None."""
    if C10D.match(target):
        return "c10d is not used: the engine is our own"
    if WHOLE_TORCH.match(target) and not path.startswith(TESTS_WITH_MODELS):
        return "that is the whole of torch; name the header of what is used"
    if target == KINDS and path.endswith(".h") and not path.startswith("tests/") \
            and path not in HEADERS_THAT_NAME_KINDS:
        return "what carries events needs engine/trace/EventRecord.h alone"
    if POSIX.match(target) and not path.startswith(("engine/base/posix/", "tests/")):
        return "that stands in engine/base/posix, once"
    here = path.split("/")
    to = target.split("/")
    if here[0] == "engine":
        room = here[1]
        if QT.match(target) or IMGUI.match(target) or to[0] in ("ui", "app"):
            return f"engine/{room} sees no user interface"
        if room in WITHOUT_TORCH and TORCH.match(target):
            return f"engine/{room} sees no libtorch"
        if to[0] == "engine" and to[1] != room and ENGINE.index(to[1]) > ENGINE.index(room):
            return f"engine/{room} stands above engine/{to[1]}"
        if target.startswith("engine/process_group/nccl/") and room != "process_group":
            return "what asks a device for more than collectives needs engine/device alone"
        if to[0] == "plugins" and (to[1] != "abi" or room not in SEE_BORDER):
            return f"engine/{room} does not see plugins/{to[1]}"
        if room == "kernels" and to[0] in ("engine", "plugins") and to[1] != "kernels":
            return "engine/kernels includes nothing of ours"
    if here[0] == "ui":
        if TORCH.match(target):
            return "the studio sees no libtorch"
        if to[0] == "engine" and to[1] not in UI_SEES_ENGINE:
            return f"ui does not see engine/{to[1]}"
        if to[0] == "app":
            return "ui does not see app"
        if to[0] == "ui" and to[1] != here[1] and UI.index(to[1]) > UI.index(here[1]):
            return f"ui/{here[1]} stands above ui/{to[1]}"
    if here[0] == "plugins" and to[0] in ("engine", "ui", "app") and to[:2] != ["engine", "kernels"]:
        return "a plugin sees plugins/ and engine/kernels alone"
    if here[:2] == ["plugins", "abi"] and to[0] == "engine":
        return "the border includes nothing of the engine"
    if here[0] == "app" and here[1] in ("cli", "studio", "hookscan") and TORCH.match(target):
        return f"app/{here[1]} does not use libtorch"
    return None


def repeated(path, line):
    """Returns why `line` must not stand in `path`, or None."""
    rules = [] if path.startswith("tests/") else ONE_PLACE
    rules = ONE_PLACE_OF_UI + rules if path.startswith("ui/") else rules
    return next((reason for pattern, places, reason in rules
                 if pattern.search(line) and not path.startswith(places)), None)


def check(root):
    faults, files = [], 0
    for folder in ("engine", "ui", "app", "plugins", "tests"):
        for path in sorted((root / folder).rglob("*")):
            if path.suffix not in (".h", ".hpp", ".cpp", ".c"):
                continue
            files += 1
            relative = path.relative_to(root).as_posix()
            text = path.read_text()
            faults += [f"{relative}:{number}: what a kind of event means stands in "
                       "engine/run/KindFacts.cpp" for number in lists_of_kinds(relative, text)]
            for number, line in enumerate(text.splitlines(), 1):
                match = INCLUDE.match(line)
                reason = match and forbidden(relative, match.group(1))
                if reason:
                    faults.append(f"{relative}:{number}: includes {match.group(1)}: {reason}")
                if again := repeated(relative, line):
                    faults.append(f"{relative}:{number}: {again}")
    print("\n".join(faults) or f"{files} files keep to the table")
    return 1 if faults or files == 0 else 0


def self_test():
    wrong = [("engine/trace/A.h", "engine/ddp/Reducer.h"), ("engine/trace/A.h", "torch/torch.h"),
             ("engine/ddp/A.h", "torch/csrc/distributed/c10d/reducer.hpp"),
             ("engine/base/A.h", "QString"), ("ui/model/A.h", "engine/store/Store.h"),
             ("ui/canvas/A.h", "ui/shell/MainWindow.h"), ("plugins/fp16/a.cpp", "engine/base/Log.h"),
             ("engine/ddp/A.h", "plugins/abi/include/lockstep/comm_hook.h"),
             ("engine/hooks/A.h", "plugins/selection/Largest.h"),
             ("engine/process_group/A.h", "plugins/abi/include/lockstep/comm_hook.h"),
             ("engine/kernels/A.h", "plugins/abi/include/lockstep/comm_hook.h"),
             ("engine/kernels/A.h", "engine/base/Check.h"),
             ("plugins/abi/A.h", "engine/kernels/Kernels.h"),
             ("app/studio/main.cpp", "ATen/core/Tensor.h"),
             ("engine/ddp/Reducer.h", "engine/process_group/nccl/Device.h"),
             ("engine/plugin/A.h", "engine/device/Device.h"), ("engine/ddp/A.cpp", "torch/torch.h"),
             ("engine/train/models/A.h", "torch/nn.h"), ("app/rank/main.cpp", "torch/torch.h"),
             ("tests/engine/process_group/A.cpp", "torch/torch.h"),
             ("engine/store/detail/A.cpp", "sys/epoll.h"), ("ui/shell/A.cpp", "spawn.h"),
             ("engine/ddp/Reducer.h", "engine/trace/Event.h")]
    right = [("engine/ddp/A.h", "engine/buckets/BucketPlan.h"), ("engine/ddp/A.h", "ATen/ATen.h"),
             ("engine/process_group/A.cpp", "engine/kernels/Kernels.h"),
             ("plugins/fp16/A.cpp", "engine/kernels/Kernels.h"),
             ("ui/shell/A.h", "ui/model/RunModel.h"), ("ui/model/A.h", "engine/trace/RunFile.h"),
             ("engine/hooks/A.h", "plugins/abi/include/lockstep/comm_hook.h"),
             ("engine/base/A.h", "string"), ("engine/base/posix/A.cpp", "spawn.h"), ("app/rank/main.cpp", "torch/nn/module.h"),
             ("engine/train/A.h", "engine/device/DeviceSpans.h"),
             ("tests/engine/ddp/TestModels.h", "torch/torch.h"),
             ("engine/ddp/Reducer.cpp", "engine/trace/Event.h")]
    missed = [edge for edge in wrong if forbidden(*edge) is None]
    missed += [edge for edge in right if forbidden(*edge) is not None]
    twice = [("ui/views/a/A.h", "class A : public QAbstractTableModel {"),
             ("ui/panels/A.h", "class A : public QSortFilterProxyModel {"),
             ("ui/panels/A.cpp", "  sorted_ = new QSortFilterProxyModel(this);"),
             ("ui/views/a/A.cpp", "  QMetaObject::invokeMethod(this, [] {});"),
             ("ui/shell/A.cpp", "  backgroundPool().start([] {});"),
             ("ui/views/a/A.cpp", "void AView::setRun(const OpenRun& run) {"),
             ("ui/views/a/A.cpp", "QAction* AView::makeAction(const QString& text,"),
             ("ui/views/a/A.cpp", "constexpr double kZoomStep = 0.7;"),
             ("ui/views/a/A.cpp", "  delete canvas_;"),
             ("ui/views/a/A.cpp", "  return QString::number(value, 'f', 1) + QStringLiteral(\" %\");"),
             ("ui/views/a/A.cpp", "  for (const double factor : {1.0, 2.0, 5.0}) {"),
             ("ui/panels/A.cpp", '  return sizes.join(QStringLiteral(" × "));'),
             ("ui/views/a/A.cpp", "inline QString msText(double ms) {"),
             ("ui/views/a/A.h", "QString duration(double ms);"),
             ("app/cli/A.cpp", "std::string counted(std::uint64_t count, const char* word) {"),
             ("engine/launch/A.cpp", "std::string ranksText(const std::vector<int>& ranks) {"),
             ("engine/import/A.cpp", '  fmt::format("rank{} {}", ranks.size() == 1 ? "" : "s",'),
             ("app/cli/A.cpp", '  fmt::format("{} {}", n, n == 1 ? "step" : "steps");'),
             ("ui/panels/A.cpp", '  n == 1 ? tr("1 row") : tr("%1 rows").arg(n);'),
             ("ui/panels/A.cpp", "  text[0] = text[0].toUpper();"),
             ("engine/launch/A.cpp", "  text[0] = static_cast<char>(std::toupper(text[0]));"),
             ("engine/report/A.cpp", '  fmt::format("rank {} is {:.2f} ms late", rank, ms);'),
             ("app/cli/A.cpp", '  fmt::format("{:+.1f} % of a step", percent);'),
             ("engine/cost/A.cpp", '  fmt::format("{:.1f} MiB were moved", bytes / kMiB);'),
             ("ui/shell/A.cpp", "  tr(\"%1 ms\").arg(ms, 0, 'f', 1);")]
    once = [("ui/table/A.h", "class A : public QAbstractTableModel {"),
            ("ui/panels/A.h", "class A : public QAbstractListModel {"),
            ("ui/model/BackgroundJob.h", "  QMetaObject::invokeMethod("),
            ("ui/stage/RunView.cpp", "void RunView::setRun(const OpenRun& run) {"),
            ("engine/base/A.cpp", "  backgroundPool().start([] {});"),
            ("engine/base/NumberText.h", "std::string bytesText(double bytes);"),
            ("ui/model/Format.h", "QString formatBytes(double bytes);"),
            ("app/cli/A.cpp", '  lines == 1 ? "was" : "were"'),
            ("engine/analysis/A.cpp", '  fmt::format("cap {:.4g} MiB", capMb);'),
            ("engine/store/A.cpp", '  fmt::format("timeout after {} ms", timeout.count());'),
            ("tests/ui/A.cpp", "QString msText(double ms) {")]
    missed += [line for line in twice if repeated(*line) is None]
    missed += [line for line in once if repeated(*line) is not None]
    kinds = ["    case EventKind::kWait:\n" * 5,
             "kind == EventKind::kA || kind == EventKind::kB ||\n  kind == EventKind::kC"]
    missed += [text for text in kinds if not lists_of_kinds("engine/a/A.cpp", text)]
    missed += [text for text in kinds if lists_of_kinds("engine/trace/A.cpp", text)]
    missed += lists_of_kinds("ui/a/A.cpp", "    case EventKind::kWait:\n      return 1;\n" * 5)
    print(missed or "every forbidden edge is noticed")
    return 1 if missed else 0


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sys.exit(self_test() if sys.argv[1] == "--self-test" else check(pathlib.Path(sys.argv[1])))
