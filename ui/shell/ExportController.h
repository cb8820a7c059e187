#pragma once

#include <QObject>
#include <QString>
#include <QThreadPool>
#include <atomic>
#include <memory>
#include <optional>
#include <vector>

#include "engine/base/Result.h"
#include "ui/model/Span.h"
#include "ui/shell/ExportDialog.h"
#include "ui/shell/MessageBar.h"

namespace lockstep::ui {

class Appearance;
class CurrentRun;
class RunSession;
struct Frame;

/// File > Export, Export picture and Export report: asks, writes on a thread of its own, and says
/// in the message bar what came of it. One export at a time; it ends with this object. [ui-thread]
class ExportController : public QObject {
  Q_OBJECT

 public:
  ExportController(const Frame& frame, const CurrentRun& run, const Appearance& appearance,
                   QObject* parent);
  ~ExportController() override;

  /// Shows the dialog for the open run; does nothing without one. While an export runs, its message
  /// comes back instead, with the button that cancels it.
  void ask();
  /// Begins an export; does nothing while one runs.
  void begin(const ExportRequest& request);
  void cancel();
  [[nodiscard]] bool busy() const { return cancelled_ != nullptr; }

  /// Asks for the file of a picture of the view in sight: of a stretch of the timeline; of other
  /// views, and without one, of what is in sight.
  void askPicture(const std::optional<TimeRange>& range = {});
  /// Saves a picture of the view in sight beside the run, and says where.
  void savePictureNow();
  /// Saves the table in sight (TableInSight.h) as CSV beside the run, and says where.
  void saveTableNow();
  /// Asks for the file of a report of the run, and begins to write it. While an export runs, its
  /// message comes back instead.
  void askReport();

 private:
  /// The open run; null without one, and, with the message of that, while an export runs.
  [[nodiscard]] RunSession* runToExport();
  void tellRunning();
  void tellProgress(double part) const;
  void take(const base::Result<QString>& sentence, const QString& path);
  void say(MessageBar::Kind kind, const QString& sentence,
           std::vector<MessageBar::Button> buttons = {}) const;
  void saySaved(const QString& sentence, const QString& path) const;
  [[nodiscard]] QString freshBeside(const QString& what, const QString& ending) const;
  [[nodiscard]] base::Status savePicture(const QString& path,
                                         const std::optional<TimeRange>& range) const;

  const Frame& frame_;
  const CurrentRun& run_;
  const Appearance& appearance_;
  QString folder_;                                // of the last export
  QString path_;                                  // of the export that runs
  std::shared_ptr<std::atomic<bool>> cancelled_;  // of the export that runs
  QThreadPool pool_;                              // not Qt's own, which painting waits for
};

}  // namespace lockstep::ui
