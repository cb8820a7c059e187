#pragma once

#include <QIcon>

namespace lockstep::ui {

enum class Glyph {
  kRun,
  kStop,
  kRepeat,
  kFollow,
  kPrevious,
  kNext,
  kFit,
  kOpen,
  kPicture,
  kCheck,
  kCross,
  kInfo,
  kWarning,
};

/// Returns an icon that is drawn when it is shown, in the application's colours of that moment
/// and at any scale.
QIcon icon(Glyph glyph);

}  // namespace lockstep::ui
