// How a CompareView is put together.

#include <QAction>
#include <QComboBox>
#include <QHeaderView>
#include <QPushButton>
#include <QStackedLayout>
#include <QTabBar>
#include <QTabWidget>
#include <QTimer>

#include "ui/panels/EmptyState.h"
#include "ui/table/TableText.h"
#include "ui/table/TableView.h"
#include "ui/views/compare/CompareView.h"
#include "ui/views/compare/DistributionPanel.h"
#include "ui/views/compare/TwinTimelines.h"

namespace lockstep::ui {
namespace {

constexpr int kAskAgainMs = 2000;  // for the analysis of a live run

QLabel* muted(const QString& text = {}) {
  auto* label = new QLabel(text);
  label->setForegroundRole(QPalette::PlaceholderText);
  label->setWordWrap(true);
  return label;
}

QLabel* bold(const QString& text = {}) {
  auto* label = new QLabel(text);
  QFont font = label->font();
  font.setBold(true);
  label->setFont(font);
  return label;
}

}  // namespace

CompareView::CompareView(QWidget* parent)
    : RunView(parent),
      stack_(new QStackedLayout),
      empty_(new EmptyState({}, tr("Add a run…"))),
      a_(bold()),
      tabs_(new QTabBar),
      recent_(new QComboBox),
      message_(muted()),
      header_(new QWidget),
      same_(muted(tr("The experiments are the same."))),
      counts_(muted()),
      summary_(new QLabel),
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
  QSplitter* halves = split(Qt::Vertical, {{makeTop(), 5}, {pictures_, 6}});
  halves->setChildrenCollapsible(false);
  auto* content = new QWidget;
  auto* box = new QVBoxLayout(content);
  box->setContentsMargins(0, 0, 0, 0);
  addParts(*box, message_, wide(halves));
  stack_->addWidget(empty_);
  stack_->addWidget(content);
  auto* all = new QVBoxLayout(this);
  all->setContentsMargins(8, 6, 8, 6);
  addParts(*all, header_, wide(stack_));

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
  recent_->setAccessibleName(tr("Recent runs"));
  recent_->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
  recent_->setMinimumContentsLength(14);
  auto* add = new QPushButton(tr("Add…"));
  add->setToolTip(tr("Choose run files to compare with"));
  auto* row = new QHBoxLayout(header_);
  row->setContentsMargins(0, 0, 0, 0);
  addParts(*row, a_, muted(tr("against")), wide(tabs_), recent_, add);
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
  whyTable_->setSelectionMode(QAbstractItemView::SingleSelection);
  // Sentences take as many lines as they need.
  whyTable_->setWordWrap(true);
  // Another width breaks sentences at other places.
  connect(whyTable_->horizontalHeader(), &QHeaderView::sectionResized, whyTable_,
          &QTableView::resizeRowsToContents);
  summary_->setWordWrap(true);
}

QWidget* CompareView::makeTop() {
  auto* exportFigures = new QPushButton(tr("Export CSV…"));
  exportFigures->setToolTip(tr("Write the table of figures into a file"));
  connect(exportFigures, &QPushButton::clicked, this,
          [this] { exportTable(this, *metricsTable_->model(), QStringLiteral("compare.csv")); });
  auto* figures = new QWidget;
  auto* left = new QVBoxLayout(figures);
  left->setContentsMargins(0, 0, 4, 0);
  auto* title = new QHBoxLayout;
  addParts(*title, bold(tr("Figures")), Rest(), exportFigures);
  addParts(*left, bold(tr("Keys that differ")), same_, keysTable_, title, wide(metricsTable_),
           counts_);

  auto* reasons = new QWidget;
  auto* right = new QVBoxLayout(reasons);
  right->setContentsMargins(4, 0, 0, 0);
  addParts(*right, bold(tr("Why")), summary_, wide(whyTable_));

  QSplitter* top = split(Qt::Horizontal, {{figures, 6}, {reasons, 5}});
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
