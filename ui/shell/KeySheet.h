#pragma once

#include <QAction>
#include <QDialog>
#include <QList>
#include <QString>
#include <vector>

namespace lockstep::ui {

/// Lists what the keys do, read from the actions themselves so that it cannot be wrong, and
/// what the mouse does in the timeline. [ui-thread]
class KeySheet : public QDialog {
  Q_OBJECT

 public:
  struct Group {
    QString title;
    QList<QAction*> actions;
  };
  explicit KeySheet(const std::vector<Group>& groups, QWidget* parent = nullptr);
};

}  // namespace lockstep::ui
