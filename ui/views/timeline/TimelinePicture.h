#pragma once

#include <QSize>
#include <optional>
#include <vector>

#include "ui/canvas/Palette.h"
#include "ui/canvas/Picture.h"
#include "ui/model/RunModel.h"

namespace lockstep::ui {

/// Of which ranks a picture is.
struct PicturedRanks {
  std::vector<int> shown = {};   ///< empty: all
  std::vector<int> unlike = {};  ///< of many those that are named, where that is known
};

/// Pictures of many ranks are no higher, in logical pixels: twice as many of the screen's.
inline constexpr double kHighestPicture = 2000;

/// Draws a loaded run's timeline, its ranks and a legend, without a display (a QGuiApplication
/// on the offscreen platform is enough). `size` is in logical pixels; a height of 0 takes what
/// the lanes need; of a run of many ranks lanes are folded, the last first, where there would be
/// too many. Without a range it shows what is worth a first look (FirstLook.h). [ui-thread]
Picture timelinePicture(const RunModel& model, QSize size, Theme theme,
                        std::optional<TimeRange> range = std::nullopt,
                        const PicturedRanks& ranks = {});

}  // namespace lockstep::ui
