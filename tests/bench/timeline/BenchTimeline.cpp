#include <fmt/format.h>

#include <QElapsedTimer>
#include <QEventLoop>
#include <QGuiApplication>
#include <QImage>
#include <QPainter>
#include <QTimer>
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "ui/canvas/PainterBackend.h"
#include "ui/model/Format.h"
#include "ui/views/timeline/TimelineOverview.h"
#include "ui/views/timeline/TimelineScene.h"

// bench_timeline FILE [WIDTH HEIGHT]: opens a run file as the studio does, and draws its timeline
// by the raster painter at every zoom from the whole run down to 100 ns, panned over the run.
// Prints one JSON object. It needs no display.
namespace lockstep::ui {
namespace {

constexpr int kFramesAZoom = 24;
constexpr double kZoomStep = 4;
constexpr double kNarrowestNs = 100;
constexpr int kOpeningLimitMs = 120'000;

// Resident memory of this process, in bytes.
double residentBytes() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmRSS:")) {
      return std::strtod(line.c_str() + 6, nullptr) * 1024;
    }
  }
  return 0;
}

double percentile(std::vector<double> values, double fraction) {
  std::sort(values.begin(), values.end());
  const auto last = static_cast<double>(values.size() - 1);
  return values[static_cast<std::size_t>(std::ceil(last * fraction))];
}

struct Bench {
  RunModel& model;
  QImage image;
  TimelineLayout layout;
  QStringList zooms;
  std::vector<double> all;
  double worst = 0;
  double worstP95 = 0;

  double frameMs(TimeRange range) {
    QElapsedTimer clock;
    clock.start();
    TimelineFrame frame;
    frame.size = QSizeF(image.width(), image.height() - kOverviewHeight);
    frame.range = range;
    const Palette& palette = Palette::of(Theme::kLight);
    DisplayList list;
    TimelineScene(model, layout, palette, frame).draw(list);
    DisplayList overview;
    OverviewFrame whole;
    whole.shown = range;
    drawOverview(overview, QRectF(0, 0, image.width(), kOverviewHeight), model, palette, whole);
    QPainter painter(&image);
    paint(overview, painter);
    painter.translate(0, kOverviewHeight);
    paint(list, painter);
    painter.end();
    return static_cast<double>(clock.nsecsElapsed()) / 1e6;
  }

  void run() {
    const TimeRange extent = model.extent();
    for (double length = extent.lengthNs() * 1.04; length > kNarrowestNs; length /= kZoomStep) {
      std::vector<double> frames;
      for (int i = 0; i < kFramesAZoom; ++i) {
        const double part = (i + 0.5) / kFramesAZoom;
        const double middle = extent.startNs + extent.lengthNs() * part;
        frames.push_back(frameMs({middle - length / 2, middle + length / 2}));
      }
      const double p95 = percentile(frames, 0.95);
      zooms << QStringLiteral("    {\"shown_ns\": %1, \"p50_ms\": %2, \"p95_ms\": %3}")
                   .arg(length, 0, 'f', 0)
                   .arg(percentile(frames, 0.5), 0, 'f', 2)
                   .arg(p95, 0, 'f', 2);
      worstP95 = std::max(worstP95, p95);
      all.insert(all.end(), frames.begin(), frames.end());
    }
  }
};

int bench(const std::string& path, QSize size) {
  const double before = residentBytes();
  QElapsedTimer clock;
  clock.start();
  RunModel model{std::filesystem::path(path)};
  QEventLoop loop;
  QString failure = QStringLiteral("it was not open within two minutes");
  bool loaded = false;
  QObject::connect(&model, &RunModel::loaded, &loop, [&] {
    loaded = true;
    loop.quit();
  });
  QObject::connect(&model, &RunModel::failed, &loop, [&](const QString& sentence) {
    failure = sentence;
    loop.quit();
  });
  QTimer::singleShot(kOpeningLimitMs, &loop, &QEventLoop::quit);
  loop.exec();
  const double openMs = static_cast<double>(clock.elapsed());
  if (!loaded || model.spanCount() == 0) {
    fmt::print(stderr, "bench_timeline: {}: {}\n", path, failure.toStdString());
    return 1;
  }
  QCoreApplication::processEvents();
  const double added = residentBytes() - before;

  Bench bench{model,
              QImage(size, QImage::Format_ARGB32_Premultiplied),
              TimelineLayout(model, {}),
              {},
              {},
              0,
              0};
  bench.frameMs(model.extent());  // fonts and glyphs
  bench.run();
  fmt::print(
      "{{\n  \"spans\": {},\n  \"open_ms\": {:.0f},\n  \"added_mb\": {:.1f},\n"
      "  \"width\": {}, \"height\": {},\n  \"p95_ms\": {:.2f},\n"
      "  \"worst_zoom_p95_ms\": {:.2f},\n  \"worst_zoom_frames_per_s\": {:.1f},\n"
      "  \"zooms\": [\n{}\n  ]\n}}\n",
      model.spanCount(), openMs, added / 1e6, size.width(), size.height(),
      percentile(bench.all, 0.95), bench.worstP95, 1000 / bench.worstP95,
      bench.zooms.join(QStringLiteral(",\n")).toStdString());
  return 0;
}

}  // namespace
}  // namespace lockstep::ui

int main(int argc, char** argv) {
  qputenv("QT_QPA_PLATFORM", "offscreen");
  QGuiApplication application(argc, argv);
  const QStringList arguments = QGuiApplication::arguments();
  const QSize size =
      arguments.size() == 4 ? QSize(arguments[2].toInt(), arguments[3].toInt()) : QSize(1280, 800);
  if ((arguments.size() != 2 && arguments.size() != 4) || size.width() < 200 ||
      size.height() < 200) {
    fmt::print(stderr, "usage: bench_timeline FILE [WIDTH HEIGHT]\n");
    return 2;
  }
  return lockstep::ui::bench(arguments[1].toStdString(), size);
}
