#pragma once

#include <QByteArray>
#include <QList>
#include <QString>

class QDockWidget;
class QMainWindow;
class QWidget;

namespace lockstep::ui {

struct Panels;
class Settings;

/// The docks around the stage and how they are arranged: one arrangement a layout ("live",
/// "analyse", "compare"), each kept from one start to the next. While the start page is in sight,
/// docks that speak of an open run are hidden; they come back as they were. [ui-thread]
class Docks {
 public:
  /// Puts each panel into a dock of the window.
  Docks(QMainWindow& window, const Panels& panels, Settings& settings);

  /// Shows the dock of a panel, in front of those that share its place.
  void bring(const QWidget* panel) const;
  /// The dock of a panel.
  [[nodiscard]] static QDockWidget* of(const QWidget* panel);
  /// All, in the order in which menus list them.
  [[nodiscard]] const QList<QDockWidget*>& all() const { return all_; }
  /// Those below the stage, in one place.
  [[nodiscard]] QList<QDockWidget*> below() const;

  /// Gives window and docks the places in which they were left.
  void restore();
  /// Remembers them.
  void keep();

  [[nodiscard]] const QString& layout() const { return layout_; }
  void setLayout(const QString& name);
  /// Arranges the docks of this layout as they usually are.
  void resetLayout();

  /// Hides what speaks of an open run, or brings it back.
  void setRunInSight(bool inSight);

 private:
  QDockWidget* add(const char* name, const QString& title, QWidget* panel, Qt::DockWidgetArea area,
                   QDockWidget* over = nullptr);
  void arrange();

  QMainWindow& window_;
  const Panels& panels_;
  Settings& settings_;
  QList<QDockWidget*> all_;
  QString layout_;
  bool runInSight_ = true;
  QByteArray usual_;    // the arrangement when all are shown
  QByteArray withRun_;  // the arrangement while the start page hides some
};

}  // namespace lockstep::ui
