#pragma once

#include <QThread>
#include <condition_variable>
#include <deque>
#include <filesystem>
#include <mutex>
#include <optional>

#include "engine/trace/RunFile.h"

namespace lockstep::ui {

/// Reads a run file on its own thread and hands what it finds over in chunks. The queue is
/// bounded: a slow consumer makes the reader wait, never the writer of the file.
class RunReader : public QThread {
  Q_OBJECT

 public:
  struct Chunk {
    trace::RunUpdate update;
    bool caughtUp = false;  ///< nothing newer was in the file when this was read
    bool live = false;      ///< found after the reader had caught up once
  };

  explicit RunReader(std::filesystem::path path);
  ~RunReader() override;

  /// Takes the oldest chunk. [any-thread]
  std::optional<Chunk> take();

 signals:
  /// At least one chunk waits; emitted when the queue was empty.
  void chunksWaiting();
  /// The file could not be opened or read; the thread has ended.
  void failed(const QString& sentence);

 protected:
  void run() override;

 private:
  bool put(Chunk chunk);
  bool sleepUntilNextPoll();

  const std::filesystem::path path_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Chunk> chunks_;
  bool stopping_ = false;
};

}  // namespace lockstep::ui
