#pragma once

#include <QString>
#include <QWidget>
#include <functional>
#include <optional>
#include <string>

#include "engine/experiment/Schema.h"

class QCheckBox;
class QComboBox;
class QLabel;
class QLineEdit;
class QToolButton;

namespace lockstep::ui {

class SetupDraft;

/// One key of an experiment: its name, a widget for its value, unit, help and range, and below
/// them what is wrong with it. It shows what it is given; whether a value is right is not its
/// business. [ui-thread]
class FieldEditor : public QWidget {
  Q_OBJECT

 public:
  explicit FieldEditor(experiment::Field field, QWidget* parent = nullptr);

  [[nodiscard]] const experiment::Field& field() const { return field_; }
  /// Shows a value in TOML, or the default when the key is not written. What is being typed
  /// stays as it is when it means the same.
  void show(const std::optional<std::string>& written);
  /// An empty text takes the mistake away.
  void setMistake(const QString& text);
  [[nodiscard]] QString mistake() const;
  /// Whether key, name or help hold every word of `needle`.
  [[nodiscard]] bool matches(const QString& needle) const;
  /// Texts that are offered while one types, of a text.
  void offer(const QStringList& texts);
  void focusEditor();
  /// Shows name, value, unit and mistake alone; help and range are told under the pointer.
  void setBrief();
  /// Connects the editor to a draft: what is typed, or an empty text for a reset, goes to `set`;
  /// without it, to SetupDraft::setKey. Undo and redo are the draft's.
  void edits(SetupDraft& draft, const std::function<void(const std::string& toml)>& set);
  void edits(SetupDraft& draft);
  /// Shows what a draft holds of its key, and what is wrong with that.
  void showFrom(const SetupDraft& draft);
  /// Returns whether it is asked for: by the words looked for or, without any, by being of use
  /// often, written or wrong.
  [[nodiscard]] bool wanted(const SetupDraft& draft, const QString& needle, bool advanced) const;

 signals:
  /// A value in TOML, or empty to leave the key out.
  void edited(const QString& toml);
  void resetAsked();
  /// Undo or redo was pressed. It is the form's, since a line's own would know only its own text.
  void undoAsked(bool redo);

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  void makeEditor();
  void typed(const QString& text);
  void browse();
  void showText(const QString& text, bool isDefault);

  experiment::Field field_;
  QLineEdit* line_ = nullptr;
  QComboBox* combo_ = nullptr;
  QCheckBox* check_ = nullptr;
  QLabel* mistake_ = nullptr;
  QLabel* unit_ = nullptr;
  QLabel* help_ = nullptr;
  QWidget* marks_ = nullptr;  // has the next two
  QLabel* defaultMark_ = nullptr;
  QToolButton* reset_ = nullptr;
};

/// Whether a text holds every word of `needle`, in any case.
bool holdsWords(const std::string& all, const QString& needle);

/// What may be written and what stands if nothing is: "From 1 to 64. Default: 2."
QString rangeText(const experiment::Field& field);

}  // namespace lockstep::ui
