#include "ui/panels/InspectorPanel.h"

#include <QApplication>
#include <QClipboard>
#include <QGridLayout>
#include <QHeaderView>
#include <QLabel>
#include <QPushButton>
#include <QScrollArea>
#include <QStackedLayout>
#include <QTableWidget>
#include <QTimer>
#include <QVBoxLayout>
#include <algorithm>

#include "ui/model/Format.h"
#include "ui/model/SpanFacts.h"
#include "ui/model/SpanQuery.h"
#include "ui/panels/CurrentPalette.h"
#include "ui/panels/EmptyState.h"
#include "ui/table/TableText.h"

namespace lockstep::ui {
namespace {

constexpr double kTellApartNs = 1000;    // arrivals of ranks
constexpr int kNameRole = Qt::UserRole;  // of a parameter whose name is known
constexpr int kRefreshMs = 250;          // while a live run grows under the selection

QTableWidget* makeTable(const QStringList& headers, const QString& name) {
  auto* table = new QTableWidget(0, static_cast<int>(headers.size()));
  table->setAccessibleName(name);
  table->setHorizontalHeaderLabels(headers);
  table->verticalHeader()->hide();
  table->verticalHeader()->setDefaultSectionSize(table->fontMetrics().height() + 6);
  table->horizontalHeader()->setHighlightSections(false);
  table->horizontalHeader()->setStretchLastSection(true);
  table->horizontalHeader()->setDefaultAlignment(Qt::AlignLeft | Qt::AlignVCenter);
  table->setSelectionBehavior(QAbstractItemView::SelectRows);
  table->setEditTriggers(QAbstractItemView::NoEditTriggers);
  table->setTabKeyNavigation(false);
  table->setShowGrid(false);
  table->setAlternatingRowColors(true);
  table->setWordWrap(false);
  table->setVerticalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  table->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  table->setFrameShape(QFrame::NoFrame);
  makeCopyable(*table);
  return table;
}

// Says that a row can be followed: by a click or Enter.
void setLink(QTableWidgetItem* item, const QString& tip) {
  QFont font = item->font();
  font.setUnderline(true);
  item->setFont(font);
  item->setForeground(currentAccent());
  item->setToolTip(tip);
}

QTableWidgetItem* setText(QTableWidget* table, int row, int column, const QString& text,
                          bool number = false) {
  auto* item = new QTableWidgetItem(text);
  item->setToolTip(text);
  if (number) {
    item->setTextAlignment(Qt::AlignRight | Qt::AlignVCenter);
  }
  table->setItem(row, column, item);
  return item;
}

// The tables lie in one scroll area: each is as high as its rows.
void fitHeight(QTableWidget* table) {
  int height = 2 * table->frameWidth() + 2;
  if (!table->horizontalHeader()->isHidden()) {
    height += table->horizontalHeader()->sizeHint().height();
  }
  for (int row = 0; row < table->rowCount(); ++row) {
    height += table->rowHeight(row);
  }
  table->setFixedHeight(height);
}

QLabel* sectionTitle() {
  auto* label = new QLabel;
  QFont font = label->font();
  font.setBold(true);
  label->setFont(font);
  label->setWordWrap(true);
  return label;
}

}  // namespace

InspectorPanel::InspectorPanel(QWidget* parent)
    : QWidget(parent),
      later_(new QTimer(this)),
      stack_(new QStackedLayout(this)),
      title_(sectionTitle()),
      facts_(makeTable({tr("Fact"), tr("Value")}, tr("Facts of the selection"))),
      arrivalsTitle_(sectionTitle()),
      arrivals_(makeTable({tr("Rank"), tr("Late by"), tr("Took"), tr("Arrived")},
                          tr("Arrival of each rank"))),
      parametersTitle_(sectionTitle()),
      parameters_(
          makeTable({tr("Parameter"), tr("Shape"), tr("Bytes")}, tr("Parameters of the bucket"))),
      previous_(new QPushButton(tr("◀ Previous"))),
      next_(new QPushButton(tr("Next ▶"))) {
  setObjectName("inspectorPanel");
  facts_->horizontalHeader()->hide();
  facts_->setWordWrap(true);
  facts_->verticalHeader()->setSectionResizeMode(QHeaderView::ResizeToContents);
  // Facts wrap when the panel gets narrower; the table grows with its rows.
  connect(facts_->horizontalHeader(), &QHeaderView::sectionResized, facts_,
          &QTableWidget::resizeRowsToContents);
  connect(
      facts_->verticalHeader(), &QHeaderView::sectionResized, this, [this] { fitHeight(facts_); },
      Qt::QueuedConnection);  // when all rows are resized
  title_->setObjectName("inspectorTitle");
  title_->setTextInteractionFlags(Qt::TextSelectableByMouse);
  QFont large = title_->font();
  large.setPointSizeF(large.pointSizeF() * 1.15);
  title_->setFont(large);

  auto* content = new QWidget;
  auto* column = new QVBoxLayout(content);
  column->setContentsMargins(8, 8, 8, 8);
  column->setSpacing(6);
  column->addWidget(title_);
  column->addWidget(facts_);
  column->addSpacing(8);
  column->addWidget(arrivalsTitle_);
  column->addWidget(arrivals_);
  column->addSpacing(8);
  column->addWidget(parametersTitle_);
  column->addWidget(parameters_);
  column->addStretch(1);
  auto* scroll = new QScrollArea;
  scroll->setWidgetResizable(true);
  scroll->setFrameShape(QFrame::NoFrame);
  scroll->setWidget(content);

  auto* copy = new QPushButton(tr("Copy JSON"));
  copy->setToolTip(tr("Copy everything shown here as JSON"));
  previous_->setToolTip(tr("Previous of the same name in this lane ([)"));
  next_->setToolTip(tr("Next of the same name in this lane (])"));
  auto* findAll = new QPushButton(tr("Find all"));
  findAll->setObjectName("inspectorFindAll");
  findAll->setToolTip(tr("List all of the same name and bucket in Events"));
  auto* buttons = new QGridLayout;
  buttons->setContentsMargins(8, 4, 8, 8);
  buttons->addWidget(previous_, 0, 0);
  buttons->addWidget(next_, 0, 1);
  buttons->addWidget(findAll, 1, 0);
  buttons->addWidget(copy, 1, 1);
  auto* page = new QWidget;
  auto* pageLayout = new QVBoxLayout(page);
  pageLayout->setContentsMargins(0, 0, 0, 0);
  pageLayout->setSpacing(0);
  pageLayout->addWidget(scroll, 1);
  pageLayout->addLayout(buttons);

  stack_->addWidget(new EmptyState(
      tr("Nothing selected. Click a bar in the timeline to see its facts here."), QString()));
  stack_->addWidget(page);

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
  arrivals_->setObjectName("inspectorArrivals");
  connect(arrivals_, &QTableWidget::cellActivated, this, &InspectorPanel::selectArrival);
  parameters_->setObjectName("inspectorParameters");
  connect(parameters_, &QTableWidget::cellActivated, this, &InspectorPanel::findParameter);
  // A link is followed by one click, a row by Enter.
  connect(arrivals_, &QTableWidget::cellClicked, this, [this](int row, int column) {
    if (column == 0) {
      selectArrival(row);
    }
  });
  connect(parameters_, &QTableWidget::cellClicked, this, [this](int row, int column) {
    if (column == 0) {
      findParameter(row);
    }
  });
}

void InspectorPanel::setRun(RunModel* model, ViewState* state) {
  if (model_ != nullptr) {
    model_->disconnect(this);
  }
  if (state_ != nullptr) {
    state_->disconnect(this);
  }
  model_ = model;
  state_ = state;
  if (model_ != nullptr && state_ != nullptr) {
    connect(state_, &ViewState::selectionChanged, this, &InspectorPanel::refresh);
    connect(model_, &RunModel::changed, this, [this] {
      if (state_->selection() && !later_->isActive()) {
        later_->start();
      }
    });
  }
  refresh();
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
    const double middle = (span.startNs + span.endNs()) / 2;
    const double half = range.lengthNs() / 2;
    state_->setRange({middle - half, middle + half});
  }
  state_->select(span);
  emit chosen(span);
}

