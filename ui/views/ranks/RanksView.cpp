#include "ui/views/ranks/RanksView.h"

#include <QComboBox>
#include <algorithm>
#include <cmath>
#include <utility>

#include "ui/chart/Card.h"
#include "ui/model/StepSelection.h"
#include "ui/panels/Labels.h"
#include "ui/table/WholeRows.h"
#include "ui/views/ranks/RanksTable.h"

namespace lockstep::ui {
namespace {

/// Of the steps that a column stands for, that in which the rank had most of the figure.
std::uint32_t worstStep(const RanksContent& content, const AnalysedRun& run, RankFigure figure,
                        const RankPlace& place) {
  const analysis::Landscape& table = content.table;
  const std::uint32_t first =
      table.steps.first + static_cast<std::uint32_t>(place.column) * table.stepsAColumn;
  if (table.stepsAColumn == 1) {
    return first;
  }
  const analysis::Landscape near = analysis::landscape(
      run.analysis, {first, std::min(first + table.stepsAColumn, table.steps.end)});
  std::uint32_t worst = first;
  float most = -1;
  for (std::size_t column = 0; near.has(figure) && column < near.columns; ++column) {
    if (const float value = near.at(figure, place.rank, column); value > most) {
      most = value;
      worst = first + static_cast<std::uint32_t>(column);
    }
  }
  return worst;
}

}  // namespace

RanksView::RanksView(QWidget* parent)
    : RunView(parent),
      job_(this),
      figureBox_(new QComboBox),
      orderBox_(new QComboBox),
      table_(new TableView(tr("Ranks and their figures"))) {
  auto* map = new QWidget;
  makeCanvas(tr("Ranks"))->setMinimumSize(320, 240);
  fill(map, inColumn({makeBar(), {canvas_, 1}}, 0));
  setFocusProxy(canvas_);
  table_->setRows(rankTable(nullptr));
  table_->fitTitles();
  table_->fitOtherColumns();
  QSplitter* all = split(Qt::Vertical, {{map, 6}, {table_, 1}});
  new WholeRows(all, {table_}, 0.19);
  setPages(tr("No run is open. Ranks shows all ranks of a run at once, and which of them is not "
              "like the others."),
           tr("Open a run…"), Offer::kOpen, {all});
  connect(table_, &TableView::rowChosen, this, [this](std::size_t row) {
    select({row, content_->worstColumn(figure(), row)}, figure());
  });
  connect(table_, &TableView::rowActivated, this, &RanksView::timelineRequested);
  makeActions();
  describe();
}

QWidget* RanksView::makeBar() {
  named(figureBox_, "ranksFigure", tr("Figure of the map"));
  named(orderBox_, "ranksOrder", tr("Order of the ranks"));
  chooseFigures();
  for (const auto& [title, order] : {std::pair(tr("by number"), RankOrder::kNumber),
                                     {tr("most first"), RankOrder::kFigure},
                                     {tr("by host"), RankOrder::kHost},
                                     {tr("as they are alike"), RankOrder::kAlike}}) {
    orderBox_->addItem(title, static_cast<int>(order));
  }
  for (QComboBox* box : {figureBox_, orderBox_}) {
    box->setSizeAdjustPolicy(QComboBox::AdjustToContents);
    connect(box, &QComboBox::currentIndexChanged, this, &RanksView::showMap);
  }
  auto* bar = new QWidget;
  fill(bar,
       inRow({labelOf(figureBox_, tr("&Colour by")), figureBox_, labelOf(orderBox_, tr("&Order")),
              orderBox_, Part::rest()},
             6),
       {8, 4, 8, 4});
  return bar;
}

// All figures; those that the run knows nothing of cannot be chosen. The choice stays.
void RanksView::chooseFigures() {
  const QSignalBlocker quiet(figureBox_);
  const int chosen = std::max(0, figureBox_->currentIndex());
  figureBox_->clear();
  for (std::size_t i = 0; i < analysis::kRankFigures; ++i) {
    const auto figure = static_cast<RankFigure>(i);
    if (content_ == nullptr || content_->table.has(figure)) {
      figureBox_->addItem(titleOf(figure), static_cast<int>(i));
      figureBox_->setItemData(figureBox_->count() - 1, definitionOf(figure), Qt::ToolTipRole);
    }
  }
  figureBox_->setCurrentIndex(std::min(chosen, figureBox_->count() - 1));
}

RankFigure RanksView::figure() const {
  return static_cast<RankFigure>(figureBox_->currentData().toInt());
}

QString RanksView::headingAt(QPointF /*at*/) const {
  return titleOf(figure());
}

RankOrder RanksView::order() const {
  return static_cast<RankOrder>(orderBox_->currentData().toInt());
}

// Once for a run, and not over somebody's choice: in the time of a step the ranks that wait and the
// one that they wait for look the same.
void RanksView::suggestFigure() {
  if (suggested_ || content_ == nullptr || content_->likeness.unlike.empty() ||
      figureBox_->currentIndex() != 0) {
    return;
  }
  suggested_ = figureOf(content_->likeness.unlike.front().kind);
  const QSignalBlocker quiet(figureBox_);
  figureBox_->setCurrentIndex(std::max(0, figureBox_->findData(static_cast<int>(*suggested_))));
}

void RanksView::runChanged() {
  if (suggested_ && figure() == *suggested_) {
    const QSignalBlocker quiet(figureBox_);
    figureBox_->setCurrentIndex(0);
  }
  suggested_.reset();
  analysed_ = nullptr;
  unlike_.reset();
  job_.drop();
  take(nullptr);
  if (analyser_ != nullptr) {
    connect(analyser_, &RunAnalyser::ready, this, &RanksView::refresh);
  }
  if (state_ != nullptr) {
    connect(state_, &ViewState::selectionChanged, this, &RanksView::selectionMoved);
  }
}

void RanksView::refresh() {
  if (model_ != nullptr && isVisible() && takeLatest(analysed_)) {
    job_.start(
        [latest = analysed_, ranks = ranksOfRun(*model_)] { return ranksContent(*latest, ranks); },
        [this](std::shared_ptr<const RanksContent> content) { take(std::move(content)); });
  }
}

void RanksView::take(std::shared_ptr<const RanksContent> content) {
  content_ = std::move(content);
  chooseFigures();
  suggestFigure();
  table_->setRows(rankTable(content_));
  showMap();
  selectionMoved();
  describe();
}

void RanksView::showMap() {
  if (content_ != nullptr) {
    map_.show(content_, figure(), order());
  }
  repaintSoon();
}

RanksScene RanksView::sceneOf(QSizeF size) {
  RanksFrame frame{size, std::nullopt};
  if (state_ != nullptr && state_->selection()) {
    frame.selected = state_->selection()->rank();
  }
  frame.pointer = pointer_;
  return {map_, colours(), frame};
}

RanksScene RanksView::scene() {
  return sceneOf(canvas_->size());
}

void RanksView::paintCanvas(DisplayList& list, QSizeF size) {
  if (analyser_ != nullptr) {
    analyser_->want();
  }
  if (content_ != nullptr && content_->table.columns > 0) {
    sceneOf(size).draw(list);
    return;
  }
  const QRectF all(QPointF(0, 0), size);
  list.fill(all, colours().background);
  const bool nothing = model_ != nullptr && (content_ != nullptr || model_->path().empty());
  drawMessage(list, all,
              nothing ? tr("No iteration has been recorded yet") : tr("Analysing the run…"),
              nothing ? tr("The map appears with the first one.")
                      : tr("Ranks are compared beside the window; the map appears by itself."),
              colours().text, colours());
}

void RanksView::pointerPressed(const PointerInput& input) {
  canvas_->setFocus(Qt::MouseFocusReason);
  pressed_ = input.button == Qt::LeftButton;
}

void RanksView::pointerMoved(const PointerInput& input) {
  RunView::pointerMoved(input);
  if (content_ != nullptr) {
    const RanksScene now = scene();
    canvas_->setCursor(now.unlikeAt(input.position) || now.placeAt(input.position)
                           ? Qt::PointingHandCursor
                           : Qt::ArrowCursor);
  }
}

void RanksView::pointerReleased(const PointerInput& input) {
  const bool click = std::exchange(pressed_, false) && input.button == Qt::LeftButton;
  if (!click || content_ == nullptr) {
    return;
  }
  const RanksScene now = scene();
  if (const auto unlike = now.unlikeAt(input.position)) {
    selectUnlike(*unlike);
  } else if (const auto place = now.placeAt(input.position)) {
    select(*place, figure());
  } else {
    return;
  }
  emit timelineRequested();
}

void RanksView::select(const RankPlace& place, RankFigure figure) {
  if (model_ == nullptr || state_ == nullptr || analysed_ == nullptr) {
    return;
  }
  const int rank = content_->table.ranks[place.rank];
  const std::vector<int> beside = content_->likeness.besides(rank);
  // Of a handful all are shown, as they are.
  state_->showRanks(beside.size() < content_->table.ranks.size() ? beside : std::vector<int>());
  showIteration(*model_, *state_, rank, worstStep(*content_, *analysed_, figure, place),
                std::nullopt);
}

void RanksView::selectUnlike(std::size_t index) {
  const diagnosis::UnlikeRanks& unlike = content_->likeness.unlike[index];
  const RankFigure figure = figureOf(unlike.kind);
  const std::vector<float>& means = content_->of(figure).means;
  // Of a host that rank which is most so.
  std::size_t worst = *content_->table.indexOf(unlike.ranks.front());
  for (const int rank : unlike.ranks) {
    const std::size_t at = *content_->table.indexOf(rank);
    worst = !means.empty() && means[at] > means[worst] ? at : worst;
  }
  unlike_ = index;
  select({worst, content_->worstColumn(figure, worst)}, figure);
}

void RanksView::stepUnlike(int by) {
  const auto count = content_ == nullptr ? 0 : static_cast<int>(content_->likeness.unlike.size());
  if (count == 0) {
    return;
  }
  const int from = unlike_ ? static_cast<int>(*unlike_) : by > 0 ? -1 : 0;
  selectUnlike(static_cast<std::size_t>((from + by + count) % count));
}

void RanksView::selectionMoved() {
  const auto row = content_ != nullptr && state_ != nullptr && state_->selection()
                       ? content_->table.indexOf(state_->selection()->rank())
                       : std::nullopt;
  if (row) {
    table_->showRow(*row);
  } else {
    table_->showNoRow();
  }
  repaintSoon();
}

void RanksView::makeActions() {
  const auto next = [](QComboBox* box) {
    box->setCurrentIndex(box->count() == 0 ? -1 : (box->currentIndex() + 1) % box->count());
  };
  makeAction(tr("Next rank that stands out"), {Qt::Key_N}, [this] { stepUnlike(1); });
  makeAction(tr("Previous rank that stands out"), {QKeySequence(Qt::SHIFT | Qt::Key_N)},
             [this] { stepUnlike(-1); });
  makeAction(tr("Colour the map by the next figure"), {Qt::Key_C},
             [this, next] { next(figureBox_); });
  makeAction(tr("Order the ranks otherwise"), {Qt::Key_O}, [this, next] { next(orderBox_); });
  makeAction(tr("Show the selection in the timeline"), {Qt::Key_Return},
             [this] { emit timelineRequested(); });
  makeAction(tr("Show all ranks in the timeline again"), {Qt::Key_Escape}, [this] {
    if (state_ != nullptr) {
      state_->showRanks({});
      state_->clearSelection();
    }
  });
}

// What a screen reader says about the map.
void RanksView::describe() {
  canvas_->setAccessibleDescription(
      content_ == nullptr ? tr("Nothing is analysed yet.")
                          : QString::fromStdString(diagnosis::unlikeText(content_->likeness)));
}

}  // namespace lockstep::ui
