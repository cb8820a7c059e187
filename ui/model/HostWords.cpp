#include "ui/model/HostWords.h"

#include <QStringList>
#include <algorithm>

#include "ui/model/Format.h"

namespace lockstep::ui {
namespace {

QString plusMinus(std::int64_t ns) {
  return QStringLiteral("± ") + formatDuration(static_cast<double>(ns));
}

}  // namespace

HostClockWords hostClockWords(const std::vector<trace::HostState>& hosts, trace::RunKind kind) {
  HostClockWords words;
  if (hosts.size() < 2) {
    return words;
  }
  QStringList lines;
  QStringList unknown;
  std::int64_t worstNs = 0;
  for (const trace::HostState& host : hosts) {
    const QString name = QString::fromStdString(host.info.name);
    if (host.info.host == trace::kRecordingHost) {
      lines << (kind == trace::RunKind::kImported
                    ? QStringLiteral("all times are by the clock of %1").arg(name)
                    : QStringLiteral("%1 recorded the run; all times are its own").arg(name));
    } else if (host.offset) {
      worstNs = std::max(worstNs, host.offset->uncertaintyNs);
      lines << name + QStringLiteral(": ") + QString::fromStdString(text(*host.offset)) +
                   QStringLiteral(", taken off its times");
    } else {
      unknown << name;
      lines << QStringLiteral("%1: not compared yet; its ranks are not shown").arg(name);
    }
  }
  words.shortly =
      unknown.isEmpty()
          ? QStringLiteral("clock ") + plusMinus(worstNs)
          : QStringLiteral("clock of %1 unknown").arg(unknown.join(QStringLiteral(", ")));
  words.each = lines.join(u'\n');
  return words;
}

QString hostTitle(const trace::HostState& host, trace::RunKind kind) {
  const QString name = QString::fromStdString(host.info.name);
  if (host.info.host == trace::kRecordingHost) {
    return name + (kind == trace::RunKind::kImported
                       ? QStringLiteral(", whose clock is the reference")
                       : QStringLiteral(", which recorded the run"));
  }
  return host.offset
             ? QStringLiteral("%1, clock %2").arg(name, plusMinus(host.offset->uncertaintyNs))
             : QStringLiteral("%1, clock unknown").arg(name);
}

}  // namespace lockstep::ui
