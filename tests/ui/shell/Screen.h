#pragma once

#include <QPoint>
#include <QString>
#include <chrono>
#include <functional>

#include "tests/ui/shell/XServer.h"
#include "tests/ui/shell/XTestClient.h"

class QWidget;

namespace lockstep::tests {

constexpr int kScreenWidth = 1280;
constexpr int kScreenHeight = 800;
constexpr std::chrono::seconds kPatience{30};

/// Runs the event loop until `condition` holds; returns false when it does not within
/// `patience`.
bool waitUntil(const std::function<bool()>& condition,
               std::chrono::milliseconds patience = kPatience);

/// Waits until a widget is on the screen and has been laid out, and returns its middle there.
QPoint middleOf(const QWidget* widget);

/// How many pixels of the picture have this colour (0xRRGGBB), within `tolerance` a channel.
int countPixels(const Screenshot& shot, std::uint32_t color, int tolerance = 2);

/// A point in the topmost row in which `color` stands in at least `minimumWidth` pixels side by
/// side; (-1, -1) when there is none.
QPoint findBand(const Screenshot& shot, std::uint32_t color, int minimumWidth);

/// Keeps a picture where LOCKSTEP_TEST_SCREENSHOTS names a folder, for eyes.
void keep(const Screenshot& shot, const QString& name);

}  // namespace lockstep::tests
