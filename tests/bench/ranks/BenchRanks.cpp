#include <fmt/format.h>

#include <QElapsedTimer>
#include <QGuiApplication>
#include <QImage>
#include <QPainter>
#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/bench/ranks/RankViews.h"
#include "tests/bench/timeline/OpenRun.h"
#include "ui/canvas/PainterBackend.h"

// bench_ranks FILE: opens a run of many ranks as the studio does, makes what each view shows of it,
// and draws each by the raster painter at every zoom, panned over the run with the pointer moving.
// Prints one JSON object. It needs no display.
namespace lockstep::bench {
namespace {

constexpr int kFrames = 40;
constexpr int kWidth = 1280;
constexpr int kHeight = 800;

double msSince(const QElapsedTimer& clock) {
  return static_cast<double>(clock.nsecsElapsed()) / 1e6;
}

/// The 95th percentile of the frames of a zoom, in ms.
double frameP95(const ViewZoom& zoom, QImage& image) {
  std::vector<double> times;
  for (int i = 0; i < kFrames; ++i) {
    QElapsedTimer clock;
    clock.start();
    const ui::DisplayList list = zoom.draw((i + 0.5) / kFrames);
    QPainter painter(&image);
    ui::paint(list, painter);
    painter.end();
    times.push_back(msSince(clock));
  }
  return percentile(std::move(times), 0.95);
}

nlohmann::json measured(const ViewOfRun& view, const ui::RunModel& model,
                        const std::shared_ptr<const ui::AnalysedRun>& run) {
  QImage image(kWidth, kHeight, QImage::Format_ARGB32_Premultiplied);
  QElapsedTimer clock;
  clock.start();
  const std::vector<ViewZoom> zooms = view.make(model, run, QSizeF(image.size()));
  nlohmann::json of{{"made_ms", msSince(clock)}, {"worst_p95_ms", 0.0}, {"zooms", {}}};
  double worst = 0;
  for (const ViewZoom& zoom : zooms) {
    const double p95 = frameP95(zoom, image);
    of["zooms"][zoom.name] = p95;
    if (p95 >= worst) {
      worst = p95;
      of["worst_zoom"] = zoom.name;
    }
  }
  of["worst_p95_ms"] = worst;
  of["frames_per_s"] = worst > 0 ? 1000 / worst : 0;
  return of;
}

int bench(const std::string& path) {
  QElapsedTimer clock;
  clock.start();
  ui::RunModel model{std::filesystem::path(path)};
  if (const QString failure = waitUntilOpen(model); !failure.isEmpty()) {
    fmt::print(stderr, "bench_ranks: {}: {}\n", path, failure.toStdString());
    return 1;
  }
  nlohmann::json told{{"ranks", model.rankCount()}, {"spans", model.spanCount()}};
  told["open_ms"] = msSince(clock);
  told["open_mb"] = mostResidentBytes() / 1e6;
  clock.restart();
  auto run = std::make_shared<ui::AnalysedRun>();
  run->data = model.snapshot();
  run->analysis = analysis::analyse(run->data);
  told["analyse_ms"] = msSince(clock);
  told["analysed_mb"] = mostResidentBytes() / 1e6;
  for (const ViewOfRun& view : viewsOfRanks()) {
    told["views"][view.name] = measured(view, model, run);
    told["views"][view.name]["after_mb"] = residentBytes() / 1e6;
  }
  told["most_mb"] = mostResidentBytes() / 1e6;
  fmt::print("{}\n", told.dump(2));
  return 0;
}

}  // namespace
}  // namespace lockstep::bench

int main(int argc, char** argv) {
  qputenv("QT_QPA_PLATFORM", "offscreen");
  QGuiApplication application(argc, argv);
  if (argc != 2) {
    fmt::print(stderr, "usage: bench_ranks FILE\n");
    return 2;
  }
  return lockstep::bench::bench(argv[1]);
}
