#pragma once

#include <QString>
#include <optional>
#include <vector>

#include "ui/panels/runs/RunEntry.h"

namespace lockstep::ui {

/// What runs have in common by a key: "name", "tag", "day", "sweep", or a setting,
/// "ddp.bucket_cap_mb". [any-thread]
struct RunGroups {
  QString title;
  std::vector<QString> texts;                ///< of each run; empty: it has none
  std::vector<std::optional<double>> order;  ///< of its group among the others

  RunGroups() = default;
  /// An empty key groups nothing.
  RunGroups(const std::vector<RunEntry>& runs, const QString& key);
};

/// What a key is called: "Day", "ddp.bucket_cap_mb".
QString titleOfGroups(const QString& key);

}  // namespace lockstep::ui
