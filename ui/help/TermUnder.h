#pragma once

#include <QPoint>
#include <QString>

class QWidget;

namespace lockstep::ui {

/// The term of the glossary that stands in a widget at a point of the screen: of a widget that says
/// which it shows, of a cell or the title of its column, a tab, a button or a label, or of what a
/// canvas has there. The widget's parents are asked where it has none. Empty: none. [ui-thread]
QString termIn(QWidget* widget, QPoint onScreen);

/// The same of the widget under the pointer.
QString termUnderPointer();

}  // namespace lockstep::ui
