#pragma once

#include <QElapsedTimer>
#include <cstdint>
#include <memory>
#include <optional>

#include "ui/stage/RunView.h"
#include "ui/stage/Steered.h"
#include "ui/views/buckets/BucketsController.h"

class QLabel;
class QSplitter;
class QTimer;

namespace lockstep::ui {

class BucketsTable;
class BucketsToolbar;
class EmptyState;

/// The stage "Buckets": which parameters share a bucket before and after the rebuild, in which
/// order their gradients became ready on each rank, what each bucket waited for, and a replay of
/// one iteration; with a table of the same. Shows the iteration of the view state, and of a run
/// that is followed live the last one that all ranks have ended. [ui-thread]
class BucketsView : public Steered<RunView, BucketsController> {
  Q_OBJECT

 public:
  explicit BucketsView(QWidget* parent = nullptr);

  [[nodiscard]] const BucketsController* controller() const { return &controller_; }
  [[nodiscard]] bool isPlaying() const;

 public slots:
  /// Moves all views to the last iteration before the rebuild, or back to the one from where that
  /// was asked for.
  void showLayout(bool rebuilt);
  void setAgainst(OrderAgainst against);
  void setReplayPart(double part);
  void togglePlay();

 signals:
  /// The user asks what other buckets would do.
  void whatIfRequested();

 protected:
  void hideEvent(QHideEvent* event) override;

 private:
  void runChanged() override;
  void refresh() override;
  [[nodiscard]] bool takesKeys() const override { return controller_.ready(); }
  void acted() override { changed(); }
  void paintCanvas(DisplayList& list, QSizeF size) override;
  [[nodiscard]] BucketsController* steering() override { return &controller_; }
  void steered() override { changed(); }
  void pointerPressed(const PointerInput& input) override;

  void makeActions();
  void makeWhatIf();
  void takeStory(std::shared_ptr<const BucketStory> story);
  void selectionChanged();
  void changed();
  void goToStep(std::uint32_t step);
  void moveIteration(int direction);
  void stepReplay(int direction);
  void playOn();
  [[nodiscard]] std::optional<std::uint32_t> wantedStep();
  [[nodiscard]] std::optional<std::uint32_t> lastFinishedStep() const;

  std::unique_ptr<BucketStories> stories_;
  BucketsController controller_;

  EmptyState* nothing_ = nullptr;
  QWidget* content_ = nullptr;
  QWidget* stage_ = nullptr;  // toolbar and canvas: has the keys
  QLabel* banner_ = nullptr;
  BucketsToolbar* toolbar_ = nullptr;
  QSplitter* splitter_ = nullptr;
  BucketsTable* table_ = nullptr;

  QTimer* playTimer_ = nullptr;
  QElapsedTimer sinceFrame_;
  std::uint64_t spansSeen_ = 0;  // by the story shown
  std::optional<std::uint32_t> typical_;
  std::optional<std::uint32_t>
      returnStep_;  // from where the layout before the rebuild was asked for
  bool previewRebuilt_ = true;
};

}  // namespace lockstep::ui
