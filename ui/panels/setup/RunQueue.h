#pragma once

#include <QAbstractListModel>
#include <QString>
#include <QStringList>

namespace lockstep::ui {

/// Experiment files that wait for their turn: the next one is started when no run goes on. The
/// window starts it, and says when it has ended. [ui-thread]
class RunQueue : public QAbstractListModel {
  Q_OBJECT

 public:
  explicit RunQueue(QObject* parent = nullptr);

  /// Adds a file at the end; it is started at once when nothing runs.
  void add(const QString& tomlPath);
  void removeAt(int row);
  /// Moves a file up (-1) or down (1).
  void move(int row, int by);
  void clear();
  [[nodiscard]] const QStringList& files() const { return files_; }

  /// Puts a file that could not be started back in front. The queue then waits for `goOn`, since
  /// what keeps one from starting is likely to keep the others too.
  void putBack(const QString& tomlPath, const QString& reason);
  /// Why it waits for `goOn`; empty when it does not.
  [[nodiscard]] const QString& reasonToWait() const { return reasonToWait_; }

  /// Whether a run goes on, of the queue or not.
  [[nodiscard]] bool isRunning() const { return running_; }

  [[nodiscard]] int rowCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] QVariant data(const QModelIndex& index, int role) const override;

 public slots:
  /// The window started a run by itself: the queue waits for its end.
  void runStarted();
  /// The run has ended, or could not be started: the next one is asked for.
  void runEnded();
  void goOn();

 signals:
  void reasonToWaitChanged();
  /// The window is to start this file and to answer with `runEnded` once it has ended.
  void startRequested(const QString& tomlPath);

 private:
  void startNext();
  void setReasonToWait(const QString& reason);

  QStringList files_;
  QString reasonToWait_;
  bool running_ = false;
};

}  // namespace lockstep::ui
