#pragma once

#include <QScrollArea>
#include <QString>
#include <QStringList>
#include <string>
#include <utility>
#include <vector>

class QLabel;

namespace lockstep::experiment {
struct Mistake;
}

namespace lockstep::ui {

class FaultList;
class FieldEditor;
class FieldGroup;
class HookCatalog;
class HookForm;
class SetupDraft;
class SweepEditor;

/// The keys of an experiment in groups that open and close, each with its mistake under it: those
/// of the schema, the hooks with what plugins say of them, faults, and what is varied. [ui-thread]
class SetupForm : public QScrollArea {
  Q_OBJECT

 public:
  /// Both outlive the form.
  SetupForm(SetupDraft& draft, const HookCatalog& catalog, QWidget* parent = nullptr);

  /// Shows the draft as it stands.
  void refresh();
  /// Shows the keys that hold every word of `needle`; without one those that are written, wrong or
  /// not `advanced`, or all.
  void filter(const QString& needle, bool advanced);
  /// Puts the cursor into the first field that is shown; none is: nothing happens.
  void focusFirst();
  void offerHooks(const QStringList& hooks);

  /// The editor of a key; null when it has none.
  [[nodiscard]] FieldEditor* find(const QString& key) const;
  /// Opens its group, scrolls there and puts the cursor into it.
  void bringUp(FieldEditor* editor);
  /// Whether a mistake stands under its field.
  [[nodiscard]] bool shows(const experiment::Mistake& mistake) const;

 private:
  void addFields(FieldGroup* group, const std::string& table);
  void summarize();
  [[nodiscard]] std::vector<std::pair<FieldEditor*, FieldGroup*>> allEditors() const;

  SetupDraft& draft_;
  std::vector<FieldGroup*> groups_;
  std::vector<std::pair<FieldEditor*, FieldGroup*>> editors_;  // of the schema
  QLabel* nothingFound_;
  HookForm* hooks_;
  FaultList* faults_;
  SweepEditor* sweep_;
  FieldGroup* hookGroup_ = nullptr;
  FieldGroup* faultGroup_ = nullptr;
  FieldGroup* sweepGroup_ = nullptr;
};

}  // namespace lockstep::ui
