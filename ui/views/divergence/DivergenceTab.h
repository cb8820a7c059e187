#pragma once

#include <memory>
#include <vector>

#include "ui/stage/Boxes.h"
#include "ui/stage/CanvasPart.h"
#include "ui/stage/RunPart.h"
#include "ui/views/divergence/DivergenceFacts.h"

namespace lockstep::ui {

class TableView;

/// A tab of the divergence view: a bar, a canvas, and under it what belongs to it. [ui-thread]
class DivergenceTab : public CanvasPart<RunPart> {
  Q_OBJECT

 public:
  /// `name` is what a screen reader calls it, `heading` what the glossary has on it.
  DivergenceTab(const QString& name, const QString& heading, QWidget* parent = nullptr);

  /// Null: not known yet.
  virtual void setFacts(std::shared_ptr<const DivergenceFacts> facts);
  /// The selection of the view state moved.
  virtual void selectionChanged() = 0;

  /// Fills a list with the frame as it would be painted now.
  void drawInto(DisplayList& list) { paintCanvas(list, canvas_->size()); }

 signals:
  /// Somebody sees this tab: its facts are wanted.
  void painted();
  /// The user wants to see the selection in the timeline.
  void timelineRequested();

 protected:
  /// Forgets what was shown of another run.
  void runChanged() override;
  void paintCanvas(DisplayList& list, QSizeF size) final;
  void canvasPainted() final;

  /// Draws when there are facts.
  virtual void paintFacts(DisplayList& list, QSizeF size) = 0;
  /// Returns what a screen reader says.
  [[nodiscard]] virtual QString description() const = 0;
  /// Selects a recorded span everywhere; does nothing while the model does not hold it.
  void select(int rank, const trace::SpanRow& row);

  void fillBar(std::initializer_list<Part> parts) { add(*bar_, parts); }
  /// What stands under the canvas, and what part of the height it has; of `tables` in it the one in
  /// sight shows whole rows.
  void setBelow(QWidget* below, std::vector<TableView*> tables, double part);

  std::shared_ptr<const DivergenceFacts> facts_;

 private:
  QHBoxLayout* bar_;
  QSplitter* splitter_;
};

}  // namespace lockstep::ui
