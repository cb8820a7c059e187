#pragma once

#include <QObject>
#include <QString>
#include <QThreadPool>
#include <atomic>
#include <functional>
#include <memory>
#include <optional>

#include "engine/base/Result.h"
#include "ui/model/Span.h"
#include "ui/shell/ExportDialog.h"

class QWidget;

namespace lockstep::ui {

class MessageBar;
class RunSession;

/// File > Export: asks, writes on a thread of its own, and says in the message bar what came of it.
/// One export at a time; it ends with this object. [ui-thread]
class ExportController : public QObject {
  Q_OBJECT

 public:
  /// What it asks of the window.
  struct Host {
    QWidget* window = nullptr;
    MessageBar* messages = nullptr;
    std::function<RunSession*()> session;  ///< null: no run is open
    std::function<QString()> viewTitle;
    std::function<base::Status(const QString& path, TimeRange range)> savePicture;
  };

  explicit ExportController(Host host, QObject* parent = nullptr);
  ~ExportController() override;

  /// Shows the dialog for the open run; does nothing without one. While an export runs, its message
  /// comes back instead, with the button that cancels it.
  void ask();
  /// Begins an export; does nothing while one runs.
  void begin(const ExportRequest& request);
  void cancel();
  [[nodiscard]] bool busy() const { return cancelled_ != nullptr; }

 signals:
  /// 0..1, at most some times a second.
  void progressed(double part);
  void ended();

 private:
  void tellRunning();
  void take(const base::Result<QString>& sentence, const QString& path);

  Host host_;
  QString folder_;                                // of the last export
  QString path_;                                  // of the export that runs
  std::shared_ptr<std::atomic<bool>> cancelled_;  // of the export that runs
  QThreadPool pool_;                              // not Qt's own, which painting waits for
};

}  // namespace lockstep::ui
