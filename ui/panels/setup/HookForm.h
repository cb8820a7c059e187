#pragma once

#include <QString>
#include <QStringList>
#include <QWidget>
#include <optional>
#include <string>
#include <vector>

class QPushButton;
class QVBoxLayout;

namespace lockstep::plugin {
struct HookInfo;
}

namespace lockstep::ui {

class FieldEditor;
class HookCatalog;
class SetupDraft;

/// The hook of the experiment and the hooks inside it: for each its name, its library and the
/// parameters that its plugin describes. [ui-thread]
class HookForm : public QWidget {
  Q_OBJECT

 public:
  /// Both outlive the form.
  HookForm(SetupDraft& draft, const HookCatalog& catalog, QWidget* parent = nullptr);

  /// Shows its fields as FieldEditor::setBrief does, those to come, too.
  void setBrief();
  /// Hooks of plugins that are to be offered, as the hook manager has them; before this, all.
  void setOffered(const QStringList& hooks);
  /// Shows the draft and what is known of its plugins.
  void refresh();
  /// Hides what does not match, all when `needle` is empty; returns how many are left.
  int filter(const QString& needle, bool advanced);
  [[nodiscard]] std::vector<FieldEditor*> editors() const;

 private:
  /// One hook: the outermost, or one inside. Its name stays while what hangs on it is made anew.
  struct Level {
    std::string prefix;  ///< "hook.", "hook.inner."
    std::string hook;    ///< the name that the parameters were made for
    bool known = false;  ///< whether its plugin had answered then
    QWidget* box = nullptr;
    QWidget* told = nullptr;  ///< what the plugin says of the hook, and its parameters
    FieldEditor* name = nullptr;
    FieldEditor* library = nullptr;
    std::vector<FieldEditor*> params;

    [[nodiscard]] std::vector<FieldEditor*> fields() const;
  };

  void addLevel();
  void describe(Level& level);
  void setName(const std::string& prefix, const std::string& toml);
  [[nodiscard]] std::string hookAt(const std::string& prefix) const;
  /// What the plugin of the hook there says of it; null for the engine's own and unknown ones.
  [[nodiscard]] const plugin::HookInfo* infoAt(const std::string& prefix) const;

  SetupDraft& draft_;
  const HookCatalog& catalog_;
  std::vector<Level> levels_;
  QVBoxLayout* layout_ = nullptr;
  QPushButton* addInner_ = nullptr;
  QPushButton* removeInner_ = nullptr;
  std::optional<QStringList> allowed_;  // of plugins; nothing: all
  QStringList offered_;
  QString needle_;
  bool advanced_ = false;
  bool brief_ = false;
};

}  // namespace lockstep::ui
