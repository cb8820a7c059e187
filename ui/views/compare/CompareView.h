#pragma once

#include <QStringList>
#include <optional>

#include "ui/chart/DurationHistogram.h"
#include "ui/stage/RunView.h"
#include "ui/table/TableView.h"
#include "ui/views/compare/CompareTables.h"
#include "ui/views/compare/ComparedRuns.h"

class QComboBox;
class QLabel;
class QStackedLayout;
class QTabBar;
class QTabWidget;

namespace lockstep::ui {

class DistributionPanel;
class ElidedLabel;
class EmptyState;
class TwinTimelines;

/// Sets the open run, A, against others, or against the one that it was made from: what differs in
/// their experiments, the delta table with significance, why the step is longer or shorter, the
/// distribution of durations, and an iteration of each under the other. Other runs are read and
/// analysed off the UI thread; run files may be dropped on it. [ui-thread]
class CompareView : public RunView {
  Q_OBJECT

 public:
  explicit CompareView(QWidget* parent = nullptr);
  ~CompareView() override;

  /// Reads a run file and sets it against the open run. The view says what cannot be read.
  void addRun(const QString& path);
  /// Reads the run that the open one was made from, and sets the open one, as B, against it alone.
  void setBaseline(const QString& path);
  void clearOthers();
  /// What was forecast of a step of the open run, and in words how that came out; none: it tried
  /// none.
  struct Forecast {
    QString words;
    HistogramForecast step;

    bool operator==(const Forecast&) const = default;
  };
  void setForecast(const std::optional<Forecast>& forecast);
  /// The run files that the box of recent runs offers.
  void setOtherRuns(const QStringList& paths);

  [[nodiscard]] const ComparedRuns& runs() const { return runs_; }
  /// Which run stands against A in the tables: 1 is B.
  [[nodiscard]] std::size_t other() const { return other_; }
  [[nodiscard]] TableView* keysTable() const { return keysTable_; }
  [[nodiscard]] TableView* metricsTable() const { return metricsTable_; }
  [[nodiscard]] TableView* whyTable() const { return whyTable_; }
  [[nodiscard]] QComboBox* recentRuns() const { return recent_; }
  [[nodiscard]] QTabBar* otherTabs() const { return tabs_; }
  [[nodiscard]] TwinTimelines* timelines() const { return twins_; }
  [[nodiscard]] DistributionPanel* distribution() const { return distribution_; }
  /// What the view says in place of tables, or of a run that was refused; empty: nothing.
  [[nodiscard]] QString message() const;

 signals:
  /// The runs that are set against each other, A first; none while A stands alone.
  void comparedChanged(const QStringList& paths);

 protected:
  void dragEnterEvent(QDragEnterEvent* event) override;
  void dropEvent(QDropEvent* event) override;

 private:
  void runChanged() override;
  void refresh() override { runs_.want(); }
  void themeChanged() override;
  void paintCanvas(DisplayList&, QSizeF) override {}  // its pictures have canvases
  void makeHeader();
  void makeTables();
  QWidget* makeTop();
  void makeActions();

  void askForRun();
  void showRuns();
  void showResult();
  void showOther(int tab);
  void showRecent();
  void say(const QString& sentence);
  void fillTables();
  void goToReason(std::size_t row);

  ComparedRuns runs_;
  std::size_t other_ = 1;
  QString refusal_;
  std::optional<Forecast> forecast_;
  QStringList recentPaths_;

  QStackedLayout* stack_;
  EmptyState* empty_;
  QLabel* a_;
  QTabBar* tabs_;
  QComboBox* recent_;
  QLabel* message_;
  QLabel* forecastWords_;
  QWidget* header_;
  QLabel* same_;
  QLabel* fewRuns_;
  ElidedLabel* counts_;
  QLabel* summary_;
  TableView* keysTable_;
  TableView* metricsTable_;
  TableView* whyTable_;
  DistributionPanel* distribution_;
  TwinTimelines* twins_;
  QTabWidget* pictures_;
};

}  // namespace lockstep::ui
