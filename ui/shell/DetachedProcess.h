#pragma once

#include <QString>
#include <QStringList>
#include <optional>
#include <sys/types.h>

#include "engine/base/Result.h"

namespace lockstep::ui {

/// A child in a session of its own with its output in a file: nothing that happens to the
/// studio, kill -9 included, reaches it. It is asked for its end without waiting, and left
/// alone when this object goes. [ui-thread]
class DetachedProcess {
 public:
  /// What a child has in place of the studio's own.
  struct Place {
    QString folder = {};           ///< empty: the studio's
    QStringList environment = {};  ///< "NAME=value" each, on top of the studio's
  };

  /// Starts `program` with `arguments`; stdout and stderr are appended to `outputPath`.
  /// Errors: the output cannot be written, the program cannot be started, no such folder.
  static base::Result<DetachedProcess> start(const QString& program, const QStringList& arguments,
                                             const QString& outputPath, const Place& place);

  /// Returns how it ended, once it has: its exit code, or 128 + the signal that ended it.
  std::optional<int> poll();

  /// Sends SIGINT, as Ctrl-C does; does nothing after its end.
  void interrupt() const;

  [[nodiscard]] pid_t pid() const { return pid_; }

 private:
  explicit DetachedProcess(pid_t pid) : pid_(pid) {}

  pid_t pid_;
  std::optional<int> ended_;
};

}  // namespace lockstep::ui
