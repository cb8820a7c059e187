#include "ui/views/timeline/Glide.h"

#include <QEasingCurve>

namespace lockstep::ui {

void Glide::begin(const TimeRange& from, int lengthMs) {
  from_ = from;
  drawn_ = from;
  lengthMs_ = from.empty() ? 0 : lengthMs;
  since_.start();
}

TimeRange Glide::step(const TimeRange& to, qint64 atMs) {
  if (atMs >= lengthMs_) {
    end();
    drawn_ = to;
    return drawn_;
  }
  // Fast at first: most of the way is done while one still looks for it.
  const double part = QEasingCurve(QEasingCurve::OutCubic)
                          .valueForProgress(static_cast<double>(atMs) / lengthMs_);
  drawn_ = {from_.startNs + part * (to.startNs - from_.startNs),
            from_.endNs + part * (to.endNs - from_.endNs)};
  return drawn_;
}

}  // namespace lockstep::ui
