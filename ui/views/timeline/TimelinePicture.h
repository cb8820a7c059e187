#pragma once

#include <QSize>
#include <optional>

#include "ui/canvas/Palette.h"
#include "ui/canvas/Picture.h"
#include "ui/model/RunModel.h"

namespace lockstep::ui {

/// Draws a loaded run's timeline, all ranks and a legend, without a display (a QGuiApplication
/// on the offscreen platform is enough). `size` is in logical pixels; a height of 0 takes what
/// the lanes need. Without a range it shows what is worth a first look (FirstLook.h). [ui-thread]
Picture timelinePicture(const RunModel& model, QSize size, Theme theme,
                        std::optional<TimeRange> range = std::nullopt);

}  // namespace lockstep::ui
