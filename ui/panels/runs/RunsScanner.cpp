#include "ui/panels/runs/RunsScanner.h"

#include <QThread>
#include <utility>

namespace lockstep::ui {

namespace fs = std::filesystem;

namespace {

// About ten million spans; a larger run is analysed when it is opened, not for a list.
constexpr std::uintmax_t kLargestAnalysed = 256ULL << 20;
constexpr qint64 kTellEveryMs = 300;  // of thousands of runs a list costs some ms

bool interrupted() {
  return QThread::currentThread()->isInterruptionRequested();
}

}  // namespace

RunsScanner::RunsScanner(fs::path folder) : folder_(std::move(folder)) {}

QString RunStamp::text() const {
  return QStringLiteral("%1 %2 %3 %4").arg(mainTime).arg(mainSize).arg(logTime).arg(logSize);
}

RunStamp RunStamp::of(const fs::path& run, bool logged) {
  RunStamp stamp;
  std::error_code ignored;  // a file that vanishes meanwhile has an empty stamp
  const auto time = [&ignored](const fs::path& file) -> std::int64_t {
    const auto written = fs::last_write_time(file, ignored);
    return ignored ? 0 : written.time_since_epoch().count();
  };
  const auto size = [&ignored](const fs::path& file) -> std::uintmax_t {
    const auto bytes = fs::file_size(file, ignored);
    return ignored ? 0 : bytes;
  };
  stamp.mainTime = time(run);
  stamp.mainSize = size(run);
  if (logged) {
    fs::path log = run;
    log += "-wal";
    stamp.logTime = time(log);
    stamp.logSize = size(log);
  }
  return stamp;
}

RunsScanner::Names RunsScanner::namesInFolder() const {
  Names names;
  std::error_code error;
  for (fs::directory_iterator it(folder_, error), end; !error && it != end; it.increment(error)) {
    names.insert(it->path().filename().string());
  }
  return names;
}

// Note [How a long list is read]
//
// Of 5,000 runs a start opens none that it has seen before. The names of the folder say which runs
// there are, and which of them have a write-ahead log or a label; then the size and time of a file
// say whether what is known of it still holds:
//
//   1  names and stamps    what is kept in the user's cache, or was read before, is taken
//   2  read                files that are new, have changed or are live: milliseconds each
//   3  analyse             runs that have ended and were never analysed: up to seconds each
//
// The list is told after each pass, and within the passes whenever 300 ms have gone by.
void RunsScanner::scan() {
  const Names names = namesInFolder();
  std::map<fs::path, Known> found;
  for (const std::string& name : names) {
    if (const fs::path path = folder_ / name; path.extension() == ".lockstep") {
      Known& known = found[path] = knownOf(path, RunStamp::of(path, names.contains(name + "-wal")));
      readLabel(path, names.contains(name + kLabelEnding), known);
    }
  }
  known_ = std::move(found);
  read();
  tell();
  analyse();
  kept_.write();
}

RunsScanner::Known RunsScanner::knownOf(const fs::path& path, const RunStamp& stamp) {
  const auto before = known_.find(path);
  const bool seen = before != known_.end();
  if (seen && before->second.stamp == stamp && !before->second.entry.live() &&
      !before->second.toRead) {
    return before->second;  // with its figures
  }
  if (const KeptRuns::Kept* kept = seen ? nullptr : kept_.find(path, stamp.text())) {
    Known known{stamp, kept->entry, {}, false, false, kept->analysed};
    known.entry.path = QString::fromStdString(path.string());
    known.entry.label = {};
    return known;
  }
  Known known{stamp, seen ? before->second.entry : unreadRunEntry(path)};
  known.labelStamp = seen ? before->second.labelStamp : RunStamp();
  known.toRead = true;
  known.followed = seen && before->second.followed;
  return known;
}

void RunsScanner::readLabel(const fs::path& path, bool labelled, Known& known) {
  const RunStamp stamp = labelled ? RunStamp::of(labelFileOf(path), false) : RunStamp();
  if (stamp != known.labelStamp) {
    known.labelStamp = stamp;
    known.entry.label = labelled ? readRunLabel(path) : RunLabel();
    ++work_.labels;
  }
}

void RunsScanner::read() {
  sinceTold_.start();
  for (auto& [path, known] : known_) {
    if (!known.toRead) {
      continue;
    }
    if (interrupted()) {
      return;
    }
    RunLabel label = std::move(known.entry.label);
    known.entry = readRunEntry(path);
    known.entry.label = std::move(label);
    known.toRead = false;
    ++work_.read;
    if (known.entry.live()) {
      known.followed = path == open_;
      told_.erase(path);  // of one that had the name before
    } else if (known.entry.problem.isEmpty()) {
      kept_.keep(path, {known.stamp.text(), known.entry, false});
    }
    tellIfLong();
  }
}

void RunsScanner::setOpen(const QString& path) {
  open_ = path.toStdString();
  analyse();
  kept_.write();
}

void RunsScanner::know(const QString& path, const RunFigures& figures) {
  told_[path.toStdString()] = figures;
  analyse();
  kept_.write();
}

// A run that cannot be analysed counts as analysed, and is tried again only when its file has
// changed.
void RunsScanner::analyse() {
  bool news = false;
  for (auto& [path, known] : known_) {
    if (interrupted()) {
      return;
    }
    if (known.analysed || known.toRead || known.entry.live() || !known.entry.problem.isEmpty()) {
      continue;
    }
    const auto told = told_.find(path);
    const bool awaited = known.followed && path == open_;
    if (told == told_.end() && (awaited || known.stamp.mainSize > kLargestAnalysed)) {
      continue;
    }
    if (told == told_.end()) {
      ++work_.analysed;
    }
    takeFigures(known.entry, told != told_.end() ? told->second : readRunFigures(path));
    known.analysed = true;
    kept_.keep(path, {known.stamp.text(), known.entry, true});
    news = true;
    tellIfLong();
  }
  if (news) {
    tell();
  }
}

void RunsScanner::tellIfLong() {
  if (sinceTold_.elapsed() >= kTellEveryMs) {
    tell();
  }
}

void RunsScanner::tell() {
  std::vector<RunEntry> entries;
  entries.reserve(known_.size());
  for (const auto& [path, known] : known_) {
    entries.push_back(known.entry);
  }
  nameDifferences(entries);
  emit scanned(std::move(entries));
  sinceTold_.start();
}

}  // namespace lockstep::ui
