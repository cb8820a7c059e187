#pragma once

#include <QString>
#include <QWidget>
#include <string>
#include <vector>

class QLabel;
class QVBoxLayout;

namespace lockstep::ui {

class FieldEditor;
class SetupDraft;

/// The faults of the experiment, each with the keys of its kind; they are added and removed one
/// by one. [ui-thread]
class FaultList : public QWidget {
  Q_OBJECT

 public:
  /// `draft` outlives the list.
  explicit FaultList(SetupDraft& draft, QWidget* parent = nullptr);

  void refresh();
  /// Returns how many keys of faults hold `needle`, whether there are faults or not; of an empty
  /// one, how many faults there are. Hides nothing.
  int filter(const QString& needle);
  [[nodiscard]] std::vector<FieldEditor*> editors() const;

 private:
  struct Fault {
    QWidget* box = nullptr;
    QLabel* title = nullptr;
    std::vector<FieldEditor*> fields;
  };

  void addBox();
  void set(std::size_t index, const std::string& leaf, const std::string& toml);
  [[nodiscard]] std::string kindOf(std::size_t index) const;

  SetupDraft& draft_;
  std::vector<Fault> faults_;
  QVBoxLayout* layout_ = nullptr;
  QLabel* none_ = nullptr;
};

}  // namespace lockstep::ui
