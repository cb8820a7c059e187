#include <fmt/format.h>

#include <QElapsedTimer>
#include <QGuiApplication>
#include <QImage>
#include <QPainter>
#include <algorithm>
#include <ctime>
#include <string>
#include <vector>

#include "tests/bench/timeline/OpenRun.h"
#include "ui/canvas/PainterBackend.h"
#include "ui/model/Format.h"
#include "ui/views/timeline/TimelineOverview.h"
#include "ui/views/timeline/TimelineScene.h"

// bench_timeline FILE [WIDTH HEIGHT]: opens a run file as the studio does, and draws its timeline
// by the raster painter at every zoom from the whole run down to 100 ns, panned over the run.
// Prints one JSON object, times by the clock on the wall and, since others may keep the processor
// busy, by the processor's. It needs no display.
namespace lockstep::ui {
namespace {

constexpr int kFramesAZoom = 24;
constexpr double kZoomStep = 4;
constexpr double kNarrowestNs = 100;

using bench::percentile;
using bench::residentBytes;

double cpuMs(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) / 1e6;
}

struct FrameTime {
  double wallMs = 0;
  double cpuMs = 0;
};

struct Bench {
  RunModel& model;
  QImage image;
  TimelineLayout layout;
  QStringList zooms;
  double worstP95 = 0;
  double worstCpuP95 = 0;

  FrameTime drawFrame(TimeRange range) {
    QElapsedTimer clock;
    clock.start();
    const double cpuBefore = cpuMs(CLOCK_THREAD_CPUTIME_ID);
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
    return {static_cast<double>(clock.nsecsElapsed()) / 1e6,
            cpuMs(CLOCK_THREAD_CPUTIME_ID) - cpuBefore};
  }

  void run() {
    const TimeRange extent = model.extent();
    for (double length = extent.lengthNs() * 1.04; length > kNarrowestNs; length /= kZoomStep) {
      std::vector<double> wall;
      std::vector<double> cpu;
      for (int i = 0; i < kFramesAZoom; ++i) {
        const double part = (i + 0.5) / kFramesAZoom;
        const double middle = extent.startNs + extent.lengthNs() * part;
        const FrameTime time = drawFrame({middle - length / 2, middle + length / 2});
        wall.push_back(time.wallMs);
        cpu.push_back(time.cpuMs);
      }
      zooms << QString::fromStdString(fmt::format(
          "    {{\"shown_ns\": {:.0f}, \"p50_ms\": {:.2f}, \"p95_ms\": {:.2f}, "
          "\"p95_cpu_ms\": {:.2f}}}",
          length, percentile(wall, 0.5), percentile(wall, 0.95), percentile(cpu, 0.95)));
      worstP95 = std::max(worstP95, percentile(wall, 0.95));
      worstCpuP95 = std::max(worstCpuP95, percentile(cpu, 0.95));
    }
  }
};

int bench(const std::string& path, QSize size) {
  const double before = residentBytes();
  QElapsedTimer clock;
  clock.start();
  const double cpuBefore = cpuMs(CLOCK_PROCESS_CPUTIME_ID);
  RunModel model{std::filesystem::path(path)};
  const QString failure = bench::waitUntilOpen(model);
  const double openCpuMs = cpuMs(CLOCK_PROCESS_CPUTIME_ID) - cpuBefore;
  const double openMs = static_cast<double>(clock.elapsed());
  if (!failure.isEmpty()) {
    fmt::print(stderr, "bench_timeline: {}: {}\n", path, failure.toStdString());
    return 1;
  }
  QCoreApplication::processEvents();
  const double added = residentBytes() - before;

  Bench bench{
      model, QImage(size, QImage::Format_ARGB32_Premultiplied), TimelineLayout(model, {}), {}};
  bench.drawFrame(model.extent());  // fonts and glyphs
  bench.run();
  fmt::print(
      "{{\n  \"spans\": {},\n  \"open_ms\": {:.0f},\n  \"open_cpu_ms\": {:.0f},\n"
      "  \"added_mb\": {:.1f},\n  \"width\": {}, \"height\": {},\n"
      "  \"worst_zoom_p95_ms\": {:.2f},\n  \"worst_zoom_frames_per_s\": {:.1f},\n"
      "  \"worst_zoom_p95_cpu_ms\": {:.2f},\n  \"zooms\": [\n{}\n  ]\n}}\n",
      model.spanCount(), openMs, openCpuMs, added / 1e6, size.width(), size.height(),
      bench.worstP95, 1000 / bench.worstP95, bench.worstCpuP95,
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
