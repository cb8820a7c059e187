#pragma once

#include <QSize>
#include <cstdint>
#include <optional>
#include <vector>

#include "ui/canvas/Palette.h"
#include "ui/canvas/Picture.h"
#include "ui/model/RunModel.h"

namespace lockstep::ui {

/// Draws the buckets of one iteration of a loaded run: their parameters and caps, what became of
/// them, and the ready order. Without `step` it shows a typical iteration (typicalStep). A height
/// of 0 takes what the buckets need. `ranks`: of many those that it shows. [ui-thread]
Picture bucketsPicture(const RunModel& model, QSize size, Theme theme,
                       std::optional<std::uint32_t> step = std::nullopt,
                       const std::vector<int>& ranks = {});

}  // namespace lockstep::ui
