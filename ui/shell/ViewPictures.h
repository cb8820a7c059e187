#pragma once

#include <QSize>
#include <QString>
#include <QStringList>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "engine/base/Result.h"
#include "engine/export/RankChoice.h"
#include "ui/canvas/Palette.h"
#include "ui/canvas/Picture.h"
#include "ui/model/RunAnalyser.h"
#include "ui/model/RunModel.h"

namespace lockstep::ui {

/// A run as pictures need it.
struct PicturedRun {
  const RunModel* model = nullptr;
  std::shared_ptr<const AnalysedRun> analysed;  ///< null: not analysed
};

/// The views that can be drawn into a picture, by the names of the stages.
QStringList picturedViews();

/// How many runs a view's picture shows: 2 for "compare", else 1.
int runsOfPicture(const QString& view);

/// Whether it is made of the analysis of its runs; that of others needs their events alone.
bool pictureNeedsAnalysis(const QString& view);

/// Draws a view of loaded runs; a height of 0 takes what the view needs. `range` is for the
/// timeline alone, `step` for the buckets; `ranks` for views which have a lane a rank. [ui-thread]
/// Errors: no such view, too few runs, a run without events or one that could not be analysed,
/// ranks that the first run has not.
base::Result<Picture> viewPicture(const QString& view, const std::vector<PicturedRun>& runs,
                                  QSize size, Theme theme,
                                  std::optional<TimeRange> range = std::nullopt,
                                  std::optional<std::uint32_t> step = std::nullopt,
                                  const exports::RankChoice& ranks = {});

}  // namespace lockstep::ui
