#pragma once

#include <QAction>
#include <QDialog>
#include <QList>
#include <QString>
#include <vector>

#include "ui/shell/KeySheet.h"
#include "ui/shell/Settings.h"

class QKeySequenceEdit;
class QLabel;
class QPushButton;
class QTreeWidget;
class QTreeWidgetItem;

namespace lockstep::ui {

/// The text of a command as a sentence has it: without its mnemonic and its dots. [ui-thread]
QString plainText(const QAction* action);

/// The keys of all commands: the built-in ones, and what the user made of them, which is kept in
/// the settings. [ui-thread]
class KeyBindings {
 public:
  /// Takes the built-in keys from the actions as they are, then gives them the user's.
  KeyBindings(const std::vector<KeySheet::Group>& groups, Settings& settings);

  [[nodiscard]] const std::vector<KeySheet::Group>& groups() const { return groups_; }
  [[nodiscard]] QList<QKeySequence> builtIn(const QAction* action) const;
  [[nodiscard]] bool isBuiltIn(const QAction* action) const;

  /// Gives an action other keys, none included, from now on.
  void set(QAction* action, const QList<QKeySequence>& keys);
  void reset(QAction* action);

  /// The action that already has this key where `action` would hear it; null when it is free.
  /// Two views may use one key: it goes to the view that has the focus.
  [[nodiscard]] QAction* holder(const QKeySequence& key, const QAction* action) const;

  /// What the settings know an action by.
  static QString idOf(const QAction* action);

 private:
  struct Command {
    QAction* action;
    QList<QKeySequence> builtIn;
  };

  [[nodiscard]] const Command* find(const QAction* action) const;

  std::vector<KeySheet::Group> groups_;
  std::vector<Command> commands_;
  Settings& settings_;
};

/// Changes keys: choose a command, press the new key. A key that something else has is refused
/// with its name. [ui-thread]
class KeyEditor : public QDialog {
  Q_OBJECT

 public:
  /// `bindings` outlives the dialog.
  explicit KeyEditor(KeyBindings& bindings, QWidget* parent = nullptr);

 private:
  void filter(const QString& text);
  void chosen();
  void assign();
  void clearKeys();
  void resetKeys();
  void showKeysOf(QTreeWidgetItem* item);
  [[nodiscard]] QAction* current() const;

  KeyBindings& bindings_;
  QTreeWidget* tree_;
  QKeySequenceEdit* edit_;
  QLabel* said_;
  QPushButton* assign_;
  QPushButton* clear_;
  QPushButton* reset_;
};

}  // namespace lockstep::ui
