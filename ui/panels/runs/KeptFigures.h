#pragma once

#include <QString>
#include <filesystem>
#include <optional>

#include "ui/panels/runs/RunEntry.h"

namespace lockstep::ui {

/// What runs that have ended came to, in a file of the user's cache: so the list of runs analyses
/// each of them once and not at each start. An entry counts as long as its run file is the same by
/// path, size and time; what cannot be read is as if it were not there. One thread at a time.
class KeptFigures {
 public:
  explicit KeptFigures(QString file = defaultFile());
  [[nodiscard]] static QString defaultFile();

  /// `stamp`: whatever is another when the run file is.
  [[nodiscard]] std::optional<RunFigures> find(const std::filesystem::path& run,
                                               const QString& stamp) const;
  void keep(const std::filesystem::path& run, const QString& stamp, const RunFigures& figures);

 private:
  const QString file_;
};

}  // namespace lockstep::ui
