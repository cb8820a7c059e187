#pragma once

#include <QElapsedTimer>
#include <QObject>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "ui/panels/runs/KeptRuns.h"
#include "ui/panels/runs/RunEntry.h"

namespace lockstep::ui {

/// When the file of a run was written last, and how large it is; of its write-ahead log, too.
struct RunStamp {
  std::int64_t mainTime = 0;
  std::int64_t logTime = 0;
  std::uintmax_t mainSize = 0;
  std::uintmax_t logSize = 0;
  bool operator==(const RunStamp&) const = default;
  [[nodiscard]] QString text() const;

  /// `logged`: there is a write-ahead log.
  static RunStamp of(const std::filesystem::path& run, bool logged);
};

/// Reads the run files of a folder. Lives in a thread of its own, so that a slow disk never
/// blocks the window: call through signals. A file is read again only when it or
/// its write-ahead log changed, or while its run is live (a supervisor's death changes no
/// file); its spans are read once, when the run is over. At the next start neither is read
/// again (KeptRuns).
class RunsScanner : public QObject {
  Q_OBJECT

 public:
  /// How often files were opened.
  struct Work {
    std::size_t read = 0;
    std::size_t analysed = 0;
    std::size_t labels = 0;
  };

  explicit RunsScanner(std::filesystem::path folder);

  /// Reads what changed and emits `scanned`; then analyses the runs that have ended and are
  /// new here, and emits it again. Where reading takes long, it emits what it has meanwhile, runs
  /// that it has not come to by their names alone.
  void scan();
  /// Names the run that is open. Who follows a live one there reads its spans, and tells what they
  /// come to.
  void setOpen(const QString& path);
  void know(const QString& path, const lockstep::ui::RunFigures& figures);

  [[nodiscard]] const Work& work() const { return work_; }

 signals:
  void scanned(std::vector<lockstep::ui::RunEntry> entries);

 private:
  struct Known {
    RunStamp stamp;
    RunEntry entry;
    RunStamp labelStamp{};
    bool toRead = false;
    bool followed = false;  // was open while it was live
    bool analysed = false;
  };
  using Names = std::set<std::string>;

  [[nodiscard]] Names namesInFolder() const;
  [[nodiscard]] Known knownOf(const std::filesystem::path& path, const RunStamp& stamp);
  void readLabel(const std::filesystem::path& path, bool labelled, Known& known);
  void read();
  void analyse();
  void tell();
  void tellIfLong();

  std::filesystem::path folder_;
  std::filesystem::path open_;
  KeptRuns kept_;
  std::map<std::filesystem::path, Known> known_;
  std::map<std::filesystem::path, RunFigures> told_;
  QElapsedTimer sinceTold_;
  Work work_;
};

}  // namespace lockstep::ui
