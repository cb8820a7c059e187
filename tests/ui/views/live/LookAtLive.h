#pragma once

#include <QSizeF>
#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "engine/trace/Event.h"
#include "tests/ui/model/DemoRun.h"
#include "tests/ui/model/Feed.h"
#include "ui/views/live/LiveContent.h"
#include "ui/views/live/LiveScene.h"

namespace lockstep::ui::test {

inline constexpr std::uint64_t kMs = 1'000'000;

/// What the view of live runs shows of a model at the end of what has come.
inline LiveContent look(const RunModel& model, std::shared_ptr<const AnalysedRun> run = nullptr) {
  LiveFeed feed;
  feed.setModel(&model);
  feed.update(std::move(run));
  return liveContent(model, feed, model.extent().endNs);
}

/// What is drawn of it. `alone`: as in a picture.
inline DisplayList drawn(const RunModel& model, const LiveContent& content, const QSizeF& size,
                         bool alone = false) {
  DisplayList list;
  LiveScene(model, content, Palette::of(Theme::kLight), {size, std::nullopt, alone}).draw(list);
  return list;
}

/// A run and what the analysis says of it.
inline std::shared_ptr<AnalysedRun> analysed(const trace::RunUpdate& update) {
  auto run = std::make_shared<AnalysedRun>();
  run->data.take(update);
  run->analysis = analysis::analyse(run->data);
  return run;
}

/// The demo whose rank 1 is late beyond doubt.
inline DemoOptions demoWithLateRank() {
  DemoOptions options;
  options.slowFactor = 1.6;
  return options;
}

/// The demo whose rank 0 has no loss any more from iteration 30 on.
inline trace::RunUpdate demoThatLosesItsLoss() {
  trace::RunUpdate run = demoRun();
  for (trace::MetricRow& metric : run.metrics) {
    if (metric.name == "loss" && metric.rank == 0 && metric.step >= 30) {
      metric.value = std::nan("");
    }
  }
  return run;
}

/// Nine ranks of which 4 is the fastest and 7 the slowest.
inline trace::RunUpdate nineSpeeds() {
  Feed feed(9);
  for (int rank = 0; rank < 9; ++rank) {
    const std::uint64_t each = (rank == 4 ? 5 : rank == 7 ? 30 : 10) * kMs;
    for (std::uint32_t step = 0; step < 10; ++step) {
      feed.span(2 * rank + 1, trace::EventKind::kStep, step * each, (step + 1) * each, step);
    }
  }
  return feed.take();
}

/// Nine ranks whose losses are their numbers. Rank 8 has only begun: where it alone is, or is not,
/// nothing is said of all.
inline trace::RunUpdate nineInABand() {
  Feed feed(9);
  for (int rank = 0; rank < 9; ++rank) {
    for (std::uint32_t step = 0; step < (rank == 8 ? 2u : 40u); ++step) {
      feed.span(2 * rank + 1, trace::EventKind::kStep, step * 10 * kMs, (step + 1) * 10 * kMs,
                step);
      trace::MetricRow loss;
      loss.rank = rank;
      loss.name = "loss";
      loss.step = step;
      loss.ticks = (step + 1) * 10 * kMs;
      loss.value = rank;
      feed.update.metrics.push_back(loss);
    }
  }
  return feed.take();
}

}  // namespace lockstep::ui::test