void InspectorPanel::selectArrival(int row) {
  if (state_ != nullptr && row >= 0 && row < static_cast<int>(arrived_.size())) {
    goTo(Span(arrived_[static_cast<std::size_t>(row)]));  // its row goes with the selection
  }
}

void InspectorPanel::findParameter(int row) {
  const QTableWidgetItem* item = parameters_->item(row, 0);
  const QString name = item != nullptr ? item->data(kNameRole).toString() : QString();
  if (!name.isEmpty()) {
    emit findAllRequested('"' + name + '"');
  }
}

void InspectorPanel::refresh() {
  if (model_ == nullptr || state_ == nullptr || !state_->selection()) {
    stack_->setCurrentIndex(0);
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

void InspectorPanel::fillFacts(const Span& span) {
  const std::vector<Fact> facts = factsOf(*model_, span);
  facts_->setRowCount(static_cast<int>(facts.size()));
  for (int row = 0; row < facts_->rowCount(); ++row) {
    setText(facts_, row, 0, facts[row].name)->setForeground(currentPalette().textMuted);
    setText(facts_, row, 1, facts[row].value);
  }
  facts_->resizeColumnToContents(0);
  facts_->resizeRowsToContents();
  fitHeight(facts_);
}

void InspectorPanel::fillArrivals(const Span& span) {
  const Arrivals arrivals = arrivalsOf(*model_, span);
  const int rows = static_cast<int>(arrivals.byRank.size());
  arrivalsTitle_->setVisible(rows > 0);
  arrivals_->setVisible(rows > 0);
  if (rows == 0) {
    return;
  }
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
  const double firstNs =
      std::min_element(arrivals.byRank.begin(), arrivals.byRank.end(),
                       [](const Span& a, const Span& b) { return a.startNs < b.startNs; })
          ->startNs;
  arrived_ = arrivals.byRank;
  arrivals_->setRowCount(rows);
  for (int row = 0; row < rows; ++row) {
    const Span& part = arrivals.byRank[row];
    setLink(setText(arrivals_, row, 0, QString::number(part.rank())),
            tr("Select this rank's span"));
    const double lateNs = part.startNs - firstNs;
    auto* late =
        setText(arrivals_, row, 1, lateNs > 0 ? "+" + formatDuration(lateNs) : tr("first"));
    if (part.rank() == arrivals.lateRank) {
      late->setForeground(currentPalette().warning);
    }
    setText(arrivals_, row, 2, formatDuration(part.durationNs));
    setText(arrivals_, row, 3, formatTime(part.startNs, kTellApartNs));
  }
  arrivals_->resizeColumnsToContents();
  fitHeight(arrivals_);
}

void InspectorPanel::fillParameters(const Span& span) {
  const trace::BucketsMessage* layout = span.hasBucket() ? model_->layoutAt(span.step) : nullptr;
  const bool known = layout != nullptr && span.bucket < layout->buckets.size();
  parametersTitle_->setVisible(known);
  parameters_->setVisible(known);
  if (!known) {
    return;
  }
  const auto& bucket = layout->buckets[span.bucket];
  const auto& parameters = model_->parameters();
  parameters_->setRowCount(static_cast<int>(bucket.parameters.size()));
  for (int row = 0; row < parameters_->rowCount(); ++row) {
    const std::uint32_t index = bucket.parameters[row];
    if (index >= parameters.size()) {
      setText(parameters_, row, 0, tr("number %1").arg(index));
      continue;
    }
    const QString name = QString::fromStdString(parameters[index].name);
    auto* item = setText(parameters_, row, 0, name);
    item->setData(kNameRole, name);
    setLink(item, tr("List all events of this parameter"));
    setText(parameters_, row, 1, formatShape(parameters[index].shape));
    setText(parameters_, row, 2, formatBytes(parameters[index].bytes));
  }
  parametersTitle_->setText(tr("Bucket %1: %2, %3 %4")
                                .arg(span.bucket)
                                .arg(formatCounted(bucket.parameters.size(), "parameter"))
                                .arg(formatBytes(bucket.bytes))
                                .arg(QString::fromStdString(bucket.dtype)));
  parameters_->resizeColumnsToContents();
  fitHeight(parameters_);
}

}  // namespace lockstep::ui
