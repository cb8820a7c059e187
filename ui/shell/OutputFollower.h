#pragma once

#include <QObject>
#include <QString>
#include <QStringList>
#include <QTimer>

namespace lockstep::ui {

/// Reads what a process appends to its output file, line by line, before there is a run file that
/// holds it. [ui-thread]
class OutputFollower : public QObject {
  Q_OBJECT

 public:
  explicit OutputFollower(QObject* parent = nullptr);

  /// Reads this file from its start, and what comes to it from now on.
  void follow(const QString& path);
  /// Reads what is left, or the end of it where that is much, and the last line though it has no
  /// end; follows no longer.
  void finish();
  /// Follows no longer, and forgets what was read.
  void stop();

  [[nodiscard]] QString path() const { return path_; }
  /// The lines that were read, the last thousand of them.
  [[nodiscard]] const QStringList& lines() const { return lines_; }

 signals:
  void grew(const QStringList& lines);

 private:
  void read(bool toTheEnd);

  QString path_;
  qint64 at_ = 0;
  QByteArray begun_;  // a line that has no end yet
  QStringList lines_;
  QTimer timer_;
};

}  // namespace lockstep::ui
