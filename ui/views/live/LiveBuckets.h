#pragma once

#include "ui/views/live/LiveContent.h"

namespace lockstep::ui {

/// Returns the iteration that a rank is in, or ended last, and how far its buckets are. Looks at
/// the latest spans alone. [ui-thread]
LiveRank bucketsNow(const RunModel& model, int rank);

}  // namespace lockstep::ui
