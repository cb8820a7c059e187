#pragma once

#include <QStringList>

class QWidget;

namespace lockstep::tests {

/// Returns what in a window cannot be read or reached as large as it is, one line each with the
/// name of the widget: words that are wider or higher than their label, button, tab or column and
/// are told whole by no tooltip, and visible widgets that reach out of the window or of what they
/// stand in. What an area scrolls may be out of sight, and is judged by itself.
QStringList cutIn(const QWidget& window);

}  // namespace lockstep::tests
