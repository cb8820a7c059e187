#pragma once

#include <QElapsedTimer>

#include "ui/model/Span.h"

namespace lockstep::ui {

/// The way of a picture from one stretch of time to another, so that eyes can follow where it went.
/// The range that is gone to is there at once; on the way only what is drawn lags behind.
class Glide {
 public:
  /// Sets out from what is drawn now; in no time at all with 0 ms.
  void begin(const TimeRange& from, int lengthMs);
  void end() { lengthMs_ = 0; }
  [[nodiscard]] bool moving() const { return lengthMs_ > 0; }
  /// What is drawn for one frame, `atMs` after the begin; from the end on, `to`.
  TimeRange step(const TimeRange& to, qint64 atMs);
  [[nodiscard]] qint64 elapsedMs() const { return moving() ? since_.elapsed() : 0; }
  /// What the last frame drew.
  [[nodiscard]] const TimeRange& drawn() const { return drawn_; }

 private:
  TimeRange from_;
  TimeRange drawn_;
  int lengthMs_ = 0;
  QElapsedTimer since_;
};

}  // namespace lockstep::ui
