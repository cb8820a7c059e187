#include <fmt/format.h>

#include <QElapsedTimer>
#include <QGuiApplication>
#include <QImage>
#include <QPainter>
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "ui/canvas/PainterBackend.h"
#include "ui/views/ranks/RanksScene.h"

// bench_ranks FILE: compares the ranks of a run file as the studio does, and draws their landscape
// by the raster painter with the pointer moving over it, in each order. Prints one JSON object. It
// needs no display.
namespace lockstep::ui {
namespace {

constexpr int kFrames = 40;

double msSince(const QElapsedTimer& clock) {
  return static_cast<double>(clock.nsecsElapsed()) / 1e6;
}

/// The 95th percentile of frames with the pointer at places all over the map.
double frameP95(RanksMap& map, QImage& image) {
  std::vector<double> times;
  for (int i = 0; i < kFrames; ++i) {
    QElapsedTimer clock;
    clock.start();
    RanksFrame frame{image.size(), std::nullopt};
    frame.pointer = QPointF(image.width() * (i + 0.5) / kFrames,
                            image.height() * (0.3 + 0.6 * (i * 7 % kFrames) / kFrames));
    const DisplayList list = drawn(RanksScene(map, Palette::of(Theme::kLight), frame));
    QPainter painter(&image);
    paint(list, painter);
    painter.end();
    times.push_back(msSince(clock));
  }
  std::sort(times.begin(), times.end());
  return times[static_cast<std::size_t>(std::ceil(0.95 * (kFrames - 1)))];
}

int bench(const std::string& path) {
  AnalysedRun run;
  auto data = analysis::readRunData(path);
  const auto summary = trace::readRunSummary(path);
  if (!data.ok() || !summary.ok()) {
    fmt::print(stderr, "bench_ranks: {}\n", (data.ok() ? summary.error() : data.error()).message());
    return 1;
  }
  run.data = std::move(data).value();
  QElapsedTimer clock;
  clock.start();
  run.analysis = analysis::analyse(run.data);
  const double analyseMs = msSince(clock);
  clock.restart();
  const analysis::Landscape table =
      analysis::landscape(run.analysis, analysis::allSteps(run.analysis));
  const double landscapeMs = msSince(clock);
  clock.restart();
  run.ranks = placesOf(summary.value().ranks);
  const diagnosis::RankLikeness& likeness = run.likeness();
  const double likenessMs = msSince(clock);
  const auto content = ranksContent(run, RanksOfRun());
  QImage image(1280, 640, QImage::Format_ARGB32_Premultiplied);
  double worst = 0;
  double foldMs = 0;
  for (const RankOrder order :
       {RankOrder::kNumber, RankOrder::kFigure, RankOrder::kHost, RankOrder::kAlike}) {
    RanksMap map;
    clock.restart();
    map.show(content, RankFigure::kStep, order);
    RanksScene(map, Palette::of(Theme::kLight), {image.size(), std::nullopt});
    foldMs = std::max(foldMs, msSince(clock));
    worst = std::max(worst, frameP95(map, image));
  }
  fmt::print(
      "{{\"ranks\": {}, \"columns\": {}, \"unlike\": {}, \"analyse_ms\": {:.0f}, "
      "\"landscape_ms\": {:.0f}, \"likeness_ms\": {:.0f}, \"fold_ms\": {:.1f}, "
      "\"frame_p95_ms\": {:.2f}, \"frames_per_s\": {:.1f}}}\n",
      table.ranks.size(), table.columns, likeness.unlike.size(), analyseMs, landscapeMs, likenessMs,
      foldMs, worst, 1000 / worst);
  return 0;
}

}  // namespace
}  // namespace lockstep::ui

int main(int argc, char** argv) {
  qputenv("QT_QPA_PLATFORM", "offscreen");
  QGuiApplication application(argc, argv);
  if (argc != 2) {
    fmt::print(stderr, "usage: bench_ranks FILE\n");
    return 2;
  }
  return lockstep::ui::bench(argv[1]);
}
