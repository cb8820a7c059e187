#pragma once

#include <QList>
#include <QWidget>

class QDockWidget;

namespace lockstep::ui {

/// A button for each of the docks below the stage: it shows its dock, and pressed again closes all
/// of them, so that the picture has the room. [ui-thread]
class DockButtons : public QWidget {
 public:
  explicit DockButtons(const QList<QDockWidget*>& docks, QWidget* parent = nullptr);

 private:
  void add(QDockWidget* dock);

  const QList<QDockWidget*> docks_;
};

}  // namespace lockstep::ui
