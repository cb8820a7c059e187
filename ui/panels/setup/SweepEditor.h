#pragma once

#include <QString>
#include <QWidget>
#include <string>
#include <vector>

class QLabel;
class QLineEdit;
class QMenu;
class QVBoxLayout;

namespace lockstep::ui {

class HookCatalog;
class SetupDraft;

/// What the experiment varies: a key a row, with the values that its runs have. [ui-thread]
class SweepEditor : public QWidget {
  Q_OBJECT

 public:
  /// Both outlive the editor.
  SweepEditor(SetupDraft& draft, const HookCatalog& catalog, QWidget* parent = nullptr);

  void refresh();
  /// Whether a key that is varied matches.
  [[nodiscard]] bool matches(const QString& needle) const;
  [[nodiscard]] bool hasMistake() const;

 private:
  struct Axis {
    std::string key;
    QWidget* box = nullptr;
    QLineEdit* values = nullptr;
    QLabel* mistake = nullptr;
  };

  void addBox(const std::string& key);
  void fillMenu();
  void vary(const std::string& key);
  void typed(const std::string& key, const QString& text);

  SetupDraft& draft_;
  const HookCatalog& catalog_;
  std::vector<Axis> axes_;
  QVBoxLayout* layout_ = nullptr;
  QLabel* about_ = nullptr;
  QMenu* menu_ = nullptr;
};

}  // namespace lockstep::ui
