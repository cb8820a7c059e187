#include "ui/panels/RunsPanel.h"

#include <QDesktopServices>
#include <QDir>
#include <QFile>
#include <QFileInfo>
#include <QHeaderView>
#include <QLineEdit>
#include <QMenu>
#include <QTableView>
#include <QUrl>
#include <QVBoxLayout>
#include <algorithm>

#include "ui/panels/EmptyState.h"

namespace lockstep::ui {
namespace {

constexpr int kLiveRefreshMs = 1000;
constexpr int kCellMargin = 12;
constexpr int kSettleMs = 100;  // a new file is created, then filled

}  // namespace

RunsPanel::RunsPanel(const QString& folder, QWidget* parent)
    : QWidget(parent), folder_(folder), line_(new QLineEdit), view_(new QTableView) {
  setObjectName("runsPanel");
  qRegisterMetaType<std::vector<RunEntry>>();
  line_->setObjectName("runsFilter");
  line_->setPlaceholderText(tr("Filter: mlp backend:gloo world>2"));
  line_->setClearButtonEnabled(true);
  line_->setAccessibleName(tr("Filter runs"));
  line_->setToolTip(
      tr("Words must occur in a row. Columns: state: name: model: backend: hook: started: and "
         "world, cap, steps, overlap, exposed, drops with < <= = >= >"));

  filter_.setSourceModel(&model_);
  view_->setObjectName("runsTable");
  view_->setAccessibleName(tr("Runs"));
  view_->setModel(&filter_);
  view_->setSelectionBehavior(QAbstractItemView::SelectRows);
  view_->setSelectionMode(QAbstractItemView::ExtendedSelection);
  view_->setEditTriggers(QAbstractItemView::NoEditTriggers);
  view_->setTabKeyNavigation(false);
  view_->setAlternatingRowColors(true);
  view_->setShowGrid(false);
  view_->setWordWrap(false);
  view_->setSortingEnabled(true);
  view_->sortByColumn(RunsModel::kStarted, Qt::DescendingOrder);
  view_->verticalHeader()->hide();
  view_->verticalHeader()->setDefaultSectionSize(fontMetrics().height() + 8);
  for (int column = 0; column < RunsModel::kColumnCount; ++column) {
    view_->setColumnWidth(column, fontMetrics().horizontalAdvance(RunsModel::widestText(column)) +
                                      kCellMargin);
  }
  view_->horizontalHeader()->setHighlightSections(false);
  view_->horizontalHeader()->setSectionsMovable(true);
  view_->setContextMenuPolicy(Qt::CustomContextMenu);

  auto* empty = new EmptyState(tr("No runs yet. The demo trains two ranks on this machine."),
                               tr("Run the 2-rank demo"));
  connect(empty, &EmptyState::activated, this, &RunsPanel::demoRequested);
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(6, 6, 6, 6);
  layout->setSpacing(6);
  layout->addWidget(line_);
  layout->addWidget(new ViewOrEmpty(view_, &model_, empty), 1);

  connect(line_, &QLineEdit::textChanged, &filter_, &RunsFilter::setLine);
  connect(view_, &QTableView::activated, this, [this](const QModelIndex& index) {
    if (const RunEntry* entry = entryAt(index)) {
      emit openRequested(entry->path);
    }
  });
  connect(view_, &QTableView::customContextMenuRequested, this, &RunsPanel::showMenu);

  scanner_ = new RunsScanner(std::filesystem::path(folder.toStdString()));
  scanner_->moveToThread(&thread_);
  connect(&thread_, &QThread::finished, scanner_, &QObject::deleteLater);
  connect(scanner_, &RunsScanner::scanned, this, &RunsPanel::takeEntries);
  thread_.setObjectName("runs scanner");
  thread_.start(QThread::LowPriority);

  again_.setSingleShot(true);
  connect(&again_, &QTimer::timeout, this, &RunsPanel::refresh);
  connect(&watcher_, &QFileSystemWatcher::directoryChanged, this,
          [this] { again_.start(kSettleMs); });
  refresh();
}

RunsPanel::~RunsPanel() {
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
  QMetaObject::invokeMethod(scanner_, &RunsScanner::scan, Qt::QueuedConnection);
}

void RunsPanel::takeEntries(std::vector<RunEntry> entries) {
  scanning_ = false;
  const bool anyLive =
      std::any_of(entries.begin(), entries.end(), [](const RunEntry& e) { return e.live(); });
  model_.setEntries(std::move(entries));
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
  markCurrent_ = markCurrent_ || currentRun_ != path;
  currentRun_ = path;
  if (!markCurrent_) {
    return;  // the user's own selection stays
  }
  for (int row = 0; row < filter_.rowCount(); ++row) {
    const QModelIndex index = filter_.index(row, 0);
    if (const RunEntry* entry = entryAt(index); entry != nullptr && entry->path == path) {
      view_->setCurrentIndex(index);
      markCurrent_ = false;
      return;
    }
  }
}

QStringList RunsPanel::selectedRuns() const {
  QStringList paths;
  const QModelIndex current = view_->currentIndex();
  for (const QModelIndex& row : view_->selectionModel()->selectedRows()) {
    if (const RunEntry* entry = entryAt(row)) {
      row.row() == current.row() ? paths.prepend(entry->path) : paths.append(entry->path);
    }
  }
  return paths;
}

const RunEntry* RunsPanel::entryAt(const QModelIndex& proxyIndex) const {
  const QModelIndex index = filter_.mapToSource(proxyIndex);
  return index.isValid() ? &model_.entry(index.row()) : nullptr;
}

void RunsPanel::showMenu(const QPoint& position) {
  const RunEntry* found = entryAt(view_->indexAt(position));
  if (found == nullptr) {
    return;
  }
  const RunEntry entry = *found;  // the list may change while the menu is open
  auto* menu = new QMenu(this);
  menu->setAttribute(Qt::WA_DeleteOnClose);
  QAction* open = menu->addAction(tr("Open"), this, [this, entry] { emit openRequested(entry.path); });
  menu->setDefaultAction(open);
  QAction* stop = menu->addAction(tr("Stop"), this, [this, entry] { emit stopRequested(entry.path); });
  QAction* repeat = menu->addAction(entry.kind == trace::RunKind::kObserved ? tr("Run again…") : tr("Repeat"), this,
                                    [this, entry] { emit repeatRequested(entry.path); });
  menu->addSeparator();
  const QStringList chosen = selectedRuns();
  QAction* compare = menu->addAction(tr("Compare"), this, [this, chosen] { emit compareRequested(chosen); });
  compare->setEnabled(chosen.size() > 1);
  compare->setToolTip(tr("Select two runs or more, then compare them"));
  menu->addSeparator();
  menu->addAction(tr("Reveal folder"), this, [entry] {
    QDesktopServices::openUrl(QUrl::fromLocalFile(QFileInfo(entry.path).absolutePath()));
  });
  QAction* trash = menu->addAction(tr("Move to trash"), this, [this, entry] { moveToTrash(entry); });
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
  for (const QString& companion : {entry.path + "-wal", entry.path + "-shm",
                                   QFileInfo(entry.path).absolutePath() + '/' +
                                       QFileInfo(entry.path).completeBaseName() + ".log",
                                   QFileInfo(entry.path).absolutePath() + '/' +
                                       QFileInfo(entry.path).completeBaseName() + ".toml"}) {
    if (QFileInfo::exists(companion)) {
      QFile::moveToTrash(companion);
    }
  }
  refresh();
}

}  // namespace lockstep::ui
