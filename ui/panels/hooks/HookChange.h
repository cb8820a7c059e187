#pragma once

#include <QString>
#include <cstdint>
#include <optional>
#include <string>

namespace lockstep::ui {

/// A live parameter of a hook was changed while the run went on.
struct HookChange {
  std::uint32_t step = 0;  ///< the first that used the new value
  QString key;             ///< "density"; of a hook inside another, "inner.density"
  QString value;           ///< "0.01"
};

/// Reads what rank 0's log says of a change: "hook.density = 0.01 from step 808 on"; nothing of
/// any other line. [any-thread]
std::optional<HookChange> hookChangeOf(const std::string& line);

}  // namespace lockstep::ui
