#pragma once

#include <QString>

#include "ui/views/buckets/BucketStory.h"

namespace lockstep::ui {

/// Says in a sentence or two why there are no buckets to show; null: no run is open. [ui-thread]
QString whyNoBuckets(const RunModel* model, BucketStories& stories);

}  // namespace lockstep::ui
