#pragma once

#include <QByteArray>
#include <QString>
#include <memory>

namespace lockstep::ui {

/// A file that holds the latest text it was given, for texts that come faster than a disk may
/// take them: each is written by a thread of the pool, and one that waits gives way to the next.
/// A reader sees a whole text, the new one or the one before. Nobody waits until a text has reached
/// the disk. After a failure nothing more is written. [ui-thread]
class FileOfLatest {
 public:
  explicit FileOfLatest(const QString& path);
  /// Writes what still waits: the last text is never lost.
  ~FileOfLatest();
  FileOfLatest(const FileOfLatest&) = delete;
  FileOfLatest& operator=(const FileOfLatest&) = delete;

  void write(const QByteArray& text);

  /// What went wrong, "FILE: why"; empty while nothing did.
  [[nodiscard]] QString mistake() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace lockstep::ui
