#include "ui/shell/OutputFollower.h"

#include <QFile>
#include <QFileInfo>
#include <utility>

namespace lockstep::ui {
namespace {

constexpr int kReadEveryMs = 200;
constexpr qint64 kPiece = 1 << 20;
constexpr qint64 kMost = 8 << 20;  // of an output that nobody records yet
constexpr int kKept = 1000;

}  // namespace

OutputFollower::OutputFollower(QObject* parent) : QObject(parent) {
  connect(&timer_, &QTimer::timeout, this, [this] { read(false); });
}

void OutputFollower::follow(const QString& path) {
  stop();
  path_ = path;
  timer_.start(kReadEveryMs);
}

void OutputFollower::finish() {
  timer_.stop();
  // Reading has stopped at kMost, so there may be much more than is worth showing.
  if (const qint64 size = QFileInfo(path_).size(); size - at_ > kMost) {
    at_ = size - kPiece;  // how it ended counts
    begun_.clear();
  }
  for (qint64 before = -1; at_ != before;) {
    before = at_;
    read(true);
  }
}

void OutputFollower::stop() {
  timer_.stop();
  path_.clear();
  at_ = 0;
  begun_.clear();
  lines_.clear();
}

void OutputFollower::read(bool toTheEnd) {
  QFile file(path_);
  if ((at_ >= kMost && !toTheEnd) || !file.open(QIODevice::ReadOnly) || !file.seek(at_)) {
    return;
  }
  const QByteArray bytes = file.read(kPiece);
  at_ += bytes.size();
  QList<QByteArray> parts = (begun_ + bytes).split('\n');
  // What is after the last line feed: a line whose end has not been written yet, or nothing.
  begun_ = parts.takeLast();
  if (toTheEnd && bytes.isEmpty()) {
    parts.append(std::exchange(begun_, {}));
  }
  QStringList fresh;
  for (QByteArray& part : parts) {
    while (part.endsWith('\r')) {
      part.chop(1);
    }
    // A progress bar returns to the start of its line.
    const QString line = QString::fromUtf8(part.mid(part.lastIndexOf('\r') + 1));
    if (!line.trimmed().isEmpty()) {
      fresh.append(line);
    }
  }
  if (fresh.isEmpty()) {
    return;
  }
  if (at_ >= kMost && !toTheEnd) {
    fresh.append(tr("(the rest of it stands in %1)").arg(path_));
  }
  lines_ = (lines_ + fresh).mid(qMax<qsizetype>(0, lines_.size() + fresh.size() - kKept));
  emit grew(fresh);
}

}  // namespace lockstep::ui
