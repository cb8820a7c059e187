#pragma once

#include <QWidget>
#include <optional>

#include "ui/model/SpanFinder.h"

class QAction;
class QLabel;
class QLineEdit;
class QToolButton;

namespace lockstep::ui {

/// A line below a timeline in which people type what they look for, with the number of matches.
/// [ui-thread]
class FindLine : public QWidget {
  Q_OBJECT

 public:
  explicit FindLine(QWidget* parent = nullptr);

  /// The commands that its buttons stand for: their tooltips name the keys.
  void setCommands(const QAction* previous, const QAction* next, const QAction* close);
  [[nodiscard]] QString text() const;
  /// Types for the user; `queryChanged` follows when it is new.
  void setText(const QString& text);
  /// Says what the finder has found so far, and which of it is selected.
  void showResult(const SpanFinder& finder, const std::optional<Span>& selected);
  /// Takes the keyboard, with the text selected.
  void begin();

 signals:
  void queryChanged(const QString& text);
  /// 1: the next match is wanted, -1: the one before.
  void goWanted(int direction);
  void closeWanted();

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  QLineEdit* line_;
  QLabel* result_;
  QToolButton* previous_;
  QToolButton* next_;
  QToolButton* close_;
};

}  // namespace lockstep::ui
