#include "ui/views/divergence/DivergenceTab.h"

#include <utility>

#include "ui/chart/Card.h"
#include "ui/model/StepSelection.h"
#include "ui/table/WholeRows.h"

namespace lockstep::ui {

DivergenceTab::DivergenceTab(const QString& name, const QString& heading, QWidget* parent)
    : CanvasPart(parent), bar_(new QHBoxLayout), splitter_(new QSplitter(Qt::Vertical)) {
  canvas_ = new Canvas(this, splitter_);
  canvas_->setFocusPolicy(Qt::StrongFocus);
  canvas_->setAccessibleName(name);
  setHeading(heading);
  canvas_->setMinimumHeight(120);
  splitter_->addWidget(canvas_);
  splitter_->setChildrenCollapsible(true);
  splitter_->setCollapsible(0, false);
  bar_->setContentsMargins(8, 4, 8, 4);
  bar_->setSpacing(8);
  fill(this, inColumn({bar_, {splitter_, 1}}, 0));
}

void DivergenceTab::setBelow(QWidget* below, std::vector<TableView*> tables, double part) {
  splitter_->addWidget(below);
  new WholeRows(splitter_, std::move(tables), part);
}

void DivergenceTab::runChanged() {
  pointer_.reset();
  setFacts(nullptr);
}

void DivergenceTab::setFacts(std::shared_ptr<const DivergenceFacts> facts) {
  facts_ = std::move(facts);
  canvas_->setAccessibleDescription(facts_ != nullptr ? description() : QString());
  repaintSoon();
}

void DivergenceTab::paintCanvas(DisplayList& list, QSizeF size) {
  if (facts_ != nullptr) {
    paintFacts(list, size);
    return;
  }
  list.fill(QRectF(QPointF(0, 0), size), colours().background);
  drawMessage(list, QRectF(QPointF(0, 0), size), tr("Comparing the ranks…"),
              tr("It appears as soon as the run file has been read."), colours().text, colours());
}

// Only the tab in sight paints, so only while one is seen are facts asked for.
void DivergenceTab::canvasPainted() {
  emit painted();
}

void DivergenceTab::select(int rank, const trace::SpanRow& row) {
  if (model_ == nullptr || state_ == nullptr) {
    return;
  }
  if (const auto span = spanOf(*model_, rank, row)) {
    state_->select(span);
  }
}

}  // namespace lockstep::ui
