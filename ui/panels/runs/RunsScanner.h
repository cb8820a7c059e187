#pragma once

#include <QObject>
#include <filesystem>
#include <map>
#include <vector>

#include "ui/panels/runs/KeptFigures.h"
#include "ui/panels/runs/RunEntry.h"

namespace lockstep::ui {

/// Reads the run files of a folder. Lives in a thread of its own, so that a slow disk never
/// blocks the window: call through signals. A file is read again only when it or
/// its write-ahead log changed, or while its run is live (a supervisor's death changes no
/// file); its spans are read once, when the run is over, and not again at the next start
/// (KeptFigures).
class RunsScanner : public QObject {
  Q_OBJECT

 public:
  explicit RunsScanner(std::filesystem::path folder);

  /// Reads what changed and emits `scanned`; then analyses the runs that have ended and are
  /// new here, and emits it again after each.
  void scan();
  /// Names the run that is open. Who follows a live one there reads its spans, and tells what they
  /// come to.
  void setOpen(const QString& path);
  void know(const QString& path, const lockstep::ui::RunFigures& figures);

 signals:
  void scanned(std::vector<lockstep::ui::RunEntry> entries);

 private:
  struct Stamp {
    std::int64_t mainTime = 0;
    std::int64_t logTime = 0;
    std::uintmax_t mainSize = 0;
    std::uintmax_t logSize = 0;
    bool operator==(const Stamp&) const = default;
    [[nodiscard]] QString text() const;
  };
  struct Known {
    Stamp stamp;
    RunEntry entry;
    bool followed = false;  // was open while it was live
    bool analysed = false;
  };
  void analyse();
  void tell();
  static Stamp stampOf(const std::filesystem::path& path);

  std::filesystem::path folder_;
  std::filesystem::path open_;
  KeptFigures kept_;
  std::map<std::filesystem::path, Known> known_;
  std::map<std::filesystem::path, RunFigures> told_;
};

}  // namespace lockstep::ui
