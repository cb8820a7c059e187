#pragma once

#include <QString>

namespace lockstep::ui {

/// One line of what is known of something: "bytes", "1.05 MiB". Without a name it continues the
/// line before.
struct Fact {
  QString name;
  QString value;
};

}  // namespace lockstep::ui
