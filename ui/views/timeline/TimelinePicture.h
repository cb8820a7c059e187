#pragma once

#include <QImage>
#include <QSize>
#include <QString>
#include <optional>

#include "engine/base/Result.h"
#include "ui/canvas/Palette.h"
#include "ui/canvas/Picture.h"
#include "ui/model/RunModel.h"

namespace lockstep::ui {

/// Draws a loaded run's timeline, all ranks and a legend, without a display (a QGuiApplication
/// on the offscreen platform is enough). `size` is in logical pixels; a height of 0 takes what
/// the lanes need. Without a range it shows what is worth a first look (FirstLook.h). [ui-thread]
Picture timelinePicture(const RunModel& model, QSize size, Theme theme,
                        std::optional<TimeRange> range = std::nullopt);

/// The same as an image.
QImage renderTimeline(const RunModel& model, QSize size, Theme theme,
                      std::optional<TimeRange> range = std::nullopt, double scale = 1.0);

/// Does the same into a file, by its ending: .png, .svg or .pdf.
/// Errors: another ending, a run without spans, a path that cannot be written.
base::Status saveTimeline(const RunModel& model, const QString& path, QSize size, Theme theme,
                          std::optional<TimeRange> range = std::nullopt, double scale = 2.0);

}  // namespace lockstep::ui
