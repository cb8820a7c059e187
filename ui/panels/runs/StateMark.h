#pragma once

class QColor;
class QPainter;
class QRectF;

namespace lockstep::ui {

struct RunEntry;

/// What a run's state looks like. Each has a shape of its own, so that its colour is not all that
/// tells it apart.
enum class StateMark {
  kStarting,      ///< a ring
  kRunning,       ///< a triangle to the right
  kFinished,      ///< a tick
  kFailed,        ///< a cross
  kStopped,       ///< a square
  kDiverged,      ///< not equal
  kRecorderDied,  ///< an exclamation mark
  kUnread,        ///< three dots
  kUnreadable     ///< a question mark
};

StateMark stateMarkOf(const RunEntry& run);
void drawStateMark(QPainter& painter, const QRectF& square, StateMark mark, const QColor& ink);

}  // namespace lockstep::ui
