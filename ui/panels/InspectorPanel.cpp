#include "ui/panels/InspectorPanel.h"

#include <QApplication>
#include <QClipboard>
#include <QGridLayout>
#include <QHeaderView>
#include <QPushButton>
#include <QStackedLayout>
#include <QTimer>
#include <algorithm>
#include <utility>

#include "engine/trace/Event.h"
#include "ui/model/Follow.h"
#include "ui/model/Format.h"
#include "ui/model/SpanFacts.h"
#include "ui/model/SpanQuery.h"
#include "ui/panels/CurrentPalette.h"
#include "ui/panels/EmptyState.h"
#include "ui/panels/Labels.h"
#include "ui/panels/Layouts.h"
#include "ui/table/WrittenTable.h"

namespace lockstep::ui {
namespace {

constexpr double kTellApartNs = 1000;  // arrivals of ranks
constexpr int kArrived = 3;            // column of the moment of arrival, the last
constexpr int kRefreshMs = 250;        // while a live run grows under the selection

LowTable* makeTable(const QString& called, const char* name,
                    std::vector<TableRows::Column> columns) {
  auto* table = named(new LowTable(called, std::move(columns)), name, called);
  table->setVerticalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  table->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  table->setFrameShape(QFrame::NoFrame);
  return table;
}

/// A column of words that is sorted by numbers.
TableRows::Column sortedByNumber(const QString& title) {
  return {title, {}, false, true};
}

/// A cell that leads somewhere.
WrittenRows::Cell link(const QString& text, std::optional<double> number, const QString& tip) {
  return {text, number, tip, currentAccent, true};
}

QLabel* sectionTitle() {
  auto* label = bold();
  label->setWordWrap(true);
  return label;
}

}  // namespace

InspectorPanel::InspectorPanel(QWidget* parent)
    : QWidget(parent),
      later_(new QTimer(this)),
      stack_(new QStackedLayout(this)),
      title_(bold(QString(), 1.15)),
      facts_(
          makeTable(tr("Facts of the selection"), "inspectorFacts", {{tr("Fact")}, {tr("Value")}})),
      arrivalsTitle_(sectionTitle()),
      arrivals_(makeTable(tr("Arrival of each rank"), "inspectorArrivals",
                          {sortedByNumber(tr("Rank")), sortedByNumber(tr("Late by")),
                           sortedByNumber(tr("Took")), sortedByNumber(tr("Arrived"))})),
      parametersTitle_(sectionTitle()),
      parameters_(makeTable(tr("Parameters of the bucket"), "inspectorParameters",
                            {{tr("Parameter")}, {tr("Shape")}, sortedByNumber(tr("Bytes"))})),
      previous_(named(new QPushButton(tr("◀ Previous")), "", {},
                      tr("Previous of the same name in this lane ([)"))),
      next_(named(new QPushButton(tr("Next ▶")), "", {},
                  tr("Next of the same name in this lane (])"))) {
  setObjectName("inspectorPanel");
  facts_->horizontalHeader()->hide();
  facts_->setWordWrap(true);
  facts_->verticalHeader()->setSectionResizeMode(QHeaderView::ResizeToContents);
  // Facts wrap when the panel gets narrower; the table grows with its rows.
  connect(facts_->horizontalHeader(), &QHeaderView::sectionResized, facts_,
          &QTableView::resizeRowsToContents);
  connect(facts_->verticalHeader(), &QHeaderView::sectionResized, facts_, &LowTable::fitHeight,
          Qt::QueuedConnection);  // when all rows are resized
  connect(arrivals_->horizontalHeader(), &QHeaderView::geometriesChanged, this,
          &InspectorPanel::fitArrivals, Qt::QueuedConnection);  // when all columns are laid out
  title_->setObjectName("inspectorTitle");
  title_->setWordWrap(true);
  title_->setTextInteractionFlags(Qt::TextSelectableByMouse);

  auto* scroll = scrolled(fill(new QWidget,
                               inColumn({title_, facts_, Part::gap(8), arrivalsTitle_, arrivals_,
                                         Part::gap(8), parametersTitle_, parameters_, Part::rest()},
                                        6),
                               {8, 8, 8, 8}));

  auto* copy =
      named(new QPushButton(tr("Copy JSON")), "", {}, tr("Copy everything shown here as JSON"));
  auto* findAll = named(new QPushButton(tr("Find all")), "inspectorFindAll", {},
                        tr("List all of the same name and bucket in Events"));
  auto* buttons = new QGridLayout;
  buttons->setContentsMargins(8, 4, 8, 8);
  buttons->addWidget(previous_, 0, 0);
  buttons->addWidget(next_, 0, 1);
  buttons->addWidget(findAll, 1, 0);
  buttons->addWidget(copy, 1, 1);

  stack_->addWidget(new EmptyState(
      tr("Nothing selected. Click a bar in the timeline to see its facts here."), QString()));
  stack_->addWidget(fill(new QWidget, inColumn({{scroll, 1}, buttons}, 0)));

  later_->setSingleShot(true);
  later_->setInterval(kRefreshMs);
  connect(later_, &QTimer::timeout, this, &InspectorPanel::refresh);
  connect(copy, &QPushButton::clicked, this, &InspectorPanel::copyJson);
  connect(previous_, &QPushButton::clicked, this, [this] { selectNeighbour(-1); });
  connect(next_, &QPushButton::clicked, this, [this] { selectNeighbour(1); });
  connect(findAll, &QPushButton::clicked, this, [this] {
    if (state_ != nullptr && state_->selection()) {
      emit findAllRequested(queryFor(*state_->selection()));
    }
  });
  // The rows go with the selection: a copy stays.
  connect(arrivals_, &LowTable::followed, this,
          [this](std::size_t row) { goTo(Span(arrived_[row])); });
  connect(parameters_, &LowTable::followed, this, [this](std::size_t row) {
    emit findAllRequested('"' + parameters_->rowsModel().rows()->text(row, 0) + '"');
  });
}

void InspectorPanel::setRun(RunModel* model, ViewState* state) {
  follow(model_, model, this);
  follow(state_, state, this);
  verdict_.clear();
  if (model_ != nullptr && state_ != nullptr) {
    connect(state_, &ViewState::selectionChanged, this, &InspectorPanel::refresh);
    // A live run grows under the selection: the other ranks' spans of its collective may still
    // come. `changed` comes up to 30 times a second, so the tables are filled anew after a pause.
    connect(model_, &RunModel::changed, this, [this] {
      if (state_->selection() && !later_->isActive()) {
        later_->start();
      }
    });
  }
  refresh();
}

void InspectorPanel::setVerdict(std::uint32_t iteration, const QString& sentence) {
  if (iteration != judged_ || sentence != verdict_) {
    judged_ = iteration;
    verdict_ = sentence;
    refresh();
  }
}

void InspectorPanel::copyJson() const {
  if (model_ != nullptr && state_ != nullptr && state_->selection()) {
    QApplication::clipboard()->setText(jsonOf(*model_, *state_->selection()));
  }
}

void InspectorPanel::selectNeighbour(int direction) {
  if (model_ == nullptr || state_ == nullptr || !state_->selection()) {
    return;
  }
  const auto next = model_->neighbourOfSameKind(*state_->selection(), direction);
  if (!next) {
    return;
  }
  goTo(*next);
}

void InspectorPanel::goTo(const Span& span) {
  const TimeRange range = state_->range();
  if (span.startNs < range.startNs || span.endNs() > range.endNs) {
    const TimeRange all{span.startNs, span.endNs()};
    state_->setRange(TimeRange::about(all.middleNs(), range.lengthNs()));
  }
  state_->select(span);
  emit chosen(span);
}

void InspectorPanel::refresh() {
  if (model_ == nullptr || state_ == nullptr || !state_->selection()) {
    forget();
    return;
  }
  const Span span = *state_->selection();
  title_->setText(titleOf(*model_, span));
  fillFacts(span);
  fillArrivals(span);
  fillParameters(span);
  previous_->setEnabled(model_->neighbourOfSameKind(span, -1).has_value());
  next_->setEnabled(model_->neighbourOfSameKind(span, 1).has_value());
  stack_->setCurrentIndex(1);
}

// Also what lies behind the empty page, which a screen reader may still find.
void InspectorPanel::forget() {
  stack_->setCurrentIndex(0);
  later_->stop();
  title_->clear();
  arrived_.clear();
  for (LowTable* table : {facts_, arrivals_, parameters_}) {
    table->write({});
  }
  for (QLabel* title : {arrivalsTitle_, parametersTitle_}) {
    title->clear();
  }
}

void InspectorPanel::fillFacts(const Span& span) {
  std::vector<WrittenRows::Row> rows;
  std::vector<Fact> facts = factsOf(*model_, span);
  if (span.kind == trace::EventKind::kStep && span.step == judged_ && !verdict_.isEmpty()) {
    facts.push_back({tr("Verdict"), verdict_});
  }
  for (const Fact& fact : facts) {
    rows.push_back({{fact.name, {}, {}, [] { return currentPalette().textMuted; }}, {fact.value}});
  }
  facts_->write(std::move(rows));
}

void InspectorPanel::fillArrivals(const Span& span) {
  const Arrivals arrivals = arrivalsOf(*model_, span);
  const bool any = !arrivals.byRank.empty();
  arrivalsTitle_->setVisible(any);
  arrivals_->setVisible(any);
  if (!any) {
    return;
  }
  // From what is known least: without the record of a rank nobody can say who was last; ranks on
  // hosts with different clocks may lie closer together than their clocks are known.
  arrivalsTitle_->setText(
      !arrivals.missing.empty()
          ? tr("No record of %1: who came last is unknown").arg(formatRanks(arrivals.missing))
      : !arrivals.closeToLast.empty()
          ? tr("Last, within ± %2 of their clocks: %1")
                .arg(formatRanks(arrivals.closeToLast), formatDuration(arrivals.doubtNs))
      : arrivals.lateRank < 0 ? tr("Only rank %1 recorded it").arg(arrivals.byRank.front().rank())
                              : tr("Rank %1 arrived last; the first waited %2")
                                    .arg(arrivals.lateRank)
                                    .arg(formatDuration(arrivals.waitNs)));
  const double firstNs = std::ranges::min(arrivals.byRank, {}, &Span::startNs).startNs;
  arrived_ = arrivals.byRank;
  std::vector<WrittenRows::Row> rows;
  for (const Span& part : arrived_) {
    const double lateNs = part.startNs - firstNs;
    const bool late = part.rank() == arrivals.lateRank;
    const QString arrived = formatTime(part.startNs, kTellApartNs);
    rows.push_back({link(QString::number(part.rank()), part.rank(), tr("Select this rank's span")),
                    {lateNs > 0 ? "+" + formatDuration(lateNs) : tr("first"), lateNs,
                     tr("Arrived at %1").arg(arrived),
                     late ? +[] { return currentPalette().warning; } : nullptr},
                    {formatDuration(part.durationNs), part.durationNs},
                    {arrived, part.startNs}});
  }
  arrivals_->write(std::move(rows));
  fitArrivals();
}

// The moment of arrival has so many digits that in a narrow panel some would be cut off, which
// reads as another moment: there it is said under the pointer alone.
void InspectorPanel::fitArrivals() {
  const QAbstractItemView* cells = arrivals_;
  const QHeaderView* titles = arrivals_->horizontalHeader();
  int wanted = cells->sizeHintForColumn(kArrived);  // its title has no size while it is hidden
  for (int column = 0; column < kArrived; ++column) {
    wanted += std::max(cells->sizeHintForColumn(column), titles->sectionSizeHint(column));
  }
  arrivals_->setColumnHidden(kArrived, wanted > arrivals_->viewport()->width());
}

void InspectorPanel::fillParameters(const Span& span) {
  // The layout of the span's own iteration: after the rebuild, bucket 3 holds other parameters.
  const trace::BucketsMessage* layout = span.hasBucket() ? model_->layoutAt(span.step) : nullptr;
  const bool known = layout != nullptr && span.bucket < layout->buckets.size();
  parametersTitle_->setVisible(known);
  parameters_->setVisible(known);
  if (!known) {
    return;
  }
  const auto& bucket = layout->buckets[span.bucket];
  const auto& parameters = model_->parameters();
  std::vector<WrittenRows::Row> rows;
  for (const std::uint32_t index : bucket.parameters) {
    if (index >= parameters.size()) {
      rows.push_back({{tr("number %1").arg(index)}, {}, {}});
      continue;
    }
    const auto& parameter = parameters[index];
    rows.push_back(
        {link(QString::fromStdString(parameter.name), {}, tr("List all events of this parameter")),
         {formatShape(parameter.shape)},
         {formatBytes(parameter.bytes), static_cast<double>(parameter.bytes)}});
  }
  parameters_->write(std::move(rows));
  parametersTitle_->setText(tr("Bucket %1: %2, %3 %4")
                                .arg(span.bucket)
                                .arg(formatCounted(bucket.parameters.size(), "parameter"))
                                .arg(formatBytes(bucket.bytes))
                                .arg(QString::fromStdString(bucket.dtype)));
}

}  // namespace lockstep::ui
