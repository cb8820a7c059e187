#pragma once

#include <QRectF>
#include <QString>
#include <vector>

#include "engine/buckets/BucketPlan.h"
#include "engine/experiment/Experiment.h"
#include "ui/canvas/DisplayList.h"
#include "ui/canvas/Palette.h"
#include "ui/panels/setup/ModelDescriber.h"

namespace lockstep::ui {

/// Which buckets an experiment's model will have, by its shapes alone.
struct BucketForecast {
  std::vector<ModelParameter> parameters;  ///< those that are in buckets
  buckets::BucketPlan first;               ///< of the first iteration
  buckets::BucketPlan rebuilt;             ///< of all that follow
  bool rebuilds = true;                    ///< false: `rebuilt` is `first`
  QString problem;                         ///< why there is none; a sentence
  std::size_t left = 0;                    ///< parameters that are in no bucket

  /// "5 buckets of 4.2 MiB; the largest holds 1.9 MiB." and how it came about.
  [[nodiscard]] QString summary(bool afterRebuild) const;
};

/// Assigns as the reducer will (engine/buckets). The order in which gradients get ready is taken
/// to be that of the parameters from the last to the first, which a run may differ from.
BucketForecast forecastBuckets(const std::vector<ModelParameter>& parameters,
                               const experiment::Experiment& experiment);

/// Draws a plan: a row a bucket, in it a cell a parameter as wide as its bytes, and a line where
/// the cap stands. A pure function of its arguments.
class BucketPreviewScene {
 public:
  BucketPreviewScene(const BucketForecast& forecast, bool afterRebuild, const Palette& palette,
                     double width);

  [[nodiscard]] double height() const;
  void draw(DisplayList& list) const;
  /// What stands at a point, in lines; empty where nothing does.
  [[nodiscard]] QString describe(QPointF at) const;

 private:
  [[nodiscard]] QRectF bar(std::size_t bucket) const;
  [[nodiscard]] double scale() const;

  const BucketForecast& forecast_;
  const buckets::BucketPlan& plan_;
  const Palette& palette_;
  double width_;
  std::uint64_t longest_ = 1;
};

}  // namespace lockstep::ui
