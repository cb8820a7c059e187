#pragma once

#include <QObject>
#include <QPointer>
#include <cstdint>

#include "ui/model/RunModel.h"
#include "ui/model/ViewState.h"

class QTimer;

namespace lockstep::ui {

/// Says when a panel that works something out from a run is to do so anew: at once when it is
/// asked to and in sight, else when it comes into sight; again and again as a run is read; as it
/// grows, so often that the work takes a part of the time at most; and once it has ended.
/// [ui-thread]
class RunRefresh : public QObject {
  Q_OBJECT

 public:
  /// `panel` owns this. After work that took a time, a growing run rests `restPerWork` times that.
  RunRefresh(QWidget& panel, int restPerWork);

  /// Neither is owned; null: none. The panel is asked to work.
  void setRun(RunModel* model, ViewState* state);
  /// Asks for the work.
  void ask();
  /// The same after a pause in typing.
  void askWhenTyped();
  /// The work that `due` asked for is done and took that long; 0 where it could not be done.
  void worked(qint64 tookMs);
  /// Whether what the panel shows is not yet what there is.
  [[nodiscard]] bool waiting() const { return stale_ || working_; }

 signals:
  /// Work now, with or without a run; what was at work may be left. `worked` follows.
  void due();

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  void modelChanged();

  QWidget& panel_;
  const int restPerWork_;
  QPointer<RunModel> model_;
  QPointer<ViewState> state_;
  QTimer* typed_;
  QTimer* later_;
  bool stale_ = true;
  bool working_ = false;
  bool wasLive_ = false;
  qint64 tookMs_ = 0;
  std::uint64_t spans_ = 0;  // that the model held when the work was last asked for
};

}  // namespace lockstep::ui
