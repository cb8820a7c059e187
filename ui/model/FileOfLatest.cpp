#include "ui/model/FileOfLatest.h"

#include <QFile>
#include <QFileInfo>
#include <cerrno>
#include <condition_variable>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <optional>
#include <utility>

#include "ui/model/BackgroundJob.h"

namespace lockstep::ui {
namespace {

// Returns what went wrong.
QString replace(const QString& path, const QByteArray& text) {
  const auto failed = [](const QString& file, const QString& why) {
    return file + QStringLiteral(": ") + why;
  };
  if (const QFileInfo there(path); there.exists() && !there.isFile()) {
    return failed(path, QStringLiteral("is not a file"));
  }
  QFile part(path + QStringLiteral(".part"));
  if (!part.open(QIODevice::WriteOnly) || part.write(text) != text.size() || !part.flush()) {
    const QString mistake = failed(part.fileName(), part.errorString());
    part.remove();
    return mistake;
  }
  part.close();
  // QSaveFile would flush to the disk and wait until it is done, however long that takes. A reader
  // needs no more than the rename: it sees the old text or the new one.
  if (std::rename(QFile::encodeName(part.fileName()), QFile::encodeName(path)) != 0) {
    const QString mistake = failed(path, QString::fromLocal8Bit(std::strerror(errno)));
    part.remove();
    return mistake;
  }
  return {};
}

}  // namespace

struct FileOfLatest::State {
  QString path;
  std::mutex mutex;
  std::condition_variable written;
  std::optional<QByteArray> waiting;
  bool queued = false;   // a job of the pool will look
  bool writing = false;  // by whoever, outside the lock
  QString mistake;

  void writeWhatWaits() {
    std::unique_lock lock(mutex);
    // Two may be here, the pool's job and the destructor. One writes at a time, so that an older
    // text never comes after a newer one.
    written.wait(lock, [this] { return !writing; });
    // The text that came while another was being written takes the next turn; those between are
    // dropped.
    while (waiting && mistake.isEmpty()) {
      const QByteArray text = *std::exchange(waiting, std::nullopt);
      writing = true;
      lock.unlock();
      const QString failure = replace(path, text);
      lock.lock();
      writing = false;
      mistake = failure;
      written.notify_all();
    }
  }
};

FileOfLatest::FileOfLatest(const QString& path) : state_(std::make_shared<State>()) {
  state_->path = path;
}

// Not left to the pool, which may have other things to do first.
FileOfLatest::~FileOfLatest() {
  state_->writeWhatWaits();
}

void FileOfLatest::write(const QByteArray& text) {
  std::lock_guard lock(state_->mutex);
  state_->waiting = text;
  if (!std::exchange(state_->queued, true)) {
    startInBackground([state = state_] {
      {
        std::lock_guard began(state->mutex);
        // Before it writes: a text that comes from now on may miss this turn, and asks for another
        // job.
        state->queued = false;
      }
      state->writeWhatWaits();
    });
  }
}

QString FileOfLatest::mistake() const {
  std::lock_guard lock(state_->mutex);
  return state_->mistake;
}

}  // namespace lockstep::ui
