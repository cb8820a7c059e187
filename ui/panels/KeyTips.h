#pragma once

#include <QString>

class QAction;
class QWidget;

namespace lockstep::ui {

/// The key that stands for a command, as people read it: "Ctrl+F"; empty when it has none.
QString keyText(const QAction* command);

/// Gives a widget a tooltip that ends in the key of a command, "Find spans (Ctrl+F)", and keeps it
/// true when the user gives the command another key. A later tip takes its place. [ui-thread]
void setTip(QWidget* widget, const QString& tip, const QAction* command);
/// The same for the command's own tooltip, which its buttons show.
void setTip(QAction* command, const QString& tip);

}  // namespace lockstep::ui
