#pragma once

#include <QHash>
#include <QSet>
#include <QString>
#include <filesystem>

#include "ui/panels/runs/RunEntry.h"

namespace lockstep::ui {

/// What was read of runs that have ended, in a file of the user's cache: so the list of runs opens
/// each of them once and not at each start. An entry counts as long as its run file is the same by
/// path, size and time; what cannot be read is as if it were not there. One thread at a time.
class KeptRuns {
 public:
  struct Kept {
    QString stamp;  ///< whatever is another when the run file is
    RunEntry entry;
    bool analysed = false;  ///< its figures are in the entry
  };

  explicit KeptRuns(QString file = defaultFile());
  [[nodiscard]] static QString defaultFile();

  /// Null: it is not kept, or has changed since. Until the next call that changes something.
  [[nodiscard]] const Kept* find(const std::filesystem::path& run, const QString& stamp);
  /// Until `write`, in memory alone.
  void keep(const std::filesystem::path& run, Kept kept);
  /// Writes the file, where there is news.
  void write();

 private:
  void read();
  void dropUnused();

  const QString file_;
  bool known_ = false;  // the file was read
  bool news_ = false;
  QHash<QString, Kept> runs_;  // by absolute path
  QSet<QString> used_;
};

}  // namespace lockstep::ui
