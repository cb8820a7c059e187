#include "ui/shell/ViewPictures.h"

#include <functional>
#include <map>
#include <string>

#include "engine/base/Try.h"
#include "ui/model/ViewState.h"
#include "ui/views/buckets/BucketsPicture.h"
#include "ui/views/compare/ComparePicture.h"
#include "ui/views/divergence/DivergencePicture.h"
#include "ui/views/hooks/HooksPicture.h"
#include "ui/views/live/LivePicture.h"
#include "ui/views/overlap/OverlapPicture.h"
#include "ui/views/ranks/RanksPicture.h"
#include "ui/views/timeline/TimelinePicture.h"
#include "ui/views/whatif/WhatIfPicture.h"

namespace lockstep::ui {
namespace {

using Runs = std::vector<PicturedRun>;
using Step = std::optional<std::uint32_t>;
using Draw = std::function<Picture(const Runs&, QSize, Theme, Step, const PicturedRanks&)>;

const QString kTimeline = QStringLiteral("timeline");
const QString kBuckets = QStringLiteral("buckets");

// All but the timeline, which is drawn of a stretch of time.
const std::map<QString, Draw>& otherViews() {
  static const std::map<QString, Draw> views{
      {QStringLiteral("live"),
       [](const Runs& runs, QSize size, Theme theme, Step, const PicturedRanks&) {
         return livePicture(*runs[0].model, runs[0].analysed, size, theme);
       }},
      {kBuckets,
       [](const Runs& runs, QSize size, Theme theme, Step step, const PicturedRanks& ranks) {
         return bucketsPicture(*runs[0].model, size, theme, step, ranks.shown);
       }},
      {QStringLiteral("overlap"),
       [](const Runs& runs, QSize size, Theme theme, Step, const PicturedRanks& ranks) {
         return overlapPicture(*runs[0].model, *runs[0].analysed, size, theme, ranks.shown);
       }},
      {QStringLiteral("ranks"),
       [](const Runs& runs, QSize size, Theme theme, Step, const PicturedRanks&) {
         return ranksPicture(*runs[0].model, *runs[0].analysed, size, theme);
       }},
      {QStringLiteral("divergence"),
       [](const Runs& runs, QSize size, Theme theme, Step, const PicturedRanks&) {
         return divergencePicture(*runs[0].model, runs[0].analysed, size, theme);
       }},
      {QStringLiteral("hooks"),
       [](const Runs& runs, QSize size, Theme theme, Step, const PicturedRanks&) {
         return hooksPicture(*runs[0].model, *runs[0].analysed, size, theme);
       }},
      {QStringLiteral("whatif"),
       [](const Runs& runs, QSize size, Theme theme, Step, const PicturedRanks&) {
         return whatIfPicture(*runs[0].model, runs[0].analysed, size, theme);
       }},
      {QStringLiteral("compare"),
       [](const Runs& runs, QSize size, Theme theme, Step, const PicturedRanks&) {
         return comparePicture(*runs[0].model, *runs[0].analysed, *runs[1].model, *runs[1].analysed,
                               size, theme);
       }}};
  return views;
}

}  // namespace

QStringList picturedViews() {
  QStringList names{kTimeline};
  for (const auto& [name, draw] : otherViews()) {
    names.append(name);
  }
  return names;
}

bool pictureNeedsAnalysis(const QString& view) {
  return view != kTimeline && view != kBuckets;
}

int runsOfPicture(const QString& view) {
  return view == QStringLiteral("compare") ? 2 : 1;
}

base::Result<Picture> viewPicture(const QString& view, const std::vector<PicturedRun>& runs,
                                  QSize size, Theme theme, std::optional<TimeRange> range,
                                  Step step, const exports::RankChoice& ranks) {
  const auto refused = [&](const std::string& why) {
    return base::Error{base::ExitCode::kBadInput, why, view.toStdString()};
  };
  const auto other = otherViews().find(view);
  if (view != kTimeline && other == otherViews().end()) {
    return refused("is no view; there are " +
                   picturedViews().join(QStringLiteral(", ")).toStdString());
  }
  const auto needed = static_cast<std::size_t>(runsOfPicture(view));
  if (runs.size() < needed) {
    return refused("its picture needs " + std::to_string(needed) + " runs");
  }
  for (std::size_t i = 0; i < needed; ++i) {
    const PicturedRun& run = runs[i];
    const std::string file = run.model->path().string();
    if (run.model->spanCount() == 0) {
      return base::Error{base::ExitCode::kBadInput, "this run holds no events to draw", file};
    }
    if (pictureNeedsAnalysis(view) && run.analysed == nullptr) {
      return base::Error{base::ExitCode::kBadInput, "this run could not be analysed", file};
    }
  }
  const RunModel& model = *runs[0].model;
  PicturedRanks pictured;
  const bool named = view == kTimeline && model.rankCount() > static_cast<int>(kFewRanks);
  if (runs[0].analysed != nullptr && (named || ranks.outliers)) {
    pictured.unlike = runs[0].analysed->likeness().outliers();
  }
  pictured.shown = LOCKSTEP_TRY(exports::ranksOf(ranks, model.rankCount(), pictured.unlike));
  return view == kTimeline ? timelinePicture(*runs[0].model, size, theme, range, pictured)
                           : other->second(runs, size, theme, step, pictured);
}

}  // namespace lockstep::ui
