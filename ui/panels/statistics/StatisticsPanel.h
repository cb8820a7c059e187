#pragma once

#include <QString>
#include <memory>

#include "ui/panels/RunTablePanel.h"
#include "ui/panels/statistics/StatisticsSearch.h"
#include "ui/panels/statistics/StatisticsTable.h"

class QAction;
class QComboBox;
class QPushButton;

namespace lockstep::ui {

/// Says how often things happened in a run and how long they took: one row a name, a bucket, a
/// rank, a phase of the step, over what is typed and over the range of the view state. It works
/// while it is in sight; a live run is measured anew at most twice a second, more seldom when that
/// takes long. [ui-thread]
class StatisticsPanel : public RunTablePanel {
  Q_OBJECT

 public:
  /// Of more spans the latest are measured, and the panel says so.
  static constexpr std::uint32_t kMeasuredAtMost = 4'000'000;
  static constexpr std::uint32_t kMeasuredAtMostLive = 500'000;

  explicit StatisticsPanel(QWidget* parent = nullptr);
  ~StatisticsPanel() override;

  /// Neither is owned; null empties the panel. Both outlive their use here.
  void setRun(RunModel* model, ViewState* state);
  void setGroupBy(GroupBy by);

  /// Writes what is shown, in the order shown, into a file as the CSV of exports::StatisticsTable.
  /// Returns what went wrong, in a sentence; empty: nothing did.
  [[nodiscard]] QString writeTo(const QString& path) const;

 signals:
  /// The spans of a row are wanted in a list; a query.
  void eventsRequested(const QString& query);
  /// They are wanted in the timeline, marked.
  void findRequested(const QString& query);

 private:
  void buildBar();
  void buildTable();
  void buildActions();
  void refreshWords();

  void setRows(std::vector<StatisticsRow> rows);
  void measure();
  void take(const std::shared_ptr<const Statistics>& statistics);
  void exportRows();
  /// What asks for the spans of the current row, what is typed included; empty when nothing can.
  [[nodiscard]] QString currentQuery() const;
  [[nodiscard]] const StatisticsRow* currentRow() const;

  StatisticsSearch search_;
  std::shared_ptr<const Statistics> shown_;
  GroupBy by_ = GroupBy::kName;
  GroupBy askedBy_ = GroupBy::kName;  // that `search_` is at
  std::shared_ptr<const StatisticsTable> rows_;

  QComboBox* groupBy_;
  QPushButton* events_;
  QPushButton* export_;
  QAction* showEvents_ = nullptr;
  QAction* find_ = nullptr;
};

}  // namespace lockstep::ui
