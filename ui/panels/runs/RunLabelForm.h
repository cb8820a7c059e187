#pragma once

#include <QWidget>
#include <vector>

#include "ui/panels/runs/RunEntry.h"

class QLabel;
class QLineEdit;

namespace lockstep::ui {

/// Lines below the list in which people write what a run is called, its tags and a note; of several
/// runs the tags that they have in common. Enter keeps what is written, Esc does not. [ui-thread]
class RunLabelForm : public QWidget {
  Q_OBJECT

 public:
  enum class Field { kName, kTags, kNote };

  explicit RunLabelForm(QWidget* parent = nullptr);

  /// Shows what is known of these runs, and gives a line the keyboard.
  void edit(std::vector<RunEntry> runs, Field field);
  void save();

 signals:
  /// A run is to have another label.
  void saved(const QString& run, const lockstep::ui::RunLabel& label);
  /// It went out of sight: the keyboard belongs to the list again.
  void closed();

 private:
  void dismiss();
  [[nodiscard]] RunLabel labelFor(const RunEntry& run) const;

  std::vector<RunEntry> runs_;
  QStringList common_;  // tags that all of them had
  QLabel* title_;
  QLineEdit* name_;
  QLineEdit* tags_;
  QLineEdit* note_;
};

}  // namespace lockstep::ui
