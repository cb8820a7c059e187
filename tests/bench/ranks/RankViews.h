#pragma once

#include <QSizeF>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "ui/canvas/DisplayList.h"
#include "ui/model/RunAnalyser.h"
#include "ui/model/RunModel.h"

namespace lockstep::bench {

/// One frame of a view, drawn anew with the pointer at a place: `part`, 0..1, of the way that
/// frames of a zoom go over the run.
using DrawFrame = std::function<ui::DisplayList(double part)>;

/// A view at one zoom, or in one of its orders.
struct ViewZoom {
  std::string name;
  DrawFrame draw;
};

/// A view of a run of many ranks as the studio opens it. What it shows stays with its zooms.
struct ViewOfRun {
  std::string name;
  /// Makes what it shows; returns its zooms. The run outlives these.
  std::function<std::vector<ViewZoom>(const ui::RunModel&, std::shared_ptr<const ui::AnalysedRun>,
                                      QSizeF)>
      make;
};

/// Every view that draws ranks, in the order of the studio.
std::vector<ViewOfRun> viewsOfRanks();

}  // namespace lockstep::bench
