#include "ui/panels/hooks/HookChange.h"

#include <QRegularExpression>

namespace lockstep::ui {

std::optional<HookChange> hookChangeOf(const std::string& line) {
  if (line.find("hook.") == std::string::npos) {
    return std::nullopt;  // nearly all lines of a log
  }
  static const QRegularExpression kLine(
      QStringLiteral(R"(\bhook\.([A-Za-z0-9_.]+) = (.+) from step (\d+) on\s*$)"));
  const auto match = kLine.match(QString::fromStdString(line));
  if (!match.hasMatch()) {
    return std::nullopt;
  }
  QString value = match.captured(2);
  if (value.size() >= 2 && value.startsWith(QLatin1Char('"')) && value.endsWith(QLatin1Char('"'))) {
    value = value.mid(1, value.size() - 2);
  }
  return HookChange{match.captured(3).toUInt(), match.captured(1), value};
}

}  // namespace lockstep::ui
