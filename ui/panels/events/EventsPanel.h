#pragma once

#include <QString>

#include "ui/panels/RunTablePanel.h"
#include "ui/panels/events/EventPages.h"
#include "ui/panels/events/EventSearch.h"
#include "ui/panels/events/EventsExport.h"

class QAction;
class QLabel;
class QPushButton;
class QTimer;
class QToolButton;

namespace lockstep::ui {

/// Lists the events of a run, one a row: filtered by what is typed and by the range of the view
/// state, sorted by any column, copied and written as CSV. The selection is that of all views. It
/// works while it is in sight; a live run is listed anew about twice a second, more seldom when
/// that takes long. [ui-thread]
class EventsPanel : public RunTablePanel {
  Q_OBJECT

 public:
  /// More rows are written into a file, not put on the clipboard.
  static constexpr int kCopiedRows = 5'000;

  explicit EventsPanel(QWidget* parent = nullptr);
  ~EventsPanel() override;

  /// Neither is owned; null empties the panel. Both outlive their use here.
  void setRun(RunModel* model, ViewState* state);

  /// Writes all that is listed into a file; what comes of it is shown here.
  void exportTo(const QString& path);

  [[nodiscard]] const EventPages& model() const { return rows_; }

 signals:
  /// An event was selected here: where it stands should be brought into sight.
  void chosen(const lockstep::ui::Span& span);
  /// The selected event was moved to in the view state: the timeline should be in sight.
  void timelineRequested();
  /// A file could not be written, or not to its end; one sentence.
  void failed(const QString& sentence);

 protected:
  void showEvent(QShowEvent* event) override;

 private:
  void buildTable();
  void buildPager();
  void buildActions();
  void fitColumns();
  void refreshWords();
  void refreshPager();

  void search();
  void showRows();
  void take(const std::shared_ptr<const EventRows>& rows);
  void rowChosen();
  void showSelection();
  void choose(int row);
  void goTo(std::size_t place);
  void setPage(std::size_t page);
  void zoomToCurrent();
  void findAllOfCurrent();
  void copy();
  void chooseFile();
  void say(const QString& words);
  void exportEnded(const QString& path, const QString& mistake);

  EventOrder order_;
  EventOrder searched_;  // by the last search that was begun
  EventOrder shown_;     // by the one that found what is listed
  EventSearch search_;
  EventsExport export_;
  EventPages rows_;
  bool syncing_ = false;  // the selection follows that of the views
  QString said_;          // what came of the last copy or export, for a while
  QTimer* forget_;

  QPushButton* exportButton_;
  QWidget* pages_ = nullptr;
  QLabel* pageText_ = nullptr;
  QToolButton* previousPage_ = nullptr;
  QToolButton* nextPage_ = nullptr;
  QAction* zoom_ = nullptr;
  QAction* findAll_ = nullptr;
};

}  // namespace lockstep::ui
