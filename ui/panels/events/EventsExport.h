#pragma once

#include <QObject>
#include <QString>
#include <memory>

#include "ui/model/SpanWalk.h"
#include "ui/panels/events/EventSearch.h"

namespace lockstep::ui {

/// Writes all events of a search into a file as the CSV of exports::EventTable, one a line in their
/// order, on another thread. Where late events of a growing run move them meanwhile, they are
/// searched anew, a few times. The file is there once it is whole; what was there before stays when
/// it cannot be written, or when events move again and again. [ui-thread]
class EventsExport : public QObject {
  Q_OBJECT

 public:
  /// How often events are searched anew before the export gives up.
  static constexpr int kSearches = 4;

  explicit EventsExport(QObject* parent = nullptr);

  /// Leaves what was going on. `order` is what `rows` were found by. `model` outlives the export,
  /// or `cancel` is called.
  void start(const QString& path, const RunModel& model, const EventOrder& order,
             std::shared_ptr<const EventRows> rows);
  void cancel();
  [[nodiscard]] bool busy() const { return walk_.busy() || search_.busy(); }
  /// The file that was last asked for.
  [[nodiscard]] const QString& path() const { return path_; }
  /// 0 to 1.
  [[nodiscard]] double progress() const;

 signals:
  void progressed();
  /// Events have moved: they are searched anew, for the n-th time.
  void searchedAnew(int time);
  /// It has ended: `mistake` is one sentence, empty when all is written.
  void ended(const QString& path, const QString& mistake);

 private:
  class Job;

  void write(std::shared_ptr<const EventRows> rows);
  void written();

  SpanWalk walk_;
  EventSearch search_;
  const RunModel* model_ = nullptr;
  EventOrder order_;
  int searches_ = 0;
  std::shared_ptr<Job> job_;
  QString path_;
  std::size_t count_ = 0;
};

}  // namespace lockstep::ui
