#pragma once

#include <QString>
#include <vector>

namespace lockstep::ui {

/// One line of what is known of something: "bytes", "1.05 MiB". Without a name it continues the
/// line before.
struct Fact {
  QString name;
  QString value;
};

/// Facts that are put together one by one.
struct Facts : std::vector<Fact> {
  void add(const char* name, const QString& value) { push_back({QString::fromUtf8(name), value}); }
  /// Where there is a value.
  void addKnown(const char* name, const QString& value) {
    if (!value.isEmpty()) {
      add(name, value);
    }
  }
};

}  // namespace lockstep::ui
