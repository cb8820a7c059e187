#include "ui/panels/RangeButton.h"

#include "ui/model/Format.h"

namespace lockstep::ui {

RangeButton::RangeButton(const QString& tip, QWidget* parent) : QToolButton(parent) {
  setToolTip(tip);
  setAutoRaise(true);
  hide();
}

void RangeButton::setRange(const std::optional<TimeRange>& range) {
  words_.clear();
  if (range) {
    // Both ends with the digits that tell apart a hundredth of the stretch.
    const double fine = range->lengthNs() / 100;
    words_ = tr("%1 to %2")
                 .arg(formatTime(range->startNs, fine, range->endNs),
                      formatTime(range->endNs, fine, range->endNs));
    setText(words_ + QStringLiteral("  ✕"));
    setAccessibleName(tr("Only %1: %2").arg(words_, toolTip()));
  }
  setVisible(range.has_value());
}

}  // namespace lockstep::ui
