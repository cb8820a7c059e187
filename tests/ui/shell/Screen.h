#pragma once

#include <QPoint>
#include <QRect>
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

/// Waits until a widget is on the screen and has found its place, and returns its middle there.
QPoint middleOf(const QWidget* widget);
/// The same for a rectangle in a widget that may still be laid out, a row of a table for one.
QPoint middleOf(const QWidget* widget, const std::function<QRect()>& area);

/// How many pixels of the picture have this colour (0xRRGGBB), within `tolerance` a channel.
int countPixels(const Screenshot& shot, std::uint32_t color, int tolerance = 2);

/// The topmost row of at least `minimumWidth` pixels of `color` side by side, one pixel high;
/// empty when there is none.
QRect findLine(const Screenshot& shot, std::uint32_t color, int minimumWidth);

/// The folder of the built programs.
QString programs();

/// Keeps a picture where LOCKSTEP_TEST_SCREENSHOTS names a folder, for eyes.
void keep(const Screenshot& shot, const QString& name);

}  // namespace lockstep::tests
