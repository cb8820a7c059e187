#include "ui/panels/runs/RunsScanner.h"

#include <QThread>

namespace lockstep::ui {

namespace fs = std::filesystem;

namespace {

// About ten million spans; a larger run is analysed when it is opened, not for a list.
constexpr std::uintmax_t kLargestAnalysed = 256ULL << 20;

}  // namespace

RunsScanner::RunsScanner(fs::path folder) : folder_(std::move(folder)) {}

QString RunsScanner::Stamp::text() const {
  return QStringLiteral("%1 %2 %3 %4").arg(mainTime).arg(mainSize).arg(logTime).arg(logSize);
}

RunsScanner::Stamp RunsScanner::stampOf(const fs::path& path) {
  Stamp stamp;
  std::error_code ignored;  // a file that vanishes meanwhile has an empty stamp
  const auto time = [&ignored](const fs::path& file) -> std::int64_t {
    const auto written = fs::last_write_time(file, ignored);
    return ignored ? 0 : written.time_since_epoch().count();
  };
  const auto size = [&ignored](const fs::path& file) -> std::uintmax_t {
    const auto bytes = fs::file_size(file, ignored);
    return ignored ? 0 : bytes;
  };
  fs::path log = path;
  log += "-wal";
  stamp.mainTime = time(path);
  stamp.mainSize = size(path);
  stamp.logTime = time(log);
  stamp.logSize = size(log);
  return stamp;
}

void RunsScanner::scan() {
  // Two passes. What files say of themselves takes milliseconds each and makes the list; figures
  // take seconds for a long run, so they come one by one after it. A run that cannot be analysed
  // counts as analysed, and is tried again only when its file has changed.
  std::map<fs::path, Known> found;
  std::error_code error;
  for (fs::directory_iterator it(folder_, error), end; !error && it != end; it.increment(error)) {
    const fs::path& path = it->path();
    if (path.extension() != ".lockstep") {
      continue;
    }
    const Stamp stamp = stampOf(path);
    const auto before = known_.find(path);
    if (before != known_.end() && before->second.stamp == stamp && !before->second.entry.live()) {
      // With its figures.
      found.emplace(path, before->second);
    } else {
      Known& known = found[path] = {stamp, readRunEntry(path)};
      known.followed =
          known.entry.live() ? path == open_ : before != known_.end() && before->second.followed;
      if (known.entry.live()) {
        told_.erase(path);  // of one that had the name before
      }
    }
  }
  known_ = std::move(found);
  tell();
  analyse();
}

void RunsScanner::setOpen(const QString& path) {
  open_ = path.toStdString();
  analyse();
}

void RunsScanner::know(const QString& path, const RunFigures& figures) {
  told_[path.toStdString()] = figures;
  analyse();
}

void RunsScanner::analyse() {
  for (auto& [path, known] : known_) {
    if (QThread::currentThread()->isInterruptionRequested()) {
      return;
    }
    if (known.analysed || known.entry.live() || !known.entry.problem.isEmpty()) {
      continue;
    }
    const auto told = told_.find(path);
    const bool awaited = known.followed && path == open_;
    if (told == told_.end() && (awaited || known.stamp.mainSize > kLargestAnalysed)) {
      continue;
    }
    const QString stamp = known.stamp.text();
    std::optional<RunFigures> figures = kept_.find(path, stamp);
    if (!figures) {
      figures = told != told_.end() ? told->second : readRunFigures(path);
      kept_.keep(path, stamp, *figures);
    }
    known.entry.stepsPerSecond = figures->stepsPerSecond;
    known.entry.overlapPercent = figures->overlapPercent;
    known.entry.exposedMs = figures->exposedMs;
    known.analysed = true;
    tell();
  }
}

void RunsScanner::tell() {
  std::vector<RunEntry> entries;
  entries.reserve(known_.size());
  for (const auto& [path, known] : known_) {
    entries.push_back(known.entry);
  }
  emit scanned(std::move(entries));
}

}  // namespace lockstep::ui
