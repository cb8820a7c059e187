#pragma once

#include <QObject>
#include <QString>
#include <cstdint>
#include <memory>

#include "ui/model/SpanWalk.h"
#include "ui/panels/events/EventSearch.h"

namespace lockstep::ui {

/// Writes all events of a search into a file as CSV (RFC 4180), one a line in their order, on
/// another thread. The file is there once it is whole; what was there before stays when it cannot
/// be written, or when a growing run moves the events meanwhile. [ui-thread]
class EventsExport : public QObject {
  Q_OBJECT

 public:
  explicit EventsExport(QObject* parent = nullptr);

  /// Leaves what was going on. `model` outlives the export, or `cancel` is called.
  void start(const QString& path, const RunModel& model, std::shared_ptr<const EventRows> rows);
  void cancel();
  [[nodiscard]] bool busy() const { return walk_.busy(); }
  /// The file that was last asked for.
  [[nodiscard]] const QString& path() const { return path_; }
  /// 0 to 1.
  [[nodiscard]] double progress() const;

 signals:
  void progressed();
  /// It has ended: `mistake` is one sentence, empty when all is written.
  void ended(const QString& path, const QString& mistake);

 private:
  class Job;

  SpanWalk walk_;
  std::shared_ptr<Job> job_;
  QString path_;
  std::size_t count_ = 0;
};

}  // namespace lockstep::ui
