#pragma once

#include <QElapsedTimer>
#include <QPointer>
#include <memory>
#include <optional>

#include "ui/canvas/Canvas.h"
#include "ui/model/RunAnalyser.h"
#include "ui/model/RunModel.h"
#include "ui/model/ViewState.h"
#include "ui/table/TableView.h"
#include "ui/views/RunView.h"
#include "ui/views/live/LiveContent.h"
#include "ui/views/live/LiveFeed.h"
#include "ui/views/live/LiveScene.h"

class QStackedLayout;
class QTimer;

namespace lockstep::ui {

/// How a run does: figures with their last minute, its last iterations, its buckets filling, loss
/// and throughput. A finished run is shown as a whole. While a run is live it looks again at most
/// four times a second, and only in sight. [ui-thread]
class LiveView : public RunView, private CanvasClient {
  Q_OBJECT

 public:
  explicit LiveView(QWidget* parent = nullptr);
  ~LiveView() override;

  void setRun(const OpenRun& run) override;
  void setTheme(Theme theme) override;
  [[nodiscard]] QList<QAction*> viewActions() const override { return actions_; }

  /// What is shown; null without a run.
  [[nodiscard]] std::shared_ptr<const LiveContent> content() const { return content_; }
  [[nodiscard]] Canvas* canvas() const { return canvas_; }
  [[nodiscard]] TableView* table() const { return table_; }
  /// The frame as it would be drawn now, for tests and tours. Needs content.
  [[nodiscard]] LiveScene scene() const;

 signals:
  /// The user asks for the last iterations in the timeline; the view state's range is there.
  void timelineRequested();
  /// The user asks why communication is exposed, or who is late.
  void overlapRequested();
  /// The user asks for more about the buckets.
  void bucketsRequested();
  /// The user asks for a run to be started.
  void startRequested();
  void framePainted();

 protected:
  void showEvent(QShowEvent* event) override;

 private:
  void paintCanvas(DisplayList& list, QSizeF size) override;
  void canvasPainted() override;
  void pointerPressed(const PointerInput& input) override;
  void pointerMoved(const PointerInput& input) override;
  void pointerReleased(const PointerInput& input) override;
  void pointerLeft() override;

  void makeActions();
  void lookSoon();
  void look();
  void openTimeline();
  void describe();

  QPointer<RunModel> model_;
  QPointer<ViewState> state_;
  QPointer<RunAnalyser> analyser_;
  LiveFeed feed_;
  std::shared_ptr<const LiveContent> content_;
  QTimer* timer_;
  QElapsedTimer looked_;
  QString failure_;
  Theme theme_ = Theme::kLight;
  std::optional<QPointF> pointer_;
  bool pressed_ = false;

  QStackedLayout* stack_;
  Canvas* canvas_;
  TableView* table_;
  QList<QAction*> actions_;
};

}  // namespace lockstep::ui
