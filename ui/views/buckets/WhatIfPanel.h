#pragma once

#include <QWidget>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "ui/canvas/Palette.h"
#include "ui/views/buckets/WhatIf.h"

class QLabel;
class QSlider;
class QTimer;
class QToolButton;

namespace lockstep::ui {

class TableView;
class WhatIfLinks;

/// A slider for the bucket cap and choices of a link, and what the shown iteration would have been
/// with them: outcomes, strips of buckets beside the measured ones, and a table. Works while it is in sight: then it
/// reads some iterations of the run, one a turn of the event loop. [ui-thread]
class WhatIfPanel : public QWidget {
  Q_OBJECT

 public:
  explicit WhatIfPanel(QWidget* parent = nullptr);
  ~WhatIfPanel() override;

  /// Neither is owned; null: no run. What is set must outlive this, or be taken back.
  void setRun(const RunModel* model, BucketStories* stories);
  void setStory(std::shared_ptr<const BucketStory> story);
  void setTheme(Theme theme);

  [[nodiscard]] const std::shared_ptr<const WhatIf>& told() const { return told_; }
  [[nodiscard]] QSlider* slider() const { return slider_; }
  [[nodiscard]] WhatIfLinks* links() const { return links_; }

 signals:
  void closeWanted();

 protected:
  void showEvent(QShowEvent* event) override;
  void hideEvent(QHideEvent* event) override;

 private:
  class Strips;

  void begin();
  void readOne();
  void makeForecaster();
  void compute();
  void setCap(std::uint64_t bytes);
  [[nodiscard]] std::uint64_t capOfSlider() const;

  const RunModel* model_ = nullptr;
  BucketStories* stories_ = nullptr;
  std::shared_ptr<const BucketStory> story_;
  std::shared_ptr<const WhatIf> told_;
  std::vector<analysis::RecordedStep> recorded_;
  std::optional<base::Result<cost::Forecaster>> forecaster_;  // of those and the story
  std::vector<std::uint32_t> steps_;                          // still to be read
  std::size_t stepsThen_ = 0;  // that the run had when they were chosen
  std::uint64_t leastCap_ = 1;
  std::uint64_t mostCap_ = 2;
  bool capChosen_ = false;

  QSlider* slider_;
  WhatIfLinks* links_;
  QLabel* cap_;
  QLabel* outcomes_;
  QLabel* verdict_;
  QLabel* assumptions_;
  Strips* strips_;
  TableView* table_;
  QToolButton* export_;
  QToolButton* reset_ = nullptr;
  QTimer* timer_;
};

}  // namespace lockstep::ui
