#include "ui/views/timeline/TimelinePicture.h"

#include <QFileInfo>
#include <QPainter>
#include <QPdfWriter>
#include <QSvgGenerator>
#include <algorithm>
#include <cmath>
#include <vector>

#include "ui/canvas/PainterBackend.h"
#include "ui/canvas/TextMetrics.h"
#include "ui/model/Format.h"
#include "ui/views/timeline/FirstLook.h"
#include "ui/views/timeline/TimelineScene.h"

namespace lockstep::ui {
namespace {

constexpr double kTitleHeight = 38;
constexpr double kLegendHeight = 34;

struct Picture {
  DisplayList list;
  QSizeF size;
};

QString titleOfRun(const RunModel& model) {
  const QString name = QString::fromStdString(model.info().name);
  return name.isEmpty() ? QStringLiteral("Lockstep run") : name;
}

QString subtitle(const RunModel& model, TimeRange range) {
  QStringList parts;
  const int ranks = model.rankCount();
  parts << (ranks == 1 ? QStringLiteral("1 rank") : QStringLiteral("%1 ranks").arg(ranks));
  const auto first = model.stepAt(0, range.startNs + range.lengthNs() * 0.05);
  const auto last = model.stepAt(0, range.endNs - range.lengthNs() * 0.05);
  if (first && last) {
    parts << (first->step == last->step
                  ? QStringLiteral("iteration %1").arg(first->step)
                  : QStringLiteral("iterations %1 to %2").arg(first->step).arg(last->step)) +
                 QStringLiteral(" of %1").arg(formatCount(model.stepCount(0)));
  }
  const trace::BucketsMessage* layout = first ? model.layoutAt(first->step) : nullptr;
  if (layout != nullptr) {
    const std::size_t count = layout->buckets.size();
    parts << QStringLiteral("%1 %2").arg(count).arg(count == 1 ? QStringLiteral("bucket")
                                                               : QStringLiteral("buckets"));
  }
  parts << formatDuration(range.lengthNs()) + QStringLiteral(" shown");
  return parts.join(QStringLiteral("  ·  "));
}

Picture compose(const RunModel& model, QSize size, Theme theme, std::optional<TimeRange> range) {
  const Palette& palette = Palette::of(theme);
  const TimeRange shown = range.value_or(firstLook(model));
  const TimelineLayout layout(model, {}, shown);
  const double lanes = timeline_metrics::kRulerHeight + layout.height();
  Picture picture;
  picture.size = QSizeF(size.width(), size.height() > 0 ? size.height()
                                                        : kTitleHeight + lanes + kLegendHeight);
  TimelineFrame frame;
  frame.size = QSizeF(picture.size.width(), picture.size.height() - kTitleHeight - kLegendHeight);
  frame.range = shown;

  DisplayList& list = picture.list;
  list.fill(QRectF(QPointF(0, 0), picture.size), palette.background);
  const QString title = titleOfRun(model);
  const double width = textWidth(title, FontRole::kBold);
  list.text(QRectF(12, 0, width + 4, kTitleHeight), title, palette.text, FontRole::kBold);
  list.text(QRectF(12 + width + 16, 0, picture.size.width() - width - 40, kTitleHeight),
            subtitle(model, shown), palette.textMuted, FontRole::kSmall);

  DisplayList body;
  TimelineScene(model, layout, palette, frame).draw(body);
  list.append(body, QPointF(0, kTitleHeight));
  const double legendTop = picture.size.height() - kLegendHeight;
  list.fill(QRectF(0, legendTop, picture.size.width(), 1), palette.gridStrong);
  TimelineScene::drawLegend(
      list, QRectF(12, legendTop, picture.size.width() - 24, kLegendHeight), palette, model);
  return picture;
}

base::Error refused(const QString& path, const char* why) {
  return {base::ExitCode::kBadInput, why, path.toStdString()};
}

base::Error cannotWrite(const QString& path) {
  return {base::ExitCode::kEnvironment,
          "the picture cannot be written: check that the folder exists and is writable",
          path.toStdString()};
}

}  // namespace

QImage renderTimeline(const RunModel& model, QSize size, Theme theme,
                      std::optional<TimeRange> range, double scale) {
  const Picture picture = compose(model, size, theme, range);
  QImage image(static_cast<int>(std::lround(picture.size.width() * scale)),
               static_cast<int>(std::lround(picture.size.height() * scale)),
               QImage::Format_RGB32);
  QPainter painter(&image);
  painter.scale(scale, scale);
  paint(picture.list, painter);
  return image;
}

base::Status saveTimeline(const RunModel& model, const QString& path, QSize size, Theme theme,
                          std::optional<TimeRange> range, double scale) {
  if (model.spanCount() == 0) {
    return refused(path, "this run holds no events to draw");
  }
  const QString ending = QFileInfo(path).suffix().toLower();
  if (ending == QLatin1String("png")) {
    if (!renderTimeline(model, size, theme, range, scale).save(path, "PNG")) {
      return cannotWrite(path);
    }
    return {};
  }
  if (ending != QLatin1String("svg") && ending != QLatin1String("pdf")) {
    return refused(path, "a picture ends in .png, .svg or .pdf");
  }
  const Picture picture = compose(model, size, theme, range);
  QPainter painter;
  if (ending == QLatin1String("svg")) {
    QSvgGenerator svg;
    svg.setFileName(path);
    svg.setSize(picture.size.toSize());
    svg.setViewBox(QRectF(QPointF(0, 0), picture.size));
    svg.setTitle(titleOfRun(model));
    if (!painter.begin(&svg)) {
      return cannotWrite(path);
    }
    paint(picture.list, painter);
    painter.end();
    return {};
  }
  QPdfWriter pdf(path);
  constexpr int kDotsAnInch = 96;  // one logical pixel a dot
  pdf.setResolution(kDotsAnInch);
  pdf.setPageMargins(QMarginsF());
  pdf.setPageSize(QPageSize(picture.size * 72.0 / kDotsAnInch, QPageSize::Point));
  pdf.setTitle(titleOfRun(model));
  if (!painter.begin(&pdf)) {
    return cannotWrite(path);
  }
  paint(picture.list, painter);
  painter.end();
  return {};
}

}  // namespace lockstep::ui
