#pragma once

#include <QList>

#include "ui/views/buckets/BucketsView.h"
#include "ui/views/compare/CompareView.h"
#include "ui/views/divergence/DivergenceView.h"
#include "ui/views/hooks/HooksView.h"
#include "ui/views/live/LiveView.h"
#include "ui/views/overlap/OverlapView.h"
#include "ui/views/ranks/RanksView.h"
#include "ui/views/timeline/TimelineView.h"
#include "ui/views/whatif/WhatIfView.h"

namespace lockstep::ui {

class Stages;

/// The views of the open run, by their kinds; the stages own them.
struct Views {
  /// Makes them and gives each a tab; a GL canvas must be there before the window is shown.
  explicit Views(Stages& stages);

  LiveView* live;
  TimelineView* timeline;
  BucketsView* buckets;
  OverlapView* overlap;
  DivergenceView* divergence;
  HooksView* hooks;
  CompareView* compare;
  RanksView* ranks;
  WhatIfView* whatIf;

  [[nodiscard]] QList<RunView*> all() const {
    return {live, timeline, buckets, overlap, divergence, hooks, compare, ranks, whatIf};
  }
};

}  // namespace lockstep::ui
