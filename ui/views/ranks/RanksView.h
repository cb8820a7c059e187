#pragma once

#include <memory>
#include <optional>

#include "ui/model/BackgroundJob.h"
#include "ui/stage/RunView.h"
#include "ui/table/TableView.h"
#include "ui/views/ranks/RanksMap.h"
#include "ui/views/ranks/RanksScene.h"

class QComboBox;

namespace lockstep::ui {

/// All ranks of a run at once: which are unlike the rest, by name, and a map of rank by iteration
/// in the colours of a figure. A click on a name or a cell selects the rank's iteration and shows
/// in the timeline that rank, its neighbour and the middle one. A table has the same. [ui-thread]
class RanksView : public RunView {
  Q_OBJECT

 public:
  explicit RanksView(QWidget* parent = nullptr);

  /// What is shown; null before the first analysis.
  [[nodiscard]] std::shared_ptr<const RanksContent> content() const { return content_; }
  [[nodiscard]] TableView* table() const { return table_; }
  [[nodiscard]] QComboBox* figureBox() const { return figureBox_; }
  [[nodiscard]] QComboBox* orderBox() const { return orderBox_; }
  /// The frame as it would be drawn now, for tests and tours. Needs content.
  [[nodiscard]] RanksScene scene();

 private:
  void runChanged() override;
  void refresh() override;
  [[nodiscard]] bool takesKeys() const override { return content_ != nullptr; }
  void paintCanvas(DisplayList& list, QSizeF size) override;
  void pointerPressed(const PointerInput& input) override;
  void pointerMoved(const PointerInput& input) override;
  void pointerReleased(const PointerInput& input) override;

  QWidget* makeBar();
  void makeActions();
  void take(std::shared_ptr<const RanksContent> content);
  void chooseFigures();
  void suggestFigure();
  void showMap();
  /// Selects the iteration of a rank in which it has most of a figure, with its neighbours.
  void select(const RankPlace& place, RankFigure figure);
  void selectUnlike(std::size_t index);
  void stepUnlike(int by);
  void selectionMoved();
  void describe();
  [[nodiscard]] RankFigure figure() const;
  [[nodiscard]] RankOrder order() const;
  [[nodiscard]] RanksScene sceneOf(QSizeF size);

  std::shared_ptr<const AnalysedRun> analysed_;  // what content_ is or will be made of
  std::shared_ptr<const RanksContent> content_;
  BackgroundJob job_;  // makes content_
  RanksMap map_;
  std::optional<std::size_t> unlike_;    // that was stepped to last
  std::optional<RankFigure> suggested_;  // that the map of this run began with
  bool pressed_ = false;

  QComboBox* figureBox_;
  QComboBox* orderBox_;
  TableView* table_;
};

}  // namespace lockstep::ui
