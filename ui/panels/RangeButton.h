#pragma once

#include <QToolButton>
#include <optional>

#include "ui/model/Span.h"

namespace lockstep::ui {

/// Names the time that a panel is restricted to; a click lifts that. Hidden while there is none.
/// [ui-thread]
class RangeButton : public QToolButton {
  Q_OBJECT

 public:
  /// `tip` says what a click does.
  explicit RangeButton(const QString& tip, QWidget* parent = nullptr);

  void setRange(const std::optional<TimeRange>& range);
  /// "1.20 s to 1.35 s"; empty without a range.
  [[nodiscard]] const QString& words() const { return words_; }

 private:
  QString words_;
};

}  // namespace lockstep::ui
