#pragma once

#include <QWidget>

class QLabel;
class QToolButton;
class QVBoxLayout;

namespace lockstep::ui {

/// Hides a widget of the form and deletes it a little later, since it may be its own button that
/// was pressed.
void discard(QWidget* widget);

/// A part of the form that opens and closes; its title says what is in it when it is closed.
/// [ui-thread]
class FieldGroup : public QWidget {
  Q_OBJECT

 public:
  explicit FieldGroup(const QString& title, QWidget* parent = nullptr);

  void add(QWidget* widget);
  /// What stands after the title: "2 changed"; `wrong` gives it the colour of mistakes.
  void setSummary(const QString& text, bool wrong);
  [[nodiscard]] QString summary() const;
  void setOpen(bool open);
  [[nodiscard]] bool isOpen() const;
  /// While searching, open whatever the user chose.
  void setForcedOpen(bool forced);
  [[nodiscard]] QString title() const { return title_; }

 private:
  void apply();

  QString title_;
  QToolButton* header_ = nullptr;
  QLabel* summary_ = nullptr;
  QWidget* body_ = nullptr;
  QVBoxLayout* rows_ = nullptr;
  bool forced_ = false;
};

}  // namespace lockstep::ui
