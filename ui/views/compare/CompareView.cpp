#include "ui/views/compare/CompareView.h"

#include <QComboBox>
#include <QDragEnterEvent>
#include <QDropEvent>
#include <QFileDialog>
#include <QHeaderView>
#include <QPushButton>
#include <QScrollBar>
#include <QSignalBlocker>
#include <QStackedLayout>
#include <QTabBar>
#include <QTabWidget>
#include <QTimer>
#include <QToolButton>
#include <algorithm>

#include "ui/panels/ElidedLabel.h"
#include "ui/panels/EmptyState.h"
#include "ui/panels/Labels.h"
#include "ui/panels/LocalFiles.h"
#include "ui/table/TableText.h"
#include "ui/table/TableView.h"
#include "ui/views/compare/CompareTables.h"
#include "ui/views/compare/DistributionPanel.h"
#include "ui/views/compare/MetricText.h"
#include "ui/views/compare/TwinTimelines.h"

namespace lockstep::ui {
namespace {

const QString kRunSuffix = QStringLiteral(".lockstep");

/// "B  topk  (hooks_topk)": two runs of one experiment differ in their files alone.
QString titleOf(std::size_t run, const RunModel& model) {
  const QString file = QString::fromStdString(model.path().stem().string());
  const QString name = QString::fromStdString(model.info().name);
  return letterOf(run) + QStringLiteral("  ") +
         (name.isEmpty() || name == file ? file : QStringLiteral("%1 (%2)").arg(name, file));
}

constexpr int kLeastNameInLetters = 14;
constexpr int kRowsInSight = 5;  // of the figures, in the lowest window
// Of the window of a laptop, whose timelines would else show no lane of a rank.
constexpr int kTablesHeight = 250;
constexpr int kPicturesHeight = 430;
constexpr int kAskAgainMs = 2000;  // for the analysis of a live run

}  // namespace

CompareView::~CompareView() = default;

void CompareView::runChanged() {
  refusal_.clear();
  // The others stay: they are compared with the new run, too.
  runs_.setOpen({model_, state_, analyser_});
  showRecent();
}

// Colours of the tables' texts are of the theme, so they are made anew.
void CompareView::themeChanged() {
  fillTables();
  distribution_->setTheme(theme_);
  twins_->setTheme(theme_);
}

void CompareView::addRun(const QString& path) {
  refusal_.clear();
  runs_.add(path);
}

void CompareView::setBaseline(const QString& path) {
  refusal_.clear();
  runs_.setBaseline(path);
}

void CompareView::clearOthers() {
  refusal_.clear();
  runs_.clear();
}

void CompareView::setForecast(const std::optional<Forecast>& forecast) {
  if (forecast == forecast_) {
    return;
  }
  forecast_ = forecast;
  forecastWords_->setText(forecast ? forecast->words : QString());
  forecastWords_->setVisible(forecast.has_value());
  distribution_->setForecast(forecast ? std::optional(forecast->step) : std::nullopt);
  if (forecast) {
    pictures_->setCurrentWidget(distribution_);  // where it is drawn beside what was measured
  }
}

void CompareView::setOtherRuns(const QStringList& paths) {
  if (recentPaths_ != paths) {  // an open list of choices stays as it is
    recentPaths_ = paths;
    showRecent();
  }
}

QString CompareView::message() const {
  return message_->isHidden() ? QString() : message_->text();
}

void CompareView::askForRun() {
  if (model_ == nullptr) {
    emit openRequested();
    return;
  }
  // Other runs mostly lie beside the open one.
  const QString folder = QFileInfo(QString::fromStdString(model_->path().string())).path();
  const QStringList paths = QFileDialog::getOpenFileNames(this, tr("Runs to compare with"), folder,
                                                          tr("Runs (*%1)").arg(kRunSuffix));
  for (const QString& path : paths) {
    addRun(path);
  }
}

void CompareView::showRecent() {
  const QSignalBlocker quiet(recent_);
  offerRuns(*recent_, tr("Add a recent run…"), recentPaths_);
  recent_->setEnabled(model_ != nullptr && recent_->count() > 1);
}

// What is compared: the header follows at once, the tables when the comparison is there.
void CompareView::showRuns() {
  stack_->setCurrentIndex(model_ != nullptr && runs_.count() > 0 ? 1 : 0);
  empty_->setSentence(model_ != nullptr
                          ? tr("Pick two runs: the open one is A. Add the one to compare it with, "
                               "or drop run files here.")
                          : tr("Pick two runs: open the first, then add the one to compare it "
                               "with."));
  header_->setVisible(model_ != nullptr);
  const RunModel* first = runs_.model(0);
  a_->setText(first != nullptr ? titleOf(0, *first) : QString());
  {
    // Without signals: tabs follow the runs here, and showOther() would show a result of before.
    const QSignalBlocker quiet(tabs_);
    // Tabs have the order of the runs: what stands in a run's place is of one that went. Taken out
    // where they are, these leave the tab that is chosen.
    int tab = 0;
    for (std::size_t i = 0; i < runs_.count(); ++i, ++tab) {
      const QString path = QString::fromStdString(runs_.model(i + 1)->path().string());
      while (tab < tabs_->count() && tabs_->tabToolTip(tab) != path) {
        tabs_->removeTab(tab);
      }
      const QString title = titleOf(i + 1, *runs_.model(i + 1));
      tab < tabs_->count() ? tabs_->setTabText(tab, title)
                           : static_cast<void>(tabs_->addTab(title));
      tabs_->setTabToolTip(tab, path);
    }
    while (tabs_->count() > tab) {
      tabs_->removeTab(tab);
    }
    // The tab that is chosen may have gone.
    other_ = static_cast<std::size_t>(std::max(0, tabs_->currentIndex())) + 1;
  }
  // A refusal stays until the next try; else what is waited for.
  say(refusal_.isEmpty() ? runs_.waiting() : refusal_);
  QStringList paths;
  for (std::size_t run = 0; first != nullptr && runs_.count() > 0 && run <= runs_.count(); ++run) {
    paths << QString::fromStdString(runs_.model(run)->path().string());
  }
  emit comparedChanged(paths);
}

void CompareView::showResult() {
  showRuns();
  const auto result = runs_.result();
  fillTables();
  distribution_->showResult(result);
  // While one of the runs is read there is no comparison: everything of the old one goes.
  if (result == nullptr) {
    counts_->setWords({});
    summary_->clear();
    same_->hide();
    fewRuns_->hide();
    keysTable_->hide();
    twins_->showRuns(nullptr, 0, nullptr, 1, 0);
    return;
  }
  const analysis::Comparison& comparison = result->comparison;
  same_->setText(comparison.keysNote.empty() ? tr("The experiments are the same.")
                                             : QString::fromStdString(comparison.keysNote));
  // With jobs of PyTorch the note stays beside the keys: what they do not tell is unknown, not
  // equal.
  same_->setVisible(comparison.keys.empty() || !comparison.keysNote.empty());
  keysTable_->setVisible(!comparison.keys.empty());
  // Five keys are in sight; the rest is scrolled.
  const int rows = std::min<int>(5, static_cast<int>(comparison.keys.size()));
  keysTable_->setFixedHeight(keysTable_->horizontalHeader()->sizeHint().height() +
                             rows * keysTable_->verticalHeader()->defaultSectionSize() + 4);
  const QString fewRuns = fewRunsNote(comparison, other_);
  fewRuns_->setText(fewRuns);
  fewRuns_->setVisible(!fewRuns.isEmpty());
  const QString ofA = QString::fromStdString(comparison.runs[0].counts);
  const QString ofOther = QString::fromStdString(comparison.runs[other_].counts);
  counts_->setWords(
      ofA == ofOther
          ? tr("Means over ranks and iterations. A and %1: %2 each.").arg(letterOf(other_), ofA)
          : tr("Means over ranks and iterations. A: %1. %2: %3.")
                .arg(ofA, letterOf(other_), ofOther));
  summary_->setText(QString::fromStdString(comparison.why[other_ - 1].summary));
  // Names give way to what is said of them.
  const int leastName = fontMetrics().averageCharWidth() * kLeastNameInLetters;
  keysTable_->resizeColumnsToContents();
  keysTable_->keepInSight(static_cast<int>(result->runs.size()), {{0, leastName}});
  metricsTable_->resizeColumnsToContents();
  metricsTable_->keepInSight(MetricRows::kVerdict, {{MetricRows::kMetric, leastName}});
  whyTable_->resizeColumnToContents(WhyRows::kDelta);
  whyTable_->resizeRowsToContents();
  twins_->showRuns(runs_.model(0), result->typicalIterations[0], runs_.model(other_), other_,
                   result->typicalIterations[other_]);
}

// Tabs count the others, from 0; runs count A, too.
void CompareView::showOther(int tab) {
  if (tab >= 0 && static_cast<std::size_t>(tab) + 1 != other_) {
    other_ = static_cast<std::size_t>(tab) + 1;
    showResult();
  }
}

void CompareView::say(const QString& sentence) {
  message_->setText(sentence);
  message_->setVisible(!sentence.isEmpty());
}

void CompareView::fillTables() {
  const Compared shown{runs_.result(), other_, theme_};
  keysTable_->setRows(std::make_shared<KeyRows>(shown));
  metricsTable_->setRows(std::make_shared<MetricRows>(shown));
  whyTable_->setRows(std::make_shared<WhyRows>(shown));
  whyTable_->resizeRowsToContents();
}

void CompareView::goToReason(std::size_t row) {
  const auto result = runs_.result();
  const analysis::Reason& reason = result->comparison.why[other_ - 1].reasons[row];
  // A reason may have no place in a run that does not have the cause: then a typical iteration.
  const auto fallBack = [&](std::size_t run) {
    return analysis::Reason::Place{0, result->typicalIterations[run]};
  };
  const auto a = reason.placeInA.value_or(fallBack(0));
  const auto b = reason.place.value_or(fallBack(other_));
  pictures_->setCurrentWidget(twins_);
  twins_->goTo(a.step, a.rank, b.step, b.rank, reason.key.bucket);
}

void CompareView::dragEnterEvent(QDragEnterEvent* event) {
  if (model_ != nullptr && !localFiles(*event->mimeData(), kRunSuffix).isEmpty()) {
    event->acceptProposedAction();
  }
}

void CompareView::dropEvent(QDropEvent* event) {
  for (const QString& path : localFiles(*event->mimeData(), kRunSuffix)) {
    addRun(path);
  }
  event->acceptProposedAction();
}

CompareView::CompareView(QWidget* parent)
    : RunView(parent),
      stack_(new QStackedLayout),
      empty_(new EmptyState({}, tr("Add a run…"))),
      a_(bold()),
      tabs_(new QTabBar),
      recent_(named(new QComboBox, "", tr("Recent runs"))),
      message_(muted()),
      forecastWords_(wrapped({}, "compareForecast")),
      header_(new QWidget),
      same_(muted(tr("The experiments are the same."))),
      fewRuns_(wrapped({}, "compareFewRuns")),
      counts_(named(new ElidedLabel, "compareCounts")),
      summary_(wrapped()),
      keysTable_(new TableView(tr("Keys that differ"))),
      metricsTable_(new TableView(tr("Figures of both runs"))),
      whyTable_(new TableView(tr("Why the step is longer or shorter"))),
      distribution_(new DistributionPanel),
      twins_(new TwinTimelines),
      pictures_(new QTabWidget) {
  setAccessibleName(tr("Compare"));
  setAcceptDrops(true);
  makeHeader();
  makeTables();
  makeActions();
  pictures_->setDocumentMode(true);
  pictures_->addTab(twins_, tr("Timelines"));
  pictures_->addTab(distribution_, tr("Distribution"));
  QWidget* top = makeTop();
  QSplitter* halves = split(Qt::Vertical, {{top, 1}, {pictures_, 1}});
  halves->setSizes({kTablesHeight, kPicturesHeight});
  halves->setChildrenCollapsible(false);
  auto* alone = named(new QToolButton, "comparePicturesAlone", {},
                      tr("Hides the tables, so that the pictures have the whole height"));
  alone->setText(tr("Hide tables"));
  alone->setAutoRaise(true);
  alone->setCheckable(true);
  pictures_->setCornerWidget(alone);
  connect(alone, &QToolButton::toggled, top, &QWidget::setHidden);
  stack_->addWidget(empty_);
  stack_->addWidget(fill(new QWidget, inColumn({message_, forecastWords_, fewRuns_, {halves, 1}})));
  forecastWords_->hide();
  fill(this, inColumn({header_, {stack_, 1}}), {8, 6, 8, 6});

  connect(empty_, &EmptyState::activated, this, &CompareView::askForRun);
  connect(&runs_, &ComparedRuns::runsChanged, this, &CompareView::showRuns);
  connect(&runs_, &ComparedRuns::compared, this, &CompareView::showResult);
  connect(&runs_, &ComparedRuns::refused, this, [this](const QString& sentence) {
    refusal_ = sentence;
    showRuns();
    // With no other run the page of tables is out of sight, and with it message_.
    if (runs_.count() == 0) {
      empty_->setSentence(sentence);
    }
  });
  connect(whyTable_, &TableView::rowClicked, this, &CompareView::goToReason);
  connect(whyTable_, &TableView::rowActivated, this, &CompareView::goToReason);
  // A live run's analysis grows old, and nothing else asks for a new one.
  auto* timer = new QTimer(this);
  timer->setInterval(kAskAgainMs);
  connect(timer, &QTimer::timeout, this, [this] {
    if (isVisible()) {
      runs_.want();
    }
  });
  timer->start();
  showResult();
}

void CompareView::makeHeader() {
  tabs_->setTabsClosable(true);
  tabs_->setDrawBase(false);
  tabs_->setExpanding(false);
  tabs_->setUsesScrollButtons(true);
  tabs_->setElideMode(Qt::ElideRight);
  tabs_->setAccessibleName(tr("Runs compared with A"));
  recent_->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
  recent_->setMinimumContentsLength(14);
  auto* add = named(new QPushButton(tr("Add…")), "", {}, tr("Choose run files to compare with"));
  fill(header_, inRow({a_, muted(tr("against")), {tabs_, 1}, recent_, add}));
  connect(add, &QPushButton::clicked, this, &CompareView::askForRun);
  connect(tabs_, &QTabBar::currentChanged, this, &CompareView::showOther);
  connect(tabs_, &QTabBar::tabCloseRequested, this,
          [this](int tab) { runs_.remove(static_cast<std::size_t>(tab)); });
  connect(recent_, &QComboBox::activated, this, [this](int index) {
    const QString path = recent_->itemData(index).toString();
    // The box is a command, not a choice: it goes back to its title.
    recent_->setCurrentIndex(0);
    if (!path.isEmpty()) {
      addRun(path);
    }
  });
}

void CompareView::makeTables() {
  // What tells names apart is mostly at their end.
  keysTable_->setTextElideMode(Qt::ElideMiddle);
  metricsTable_->setTextElideMode(Qt::ElideMiddle);
  metricsTable_->setMinimumHeight(
      metricsTable_->horizontalHeader()->sizeHint().height() +
      kRowsInSight * metricsTable_->verticalHeader()->defaultSectionSize() +
      metricsTable_->horizontalScrollBar()->sizeHint().height() + 2 * metricsTable_->frameWidth());
  whyTable_->setSelectionMode(QAbstractItemView::SingleSelection);
  // Sentences take as many lines as they need.
  whyTable_->setWordWrap(true);
  // Another width breaks sentences at other places. It is known when all is laid out: measured at
  // once, a row would have the height of a width that it no longer has.
  connect(whyTable_->horizontalHeader(), &QHeaderView::geometriesChanged, whyTable_,
          &QTableView::resizeRowsToContents, Qt::QueuedConnection);
  connect(whyTable_->horizontalHeader(), &QHeaderView::sectionResized, whyTable_,
          &QTableView::resizeRowsToContents, Qt::QueuedConnection);
}

QWidget* CompareView::makeTop() {
  counts_->setForegroundRole(QPalette::PlaceholderText);
  auto* exportFigures = named(new QPushButton(tr("Export CSV…")), "", {},
                              tr("Write the table of figures into a file"));
  connect(exportFigures, &QPushButton::clicked, this,
          [this] { exportTable(this, *metricsTable_->model(), QStringLiteral("compare.csv")); });
  QWidget* figures = fill(new QWidget,
                          inColumn({bold(tr("Keys that differ")),
                                    same_,
                                    keysTable_,
                                    inRow({bold(tr("Figures")), Part::rest(), exportFigures}),
                                    {metricsTable_, 1},
                                    counts_}),
                          {0, 0, 4, 0});
  QWidget* reasons =
      fill(new QWidget, inColumn({bold(tr("Why")), summary_, {whyTable_, 1}}), {4, 0, 0, 0});
  // All columns of figures are seen in a window of 1,440 pixels, those up to the verdict in any.
  QSplitter* top = split(Qt::Horizontal, {{figures, 7}, {reasons, 5}});
  top->setSizes({700, 500});
  top->setChildrenCollapsible(false);
  return top;
}

void CompareView::makeActions() {
  makeAction(tr("Add a run to compare with"), {}, [this] { askForRun(); });
  makeAction(tr("Compare with no run"), {}, [this] { clearOthers(); });
  makeAction(tr("Export the comparison as CSV"), {},
             [this] { exportTable(this, *metricsTable_->model(), QStringLiteral("compare.csv")); });
}

}  // namespace lockstep::ui
