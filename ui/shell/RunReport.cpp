#include "ui/shell/RunReport.h"

#include <QCoreApplication>
#include <QStringList>
#include <cmath>

#include "ui/model/Format.h"
#include "ui/panels/RunEntry.h"
#include "ui/shell/RunSession.h"

namespace lockstep::ui {
namespace {

// Rank 0 reports for all; a loss that is no number is not worth a line.
std::optional<double> lastOf(const RunModel& model, const std::string& name) {
  const auto& points = model.metric(name, 0);
  if (points.empty() || !std::isfinite(points.back().value)) {
    return std::nullopt;
  }
  return points.back().value;
}

}  // namespace

RunReport reportOf(RunSession& session, const RunFigures* figures) {
  const RunModel& model = *session.model();
  RunReport report;
  if (figures != nullptr) {
    report.overlapPercent = figures->overlapPercent;
    report.exposedMs = figures->exposedMs;
  }
  report.accuracy = lastOf(model, "test_accuracy");
  report.loss = lastOf(model, "loss");
  return report;
}

QString RunReport::sentence(const QString& opening) const {
  const auto tr = [](const char* text) { return QCoreApplication::translate("RunReport", text); };
  QStringList parts;
  if (overlapPercent) parts << tr("overlap %1").arg(formatPercent(*overlapPercent, 0));
  if (exposedMs)
    parts << tr("%1 ms exposed per step (median, worst rank)").arg(*exposedMs, 0, 'f', 2);
  if (accuracy) parts << tr("accuracy %1").arg(formatPercent(*accuracy * 100));
  if (loss) parts << tr("loss %1").arg(*loss, 0, 'g', 3);
  return parts.isEmpty() ? opening : opening + QStringLiteral(": ") + parts.join(QStringLiteral(", "));
}

}  // namespace lockstep::ui
