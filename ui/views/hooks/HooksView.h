#pragma once

#include <QStringList>
#include <memory>
#include <optional>

#include "ui/model/BackgroundJob.h"
#include "ui/stage/RunView.h"
#include "ui/table/TableView.h"
#include "ui/views/hooks/HooksContent.h"
#include "ui/views/hooks/HooksScene.h"

class QComboBox;
class QLabel;
class QPushButton;

namespace lockstep::ui {

class EmptyState;
class HooksTable;
class LiveParametersPanel;

/// What the communication hook of a run does: the time of its phases for each bucket, bytes before
/// and after, how its durations are distributed, what it counts over the steps; of two runs, over
/// each other. The numbers are made on a thread of the pool. [ui-thread]
class HooksView : public RunView {
  Q_OBJECT

 public:
  explicit HooksView(QWidget* parent = nullptr);

  /// Run files that are offered to be laid over the open one, the latest first.
  void setOtherRuns(const QStringList& paths);
  /// Lays the run of a file over the open one; empty: shows the open one alone.
  void compareWith(const QString& path);

  [[nodiscard]] TableView* table() const { return table_; }
  [[nodiscard]] const HooksContent* content() const { return content_.get(); }
  [[nodiscard]] const std::optional<HookPick>& picked() const { return picked_; }
  /// The middle of a bar in coordinates of the canvas, for tests and tours; nothing when it is not
  /// in sight.
  [[nodiscard]] std::optional<QPointF> positionOf(const HookPick& pick, std::size_t side = 0) const;

 signals:
  /// The user wants a hook: show the hook manager.
  void loadHookRequested();
  /// A run that was to be compared could not be read; one sentence.
  void failed(const QString& sentence);

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  void runChanged() override;
  void refresh() override;
  void paintCanvas(DisplayList& list, QSizeF size) override;
  void pointerPressed(const PointerInput& input) override;
  void pointerMoved(const PointerInput& input) override;
  void pointerLeft() override;
  void wheelTurned(const WheelInput& input) override;

  void buildControls();
  void buildTable();
  void fillTable();
  void analysisReady();
  void prepare();
  void takeContent(std::shared_ptr<const HooksContent> content);
  [[nodiscard]] std::optional<int> chosenRank() const;
  void fillRanks();
  void fillOthers();
  void otherChosen(int index);
  void pick(const HookPick& pick, bool select);
  void selectLongest(const HookPick& pick);
  void takeSelection();
  void movePick(int rows, int phases);
  void markRow();
  void showState();
  void updateScrollBar();
  void describe();
  [[nodiscard]] HooksScene scene() const;

  [[nodiscard]] bool any() const {
    return model_ != nullptr && state_ != nullptr && analyser_ != nullptr;
  }

  QComboBox* ranks_ = nullptr;
  QComboBox* others_ = nullptr;
  QLabel* sentence_ = nullptr;  // of the default allreduce, or of what failed
  QPushButton* load_ = nullptr;
  QWidget* banner_ = nullptr;
  LiveParametersPanel* live_ = nullptr;
  std::shared_ptr<const HooksTable> rows_;
  TableView* table_ = nullptr;
  EmptyState* empty_ = nullptr;
  EmptyState* waiting_ = nullptr;
  QWidget* page_ = nullptr;

  std::shared_ptr<const HookRun> first_;
  std::shared_ptr<GrowingHookRun> growing_;  // of this run
  std::shared_ptr<const HookRun> second_;
  std::shared_ptr<const HooksContent> content_;
  QStringList otherRuns_;
  QString otherPath_;
  std::optional<HookPick> picked_;
  std::optional<HookPick> hovered_;
  double scrollY_ = 0;
  bool stale_ = true;     // the analysis is newer than `first_`
  bool picking_ = false;  // the view changes the selection itself
  BackgroundJob firstJob_{this};
  BackgroundJob secondJob_{this};
  BackgroundJob contentJob_{this};
};

}  // namespace lockstep::ui
