#include "ui/panels/runs/RunsPanel.h"

#include <QDesktopServices>
#include <QFile>
#include <QFileInfo>
#include <QHeaderView>
#include <QMenu>
#include <QUrl>
#include <algorithm>
#include <utility>

#include "ui/panels/EmptyState.h"
#include "ui/panels/Labels.h"
#include "ui/panels/Layouts.h"
#include "ui/panels/LocalFiles.h"
#include "ui/table/TableView.h"

namespace lockstep::ui {
namespace {

constexpr int kLiveRefreshMs = 1000;
constexpr int kCellMargin = 12;
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
// is here. A scan answers more than once, first with what all files say of themselves and then
// after each run that it has analysed. The first answer ends `scanning_`, so a new scan may be
// asked for while runs are still being analysed: it waits in that thread's event queue.
RunsPanel::RunsPanel(const QString& folder, QWidget* parent)
    : QWidget(parent),
      folder_(folder),
      line_(filterLine("runsFilter", tr("Filter: mlp backend:gloo world>2"), tr("Filter runs"))),
      view_(named(new TableView(tr("Runs")), "runsTable")) {
  setObjectName("runsPanel");
  qRegisterMetaType<std::vector<RunEntry>>();
  line_->setToolTip(
      tr("Words must occur in a row. Columns: state: name: model: backend: hook: started: and "
         "world, cap, steps, overlap, exposed, drops with < <= = >= >"));

  view_->setRows(runs_);
  view_->sortFromTheStart(RunsTable::kStarted, Qt::DescendingOrder);
  view_->verticalHeader()->setDefaultSectionSize(fontMetrics().height() + 8);
  for (std::size_t column = 0; column < RunsTable::kColumnCount; ++column) {
    view_->setColumnWidth(
        static_cast<int>(column),
        fontMetrics().horizontalAdvance(RunsTable::widestText(column)) + kCellMargin);
  }
  view_->horizontalHeader()->setStretchLastSection(false);
  view_->horizontalHeader()->setSectionsMovable(true);
  view_->setContextMenuPolicy(Qt::CustomContextMenu);

  auto* empty = new EmptyState(tr("No runs yet. The demo trains two ranks on this machine."),
                               tr("Run the 2-rank demo"));
  connect(empty, &EmptyState::activated, this, &RunsPanel::demoRequested);
  page_ = new ViewOrEmpty(view_, empty);
  fill(this, inColumn({line_, {page_, 1}}, 6), {6, 6, 6, 6});

  connect(line_, &QLineEdit::textChanged, this, [this](const QString& line) {
    view_->rowsModel().setFilter(
        [filter = RunsFilter(line)](const TableRows& rows, std::size_t row) {
          return filter.accepts(static_cast<const RunsTable&>(rows), row);
        });
  });
  connect(view_, &TableView::rowActivated, this,
          [this](std::size_t row) { emit openRequested(runs_->entry(row).path); });
  connect(view_, &QTableView::customContextMenuRequested, this, &RunsPanel::showMenu);

  scanner_ = new RunsScanner(std::filesystem::path(folder.toStdString()));
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
  refresh();
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
  runs_ = std::make_shared<RunsTable>(std::move(entries));
  view_->setRows(runs_);
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

void RunsPanel::setCurrentRun(const QString& path) {
  if (currentRun_ != path) {
    currentRun_ = path;
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
  auto* menu = new QMenu(this);
  menu->setAttribute(Qt::WA_DeleteOnClose);
  QAction* open =
      menu->addAction(tr("Open"), this, [this, entry] { emit openRequested(entry.path); });
  menu->setDefaultAction(open);
  QAction* stop =
      menu->addAction(tr("Stop"), this, [this, entry] { emit stopRequested(entry.path); });
  QAction* repeat =
      menu->addAction(entry.kind == trace::RunKind::kObserved ? tr("Run again…") : tr("Repeat"),
                      this, [this, entry] { emit repeatRequested(entry.path); });
  menu->addSeparator();
  const QStringList chosen = selectedRuns();
  QAction* compare =
      menu->addAction(tr("Compare"), this, [this, chosen] { emit compareRequested(chosen); });
  compare->setEnabled(chosen.size() > 1);
  compare->setToolTip(tr("Select two runs or more, then compare them"));
  menu->addSeparator();
  menu->addAction(tr("Reveal folder"), this, [entry] {
    QDesktopServices::openUrl(QUrl::fromLocalFile(QFileInfo(entry.path).absolutePath()));
  });
  QAction* trash =
      menu->addAction(tr("Move to trash"), this, [this, entry] { moveToTrash(entry); });
  stop->setEnabled(entry.live());
  trash->setEnabled(!entry.live());
  const bool started =  // and not made of traces
      entry.kind == trace::RunKind::kExperiment || entry.kind == trace::RunKind::kObserved;
  repeat->setEnabled(entry.problem.isEmpty() && started);
  menu->popup(view_->viewport()->mapToGlobal(position));
}

void RunsPanel::moveToTrash(const RunEntry& entry) {
  if (!QFile::moveToTrash(entry.path)) {
    emit failed(tr("%1 could not be moved to the trash; is its folder writable?").arg(entry.path));
    return;
  }
  // What stands beside the run: a dead run's write-ahead log, the output, the experiment.
  for (const QString& companion :
       {entry.path + "-wal", entry.path + "-shm", fileBeside(entry.path, ".log"),
        fileBeside(entry.path, ".toml")}) {
    if (QFileInfo::exists(companion)) {
      QFile::moveToTrash(companion);
    }
  }
  refresh();
}

}  // namespace lockstep::ui
