#pragma once

#include <QWidget>
#include <cstdint>
#include <optional>

class QAction;
class QLabel;
class QLineEdit;

namespace lockstep::ui {

/// "it [412] / 1000" between the arrows that step through iterations. [ui-thread]
class IterationBox : public QWidget {
  Q_OBJECT

 public:
  /// `previous` and `next` are not owned; their buttons stand at both sides.
  IterationBox(QAction* previous, QAction* next, QWidget* parent = nullptr);

  /// The iteration in the middle of the timeline, and how many there are.
  void setIteration(std::optional<std::uint32_t> iteration, std::uint32_t count);

 signals:
  void jumpRequested(quint32 iteration);

 private:
  QLineEdit* number_ = nullptr;
  QLabel* total_ = nullptr;
};

}  // namespace lockstep::ui
