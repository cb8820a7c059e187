#pragma once

#include <QObject>
#include <QPointer>
#include <QString>
#include <QStringList>
#include <cstdint>
#include <memory>

#include "ui/shell/Settings.h"

namespace lockstep::ui {

struct Frame;
class RunEnding;
class RunSession;

/// The run that is open in the window, one at a time: opens and closes it, and shows it and its
/// news in stages, panels and bars. [ui-thread]
class CurrentRun : public QObject {
  Q_OBJECT

 public:
  CurrentRun(Frame& frame, Settings& settings, QObject* parent = nullptr);
  ~CurrentRun() override;

  /// Null: no run is open.
  [[nodiscard]] RunSession* session() const { return session_.get(); }
  /// True when a run is open of which its file has said what it is.
  [[nodiscard]] bool known() const;

  /// Opens a run file, live or not, in the views.
  void open(const QString& path);
  /// Opens the first of them, and sets the others, if any, against it in Compare.
  void openAll(const QStringList& paths);
  /// The same of a run that was started here: the page that is shown stays, and so do messages.
  void take(const QString& path);
  void close();
  /// When the open run has ended, offers to show it beside another one, which the comparison holds.
  void offerComparison(const QString& other);
  /// Shows a whole iteration of a rank (-1: of all), or says that the file does not hold it.
  void showStep(std::uint32_t step, int rank = -1);

  /// Opens the run that was open when the studio was closed, as it was shown then; does nothing
  /// when there is none, its file is gone or the user does not want it (unless `always`).
  void restore(bool always = false);
  /// Remembers what is in sight for that.
  void keep();

 signals:
  /// Another run is open, or none, or it says something else of itself.
  void changed();
  void iterationChanged();
  /// Whether the timeline follows the run.
  void follows(bool live);
  void repeatRequested(const QString& path);

 private:
  void followNews();
  void judgeIteration();
  void fileFailed(const QString& sentence);
  void tellLeftOut();

  Frame& frame_;
  Settings& settings_;
  std::unique_ptr<RunSession> session_;
  QPointer<RunEnding> ending_;  // of the session
  bool toldLeftOut_ = false;  // of the open run
};

}  // namespace lockstep::ui
