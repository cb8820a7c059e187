#pragma once

#include <QString>
#include <QWidget>
#include <functional>
#include <vector>

class QVBoxLayout;

namespace lockstep::ui {

/// Sentences above the stage, each with what can be done about it, until they are closed.
/// [ui-thread]
class MessageBar : public QWidget {
  Q_OBJECT

 public:
  enum class Kind { kInfo, kGood, kWarning, kError };
  struct Button {
    QString text;
    std::function<void()> act;
  };

  explicit MessageBar(QWidget* parent = nullptr);

  /// Shows a message in the place of the one with the same `key`; an error above all others. One
  /// that tells how far something is stays as it is, but for its text, while its buttons have the
  /// same names.
  void show(const QString& key, Kind kind, const QString& text, std::vector<Button> buttons = {});
  void dismiss(const QString& key);
  void dismissAll();
  [[nodiscard]] bool shows(const QString& key) const { return find(key) != nullptr; }

  /// Texts shown now, from the top.
  [[nodiscard]] QStringList texts() const;

 private:
  /// Null where it is not shown.
  [[nodiscard]] QWidget* find(const QString& key) const;

  QVBoxLayout* layout_ = nullptr;
};

}  // namespace lockstep::ui
