#pragma once

#include <QString>
#include <cstdint>
#include <vector>

#include "engine/trace/RunFile.h"

namespace lockstep::ui {

/// A live parameter of a hook was changed while the run went on.
struct HookChange {
  std::uint32_t step = 0;  ///< the first that used the new value
  QString key;             ///< "density"; of a hook inside another, "inner.density"
  QString value;           ///< "0.01"
};

/// All of a run, by step: experiment::madeChanges. [any-thread]
std::vector<HookChange> hookChangesOf(const std::vector<trace::RankInfo>& ranks);

}  // namespace lockstep::ui
