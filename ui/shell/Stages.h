#pragma once

#include <QList>
#include <QString>
#include <QWidget>

#include "ui/stage/RunView.h"

class QHBoxLayout;
class QStackedWidget;
class QTabBar;
class QVBoxLayout;

namespace lockstep::ui {

/// The views of the open run, one in sight at a time, with a tab for each. [ui-thread]
class Stages : public QWidget {
  Q_OBJECT

 public:
  explicit Stages(QWidget* parent = nullptr);

  /// `name` is what settings and the command line know it by: "timeline". Takes the view.
  void add(const QString& name, const QString& title, const QString& tip, RunView* view);

  /// Puts widgets into the room that the tabs leave beside them: one that takes what there is, and
  /// one at the end. Takes them.
  void setCorner(QWidget* corner, QWidget* end);
  /// Puts a widget between the tabs and the views. Takes it.
  void setFront(QWidget* front);

  void setRun(const OpenRun& run);
  void setTheme(Theme theme);

  [[nodiscard]] QStringList names() const;
  [[nodiscard]] QString titleOf(const QString& name) const;
  /// What it shows, a sentence.
  [[nodiscard]] QString tipOf(const QString& name) const;
  [[nodiscard]] RunView* view(const QString& name) const;
  [[nodiscard]] QString current() const;
  [[nodiscard]] RunView* currentView() const;
  /// Shows a view and gives it the focus; an unknown name changes nothing.
  void setCurrent(const QString& name);

 private:
  struct Stage {
    QString name;
    QString title;
    RunView* view;
  };

  QList<Stage> stages_;
  QTabBar* tabs_;
  QHBoxLayout* row_;
  QStackedWidget* stack_;
  QVBoxLayout* column_;
};

}  // namespace lockstep::ui
