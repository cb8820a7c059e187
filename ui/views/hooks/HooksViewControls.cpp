#include <QComboBox>
#include <QFileDialog>
#include <QHeaderView>
#include <QPushButton>
#include <QScrollBar>
#include <QSignalBlocker>
#include <algorithm>
#include <memory>

#include "ui/model/ViewState.h"
#include "ui/panels/EmptyState.h"
#include "ui/panels/Labels.h"
#include "ui/panels/hooks/LiveParametersPanel.h"
#include "ui/table/TableView.h"
#include "ui/table/WholeRows.h"
#include "ui/views/hooks/HooksTable.h"
#include "ui/views/hooks/HooksView.h"

namespace lockstep::ui {
namespace {

constexpr int kAllRanks = -1;

QString defaultSentence() {
  return HooksView::tr("Default all-reduce: no hook was loaded in this run");
}

QString observedSentence(const HookRun& run) {
  return run.simulated
             ? HooksView::tr("This run is simulated: phases of a communication hook are not")
             : HooksView::tr(
                   "This is a job of PyTorch: no phases of a communication hook were recorded");
}

}  // namespace

void HooksView::buildControls() {
  ranks_ = named(new QComboBox, "hooksRank", tr("Ranks"),
                 tr("Whose calls are measured: waiting differs from rank to rank"));
  ranks_->addItem(tr("All ranks"), kAllRanks);
  connect(ranks_, &QComboBox::activated, this, &HooksView::prepare);
  others_ = named(new QComboBox, "hooksOther", tr("Compare with"),
                  tr("Lays another run's hook over this one"));
  others_->setSizeAdjustPolicy(QComboBox::AdjustToContents);
  connect(others_, &QComboBox::activated, this, &HooksView::otherChosen);
  QHBoxLayout* row =
      inRow({ranks_, Part::gap(8), labelOf(others_, tr("Compare &with")), others_, Part::rest()});
  row->setContentsMargins(10, 6, 10, 0);

  sentence_ = wrapped({}, "hooksSentence");
  load_ = named(new QPushButton(tr("Load a hook…")), "hooksLoad");
  connect(load_, &QPushButton::clicked, this, &HooksView::loadHookRequested);
  banner_ = fill(new QWidget, inRow({{sentence_, 1}, load_}), {12, 4, 10, 0});

  live_ = new LiveParametersPanel;
  connect(live_, &LiveParametersPanel::failed, this, [this](const QString& sentence) {
    failure_ = sentence;
    showState();
  });

  makeCanvas(tr("Time and bytes of the hook"))->installEventFilter(this);
  setHeading(QStringLiteral("hook phase"));
  QWidget* drawing = fill(new QWidget, makeScrollBar());
  connect(scrollBar_, &QScrollBar::valueChanged, this, [this](int value) {
    scrollY_ = value;
    repaintSoon();
  });

  buildTable();
  QSplitter* splitter = split(Qt::Vertical, {{drawing, 4}, {table_, 1}});
  splitter->setCollapsible(0, false);
  new WholeRows(splitter, {table_}, 0.25);

  page_ = fill(new QWidget, inColumn({row, banner_, live_, {splitter, 1}}, 4));

  empty_ = new EmptyState(defaultSentence(), tr("Load a hook…"));
  connect(empty_, &EmptyState::activated, this, &HooksView::loadHookRequested);
  waiting_ = new EmptyState(QString(), QString());
  setPages(tr("No run is open. Start an experiment or open a run file to see what its hook does."),
           tr("Run the 2-rank demo"), Offer::kDemo, {page_, empty_, waiting_});
  fillOthers();
}

void HooksView::buildTable() {
  table_ = named(new TableView(tr("Times and bytes of the hook as a table")), "hooksTable");
  // Qt gives a column that is hidden while the last one stretches no width of nought.
  table_->horizontalHeader()->setStretchLastSection(false);
  fillTable();
  table_->sortFromTheStart(HooksTable::kBucket, Qt::AscendingOrder);
  table_->setColumnHidden(HooksTable::kRun, true);
  table_->verticalHeader()->setDefaultSectionSize(fontMetrics().height() + 8);
  table_->setColumnWidth(HooksTable::kRun, fontMetrics().horizontalAdvance("B  hierarchical__"));
  table_->setColumnWidth(HooksTable::kPhase, fontMetrics().horizontalAdvance("all phases__"));
  for (int column = HooksTable::kCount; column < HooksTable::kColumnCount; ++column) {
    table_->setColumnWidth(column, fontMetrics().horizontalAdvance("Collectives____"));
  }
  table_->setMinimumHeight(fontMetrics().height() * 4);
  connect(table_, &TableView::rowChosen, this,
          [this](std::size_t row) { pick(rows_->pickOf(row), true); });
}

void HooksView::fillTable() {
  rows_ = std::make_shared<HooksTable>(content_);
  table_->setRows(rows_);
}

void HooksView::setOtherRuns(const QStringList& paths) {
  if (otherRuns_ != paths) {  // an open list of choices stays as it is
    otherRuns_ = paths;
    fillOthers();
  }
}

void HooksView::fillOthers() {
  const QSignalBlocker quiet(others_);
  QStringList paths = otherRuns_;
  // A file from the dialog is offered with the others.
  if (!otherPath_.isEmpty() && !paths.contains(otherPath_)) {
    paths.prepend(otherPath_);
  }
  offerRuns(*others_, tr("no other run"), paths);
  others_->insertSeparator(others_->count());
  others_->addItem(tr("Another file…"));
  others_->setCurrentIndex(otherPath_.isEmpty() ? 0 : others_->findData(otherPath_));
}

void HooksView::otherChosen(int index) {
  if (index != others_->count() - 1) {
    compareWith(others_->itemData(index).toString());
    return;
  }
  fillOthers();  // the entry is a command, not a choice
  auto* dialog =
      new QFileDialog(this, tr("Compare with a run"), QString(), tr("Run files (*.lockstep)"));
  dialog->setAttribute(Qt::WA_DeleteOnClose);
  dialog->setFileMode(QFileDialog::ExistingFile);
  connect(dialog, &QFileDialog::fileSelected, this, &HooksView::compareWith);
  dialog->open();
}

std::optional<int> HooksView::chosenRank() const {
  const int rank = ranks_->currentData().toInt();
  return rank == kAllRanks ? std::nullopt : std::optional(rank);
}

void HooksView::fillRanks() {
  const int count = model_ == nullptr ? 0 : model_->rankCount();
  // Filled anew only for another number of ranks, or an open list would close.
  if (ranks_->count() == count + 1) {
    return;
  }
  const QSignalBlocker quiet(ranks_);
  const QVariant chosen = ranks_->currentData();
  ranks_->clear();
  ranks_->addItem(tr("All ranks"), kAllRanks);
  for (int rank = 0; rank < count; ++rank) {
    ranks_->addItem(tr("Rank %1").arg(rank), rank);
  }
  // A rank that this run does not have: all.
  ranks_->setCurrentIndex(std::max(0, ranks_->findData(chosen)));
}

void HooksView::showState() {
  const auto say = [this](const QString& sentence) {
    waiting_->setSentence(sentence);
    showPage(waiting_);
  };
  if (!any()) {
    return;
  }
  if (first_ == nullptr) {
    say(!failure_.isEmpty()   ? failure_
        : !model_->isLoaded() ? tr("Reading the run…")
                              : tr("Measuring what the hook does…"));
    return;
  }
  // Curves alone are enough: a hook may count and have no call that was measured.
  const bool nothing = first_->calls.size() == 0 && first_->curves.empty();
  if (nothing && first_->observed && second_ == nullptr) {
    say(observedSentence(*first_));
    return;
  }
  // Of a live run a call may still come, so it keeps its page.
  if (nothing && !first_->plugin && second_ == nullptr && !model_->isLive()) {
    showPage(empty_);
    return;
  }
  showPage(page_);
  // The engine's own hooks have their times shown under a sentence, since allreduce is what hooks
  // are compared with.
  const bool plain = !first_->plugin;
  banner_->setVisible(plain || !failure_.isEmpty());
  load_->setVisible(failure_.isEmpty() && !first_->observed);
  sentence_->setText(!failure_.isEmpty() ? failure_
                     : first_->observed  ? observedSentence(*first_)
                     : first_->hook == QLatin1String("noop")
                         ? tr("noop: no hook was loaded in this run, and no gradient is sent")
                         : defaultSentence());
}

}  // namespace lockstep::ui
