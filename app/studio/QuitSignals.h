#pragma once

#include <QSocketNotifier>
#include <memory>

#include "engine/base/posix/WakeUp.h"

namespace lockstep::studio {

/// Lets SIGINT, SIGTERM and SIGHUP close the studio as its window's button does: what it remembers
/// is written, and it may ask about what is not saved. A second signal ends it at once. A SIGHUP
/// that was ignored (nohup) stays so. There is one of these, on the GUI thread; the program's exit
/// status is then exitCode().
class QuitSignals {
 public:
  QuitSignals();
  /// From then on signals end the program at once.
  ~QuitSignals();
  QuitSignals(const QuitSignals&) = delete;
  QuitSignals& operator=(const QuitSignals&) = delete;

  /// Returns 128 + the signal that came, as a shell names such an end; `without` where none did.
  [[nodiscard]] int exitCode(int without) const;

 private:
  posix::WakeUp wakeUp_;
  std::unique_ptr<QSocketNotifier> notifier_;  // null: signals are not taken
};

}  // namespace lockstep::studio
