#include "ui/panels/runs/RunsPanel.h"

#include <QAction>
#include <QComboBox>
#include <QDesktopServices>
#include <QFile>
#include <QFileInfo>
#include <QHeaderView>
#include <QMenu>
#include <QUrl>
#include <algorithm>
#include <utility>

#include "ui/model/Annotations.h"
#include "ui/panels/EmptyState.h"
#include "ui/panels/KeyTips.h"
#include "ui/panels/Labels.h"
#include "ui/panels/Layouts.h"
#include "ui/panels/LocalFiles.h"
#include "ui/panels/runs/RunCells.h"
#include "ui/table/TableView.h"

namespace lockstep::ui {
namespace {

constexpr int kLiveRefreshMs = 1000;
constexpr int kCellMargin = 12;
constexpr int kLeastCourse = 44;
constexpr int kLeastName = 90;
constexpr int kSettleMs = 100;  // a new file is created, then filled

}  // namespace

// Note [When the list of runs is read]
//
// A scan is made on the thread "runs scanner", so that a slow disk never holds the window. It is
// asked for
//
//   100 ms after the folder changed     a run file is created first and filled then
//   each second while a run is live     a growing run does not change its folder, and a
//                                       supervisor that is killed changes nothing at all
//   by the window                       when a run that it started begins or ends
//
// One at a time: refresh() during a scan is remembered (scanAgain_) and made good once its answer
// is here. A scan answers more than once: while it reads long, when all is read, and while it
// analyses. The first answer ends `scanning_`, so a new scan may be asked for while runs are still
// read or analysed: it waits in that thread's event queue.
RunsPanel::RunsPanel(const QString& folder, QWidget* parent)
    : QWidget(parent),
      folder_(folder),
      line_(filterLine("runsFilter", tr("Filter: mlp world>2"), tr("Filter runs"))),
      groups_(named(new QComboBox, "runsGroupBy", tr("What runs are grouped by"),
                    tr("Runs that have this in common stand together; a click on its column sorts "
                       "them by it"))),
      labels_(new RunLabelForm),
      view_(named(new TableView(tr("Runs")), "runsTable")) {
  setObjectName("runsPanel");
  qRegisterMetaType<std::vector<RunEntry>>();
  line_->setToolTip(
      tr("Words must occur in a row. Columns: state: name: model: backend: hook: started: tag: "
         "note: and world, cap, steps, step, overlap, exposed, drops with < <= = >= >. Settings "
         "likewise: bucket_cap_mb<=5 hook.rank=2"));
  buildTable();
  buildActions();
  empty_ = new EmptyState({}, tr("Run the 2-rank demo"));
  connect(empty_, &EmptyState::activated, this, &RunsPanel::demoRequested);
  page_ = new ViewOrEmpty(view_, empty_);
  sayWhyEmpty();
  groups_->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
  groups_->setMinimumContentsLength(7);
  fill(this, inColumn({inRow({{line_, 1}, groups_}), {page_, 1}, labels_}, 6), {6, 6, 6, 6});
  offerGroups();

  connect(line_, &QLineEdit::textChanged, this, [this](const QString& line) {
    view_->rowsModel().setFilter(
        [filter = RunsFilter(line)](const TableRows& rows, std::size_t row) {
          return filter.accepts(static_cast<const RunsTable&>(rows), row);
        });
  });
  connect(groups_, &QComboBox::activated, this, [this] {
    setGroupBy(groups_->currentData().toString());
    emit groupByChosen(groupBy_);
  });
  connect(labels_, &RunLabelForm::saved, this, &RunsPanel::keepLabel);
  connect(labels_, &RunLabelForm::closed, view_, [this] { view_->setFocus(Qt::OtherFocusReason); });
  wireScanner();
  refresh();
}

void RunsPanel::buildTable() {
  view_->setRows(runs_);
  view_->setItemDelegate(new RunCells(view_));
  view_->sortFromTheStart(RunsTable::kStarted, Qt::DescendingOrder);
  for (std::size_t column = 0; column < RunsTable::kColumnCount; ++column) {
    view_->setColumnWidth(
        static_cast<int>(column),
        fontMetrics().horizontalAdvance(RunsTable::widestText(column)) + kCellMargin);
  }
  QHeaderView* header = view_->horizontalHeader();
  header->setStretchLastSection(false);
  header->setSectionsMovable(true);
  header->setTextElideMode(Qt::ElideRight);
  header->setMinimumSectionSize(RunCells::kMark + 2 * RunCells::kInset);
  header->moveSection(header->visualIndex(RunsTable::kGroup), 0);
  view_->setColumnHidden(RunsTable::kGroup, true);
  constexpr int kMarks = RunCells::kMark + RunCells::kInset;
  view_->setColumnWidth(RunsTable::kState, view_->columnWidth(RunsTable::kState) + kMarks);
  // In the narrowest panel, too, one sees of each run how it went: its state as a mark, what is
  // exposed, and the course of its steps.
  view_->keepInSight(RunsTable::kCourse, {{RunsTable::kState, kMarks + RunCells::kInset},
                                          {RunsTable::kCourse, kLeastCourse},
                                          {RunsTable::kName, kLeastName}});
  view_->setContextMenuPolicy(Qt::CustomContextMenu);
  connect(view_, &TableView::rowActivated, this,
          [this](std::size_t row) { emit openRequested(runs_->entry(row).path); });
  connect(view_, &QTableView::customContextMenuRequested, this, &RunsPanel::showMenu);
}

// Keys of the list alone: what is typed into the filter is no command.
void RunsPanel::buildActions() {
  const auto action = [this](const char* name, const QString& text, const QKeySequence& key,
                             RunLabelForm::Field field) {
    auto* made = new QAction(text, view_);
    made->setObjectName(QLatin1String(name));
    made->setShortcut(key);
    made->setShortcutContext(Qt::WidgetShortcut);
    setTip(made, text);
    view_->addAction(made);
    connect(made, &QAction::triggered, this, [this, field] { editLabels(field); });
    actions_ << made;
  };
  action("runs.rename", tr("Rename the run…"), Qt::Key_F2, RunLabelForm::Field::kName);
  action("runs.tag", tr("Tag the chosen runs…"), Qt::Key_T, RunLabelForm::Field::kTags);
  action("runs.note", tr("Note on the run…"), Qt::Key_N, RunLabelForm::Field::kNote);
}

void RunsPanel::wireScanner() {
  scanner_ = new RunsScanner(std::filesystem::path(folder_.toStdString()));
  scanner_->moveToThread(&thread_);
  connect(&thread_, &QThread::finished, scanner_, &QObject::deleteLater);
  connect(scanner_, &RunsScanner::scanned, this, &RunsPanel::takeEntries);
  connect(this, &RunsPanel::scanWanted, scanner_, &RunsScanner::scan);
  connect(this, &RunsPanel::runShown, scanner_, &RunsScanner::setOpen);
  connect(this, &RunsPanel::figuresKnown, scanner_, &RunsScanner::know);
  thread_.setObjectName("runs scanner");
  thread_.start(QThread::LowPriority);

  again_.setSingleShot(true);
  connect(&again_, &QTimer::timeout, this, &RunsPanel::refresh);
  connect(&watcher_, &QFileSystemWatcher::directoryChanged, this,
          [this] { again_.start(kSettleMs); });
}

RunsPanel::~RunsPanel() {
  // The scanner looks at this between two runs; the analysis under way is waited for.
  thread_.requestInterruption();
  thread_.quit();
  thread_.wait();
}

void RunsPanel::refresh() {
  if (scanning_) {
    scanAgain_ = true;
    return;
  }
  if (watcher_.directories().isEmpty() && QFileInfo::exists(folder_)) {
    watcher_.addPath(folder_);  // the folder may appear with the first run
  }
  scanning_ = true;
  emit scanWanted();
}

void RunsPanel::takeEntries(std::vector<RunEntry> entries) {
  scanning_ = false;
  const bool anyLive = std::ranges::any_of(entries, &RunEntry::live);
  // While a run is live most scans bring nothing new, and a long list takes time to be shown.
  if (entries != runs_->entries()) {
    showRows(std::move(entries));
    offerGroups();
  }
  page_->setEmpty(runs_->size() == 0);
  setCurrentRun(currentRun_);
  if (scanAgain_) {
    scanAgain_ = false;
    refresh();
  } else if (anyLive && !again_.isActive()) {
    again_.start(kLiveRefreshMs);
  }
  emit refreshed();
}

void RunsPanel::showRows(std::vector<RunEntry> entries) {
  const bool subtitles =
      std::ranges::any_of(entries, [](const RunEntry& run) { return !run.subtitle.isEmpty(); });
  runs_ = std::make_shared<RunsTable>(std::move(entries), groupBy_, compared_);
  // Two lines where any run has a subtitle, else one.
  const int height = fontMetrics().height() * (subtitles ? 2 : 1) + 8;
  if (view_->verticalHeader()->defaultSectionSize() != height) {
    view_->verticalHeader()->setDefaultSectionSize(height);
  }
  view_->setRows(runs_);
}

void RunsPanel::setCompared(const QStringList& paths) {
  if (compared_ != paths) {
    compared_ = paths;
    showRows(runs_->entries());
  }
}

void RunsPanel::setGroupBy(const QString& key) {
  groupBy_ = key;
  showGroupBy();
  view_->setColumnHidden(RunsTable::kGroup, key.isEmpty());
  showRows(runs_->entries());
  view_->horizontalHeader()->viewport()->update();  // the column is called by its key
}

// A setting in which the runs do not differ now, or one that was chosen before they were read, is
// no choice, and holds all the same.
void RunsPanel::showGroupBy() {
  if (!groupBy_.isEmpty() && groups_->findData(groupBy_) < 0) {
    groups_->addItem(titleOfGroups(groupBy_), groupBy_);
  }
  groups_->setCurrentIndex(std::max(0, groups_->findData(groupBy_)));
}

// By what every run has, then by the settings in which those of the list differ.
void RunsPanel::offerGroups() {
  std::vector<const RunEntry*> read;
  for (const RunEntry& run : runs_->entries()) {
    if (!run.unread && run.problem.isEmpty()) {
      read.push_back(&run);
    }
  }
  const QStringList settings = differingSettings(read);
  if (settings == offered_ && groups_->count() > 0) {
    return;  // an open list of choices stays as it is
  }
  offered_ = settings;
  groups_->clear();
  groups_->addItem(tr("No groups"), QString());
  for (const char* key : {"name", "tag", "day", "sweep"}) {
    groups_->addItem(titleOfGroups(QLatin1String(key)), QLatin1String(key));
  }
  for (const QString& key : settings) {
    groups_->addItem(titleOfGroups(key), key);
  }
  showGroupBy();
}

std::vector<RunEntry> RunsPanel::selectedEntries() const {
  std::vector<RunEntry> entries;
  for (const QModelIndex& row : view_->selectionModel()->selectedRows(RunsTable::kName)) {
    entries.push_back(runs_->entry(view_->rowsModel().rowAt(row.row())));
  }
  return entries;
}

void RunsPanel::editLabels(RunLabelForm::Field field) {
  if (!isVisible()) {
    emit sightWanted();
  }
  std::vector<RunEntry> entries = selectedEntries();
  if (!entries.empty()) {
    labels_->edit(std::move(entries), field);
  }
}

void RunsPanel::keepLabel(const QString& run, const RunLabel& label) {
  const QString mistake = writeRunLabel(run.toStdString(), label);
  if (mistake.isEmpty()) {
    refresh();
  } else {
    emit failed(mistake);
  }
}

// A run that was opened from another folder is not in the list.
void RunsPanel::sayWhyEmpty() {
  const QString demo = tr("The demo trains two ranks on this machine.");
  const bool elsewhere = !currentRun_.isEmpty() && QFileInfo(currentRun_).absolutePath() !=
                                                       QFileInfo(folder_).absoluteFilePath();
  empty_->setSentence((elsewhere ? tr("No runs in this folder. The list is of %1, and the run that "
                                      "was opened is in another folder.")
                                       .arg(folder_)
                                 : tr("No runs yet.")) +
                      QLatin1Char(' ') + demo);
}

void RunsPanel::setCurrentRun(const QString& path) {
  if (currentRun_ != path) {
    currentRun_ = path;
    sayWhyEmpty();
    markCurrent_ = true;
    emit runShown(path);
  }
  if (!markCurrent_) {
    return;  // the user's own selection stays
  }
  for (int line = 0; line < view_->model()->rowCount(); ++line) {
    if (runs_->entry(view_->rowsModel().rowAt(line)).path == path) {
      view_->setCurrentIndex(view_->model()->index(line, 0));
      markCurrent_ = false;
      return;
    }
  }
}

QStringList RunsPanel::selectedRuns() const {
  QStringList paths;
  const QModelIndex current = view_->currentIndex();
  for (const QModelIndex& row : view_->selectionModel()->selectedRows()) {
    const QString& path = runs_->entry(view_->rowsModel().rowAt(row.row())).path;
    // A comparison measures the others against the first.
    row.row() == current.row() ? paths.prepend(path) : paths.append(path);
  }
  return paths;
}

void RunsPanel::showMenu(const QPoint& position) {
  const QModelIndex index = view_->indexAt(position);
  if (!index.isValid()) {
    return;
  }
  // The list may change while the menu is open.
  const RunEntry entry = runs_->entry(view_->rowsModel().rowAt(index.row()));
  auto* menu = named(new QMenu(this), "runMenu");
  menu->setAttribute(Qt::WA_DeleteOnClose);
  addRunVerbs(*menu, entry);
  menu->popup(view_->viewport()->mapToGlobal(position));
}

void RunsPanel::addRunVerbs(QMenu& menu, const RunEntry& entry) {
  QAction* open =
      menu.addAction(tr("Open"), this, [this, entry] { emit openRequested(entry.path); });
  menu.setDefaultAction(open);
  QAction* stop =
      menu.addAction(tr("Stop"), this, [this, entry] { emit stopRequested(entry.path); });
  const bool experiment = entry.kind == trace::RunKind::kExperiment;
  const bool observed = entry.kind == trace::RunKind::kObserved;
  QAction* repeat =
      menu.addAction(tr("Repeat"), this, [this, entry] { emit repeatRequested(entry.path); });
  QAction* again = menu.addAction(tr("Run again with…"), this,
                                  [this, entry] { emit runAgainRequested(entry.path); });
  QAction* edit = menu.addAction(tr("Edit a copy"), this,
                                 [this, entry] { emit editCopyRequested(entry.path); });
  menu.addSeparator();
  const QStringList chosen = selectedRuns();
  QAction* compare =
      menu.addAction(tr("Compare"), this, [this, chosen] { emit compareRequested(chosen); });
  compare->setEnabled(chosen.size() > 1);
  compare->setToolTip(tr("Select two runs or more, then compare them"));
  menu.addSeparator();
  menu.addActions(actions_);
  menu.addSeparator();
  menu.addAction(tr("Reveal folder"), this, [entry] {
    QDesktopServices::openUrl(QUrl::fromLocalFile(QFileInfo(entry.path).absolutePath()));
  });
  QAction* trash = menu.addAction(tr("Move to trash"), this, [this, entry] { moveToTrash(entry); });
  stop->setEnabled(entry.live());
  trash->setEnabled(!entry.live());
  // What was made of traces holds nothing that could be started; of a job nothing runs unasked.
  const bool readable = entry.problem.isEmpty() && !entry.unread;
  repeat->setEnabled(readable && experiment);
  again->setEnabled(readable && (experiment || observed));
  edit->setEnabled(readable && experiment);
}

void RunsPanel::moveToTrash(const RunEntry& entry) {
  if (!QFile::moveToTrash(entry.path)) {
    emit failed(tr("%1 could not be moved to the trash; is its folder writable?").arg(entry.path));
    return;
  }
  // What stands beside the run: a dead run's write-ahead log, the output, the experiment, what the
  // user wrote.
  for (const QString& companion :
       {entry.path + "-wal", entry.path + "-shm", fileBeside(entry.path, ".log"),
        fileBeside(entry.path, ".toml"), entry.path + kLabelEnding,
        QString::fromStdString(Annotations::fileOf(entry.path.toStdString()).string())}) {
    if (QFileInfo::exists(companion)) {
      QFile::moveToTrash(companion);
    }
  }
  refresh();
}

}  // namespace lockstep::ui
