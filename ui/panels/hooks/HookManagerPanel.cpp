#include "ui/panels/hooks/HookManagerPanel.h"

#include <QDragEnterEvent>
#include <QFileInfo>
#include <QHeaderView>
#include <QPushButton>
#include <QSplitter>
#include <QTimer>
#include <utility>

#include "engine/plugin/PluginFolders.h"
#include "ui/panels/CurrentPalette.h"
#include "ui/panels/EmptyState.h"
#include "ui/panels/Labels.h"
#include "ui/panels/Layouts.h"
#include "ui/panels/LocalFiles.h"
#include "ui/panels/Spacing.h"
#include "ui/panels/hooks/DisabledHooks.h"
#include "ui/panels/hooks/HookDetails.h"
#include "ui/panels/hooks/HookLoader.h"
#include "ui/table/TableView.h"

namespace lockstep::ui {
namespace {

const QString kLibrary = QStringLiteral(".so");

}  // namespace

HookManagerPanel::HookManagerPanel(const HookManagerOptions& options, QWidget* parent)
    : QWidget(parent),
      options_(options),
      verifier_(options.lockstep),
      loader_(new HookLoader(options.folder, options.scan, this)),
      message_(wrapped({}, "hookMessage")),
      elapsed_(new QTimer(this)),
      view_(makeTable()),
      details_(new HookDetails) {
  setObjectName("hookManager");
  setAccessibleName(tr("Hooks"));
  setAcceptDrops(true);
  auto* empty =
      new EmptyState(tr("No hooks were found in %1. Drop a library (.so) here, or load one.")
                         .arg(QString::fromStdString(plugin::pathsText(plugin::pluginFolders()))),
                     tr("Load…"));
  connect(empty, &EmptyState::activated, this, &HookManagerPanel::chooseLibrary);
  auto* splitter = new QSplitter(Qt::Vertical);
  page_ = new ViewOrEmpty(view_, empty);
  splitter->addWidget(page_);
  splitter->addWidget(scrolled(details_));
  splitter->setStretchFactor(0, 1);
  splitter->setStretchFactor(1, 1);
  splitter->setChildrenCollapsible(false);
  splitter->setSizes({1000, 1000});  // halves of what there is
  message_->setTextFormat(Qt::PlainText);
  message_->hide();
  fill(this, inColumn({makeButtons(), message_, {splitter, 1}}, kSpace), {kSpace, kSpace, kSpace, kSpace});

  // The program says nothing before its end, which may take minutes.
  elapsed_->setInterval(1000);
  connect(elapsed_, &QTimer::timeout, this, [this] {
    seconds_ += 1;
    say(tr("Verifying the hooks of %1 on 2 and on 4 ranks, %2 s…")
            .arg(QFileInfo(verifier_.library()).fileName())
            .arg(seconds_));
  });
  connect(&verifier_, &HookVerifier::finished, this, &HookManagerPanel::takeVerdicts);
  connect(loader_, &HookLoader::said, this, &HookManagerPanel::say);
  // What was said of a file that is offered again holds no more.
  const auto forget = [this](const plugin::FoundLibrary& library) {
    std::erase_if(rejected_, [&](const auto& each) { return each.path == library.path; });
  };
  connect(loader_, &HookLoader::loaded, this, [this, forget](const plugin::FoundLibrary& library) {
    forget(library);
    afterScan_ = QString::fromStdString(library.info.hooks.front().id);
    rescan();
  });
  connect(loader_, &HookLoader::refused, this,
          [this, forget](const plugin::FoundLibrary& library, const QString& name) {
            forget(library);
            afterScan_ = name;
            // It was not copied, so no scan finds it: its row is added to theirs until the next
            // reload.
            rejected_.push_back(library);
            rescan();
          });
  connect(view_->selectionModel(), &QItemSelectionModel::currentRowChanged, this,
          &HookManagerPanel::currentChanged);
  changed();
  reload();
}

HookManagerPanel::~HookManagerPanel() = default;

// --- what it looks like

QHBoxLayout* HookManagerPanel::makeButtons() {
  const auto make = [&](const QString& text, const char* name, const QString& tip, auto act) {
    auto* button = named(new QPushButton(text), name, {}, tip);
    // Five beside each other would keep a narrow window from giving the dock less room.
    button->setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Fixed);
    button->setMinimumWidth(button->fontMetrics().horizontalAdvance(text) + 16);
    connect(button, &QPushButton::clicked, this, act);
    return button;
  };
  auto* load = make(tr("Load…"), "hookLoad",
                    tr("Brings a library of hooks (.so) into your folder of hooks; dropping it "
                       "here does the same"),
                    &HookManagerPanel::chooseLibrary);
  reload_ = make(tr("Reload"), "hookReload", tr("Looks at the folders of hooks again"),
                 &HookManagerPanel::reload);
  verify_ = make(tr("Verify"), "hookVerify", QString(), &HookManagerPanel::verifyCurrent);
  disable_ = make(tr("Disable"), "hookDisable", QString(), &HookManagerPanel::disableCurrent);
  use_ = make(tr("Use"), "hookUse", QString(), [this] {
    if (const HookRow* hook = current()) {
      emit useRequested(hook->id);
    }
  });
  return inRow({load, reload_, verify_, disable_, Part::rest(), use_});
}

TableView* HookManagerPanel::makeTable() const {
  auto* view = named(new TableView(tr("Hooks that were found")), "hooksFound");
  view->setRows(foundRows(hooks_.rows()));
  view->sortFromTheStart(FoundColumn::kName, Qt::AscendingOrder);
  view->setSelectionMode(QAbstractItemView::SingleSelection);
  view->setAlternatingRowColors(false);
  view->verticalHeader()->setDefaultSectionSize(fontMetrics().height() + 8);
  const std::pair<int, const char*> samples[] = {
      {FoundColumn::kName, "post_local_sgd____"},
      {FoundColumn::kVersion, "Version____"},
      {FoundColumn::kAbi, "ABI____"},
      {FoundColumn::kState, "x verifying_____"},
      {FoundColumn::kError, "it crashed while it was opened (SEGV)____"},
      {FoundColumn::kFrom, "experiment____"}};
  for (const auto& [column, sample] : samples) {
    view->setColumnWidth(column, fontMetrics().horizontalAdvance(QLatin1String(sample)));
  }
  return view;
}

void HookManagerPanel::fillTable() {
  view_->setRows(foundRows(hooks_.rows()));
  page_->setEmpty(hooks_.rows().empty());
  currentChanged();
}

QString HookManagerPanel::message() const {
  return message_->text();
}

void HookManagerPanel::show(const QString& hook) {
  if (const auto row = hooks_.find(hook)) {
    view_->showRow(*row);
  }
}

const HookRow* HookManagerPanel::current() const {
  const auto row = view_->currentRow();
  return row ? &hooks_.row(*row) : nullptr;
}

// A button that cannot be pressed says why.
void HookManagerPanel::currentChanged() {
  const HookRow* row = current();
  details_->show(row);
  const bool usable = row != nullptr && row->usable();
  const QString why = row == nullptr   ? tr("Choose a hook first")
                      : row->refused() ? tr("Its library was refused")
                      : !usable        ? row->error
                                       : QString();
  const bool disabled = usable && isHookDisabled(row->id, row->path);
  verify_->setText(verifier_.isRunning() ? tr("Cancel") : tr("Verify"));
  verify_->setEnabled(verifier_.isRunning() ||
                      (row != nullptr && !row->refused() && !options_.lockstep.isEmpty()));
  verify_->setToolTip(
      verifier_.isRunning()         ? tr("Ends the verification")
      : options_.lockstep.isEmpty() ? tr("The program lockstep is not beside the studio")
      : verify_->isEnabled()
          ? tr("Trains with the hooks of this library on 2 and on 4 ranks of this machine, and "
               "compares what they do with what they say of themselves")
          : why);
  disable_->setText(disabled ? tr("Enable") : tr("Disable"));
  disable_->setEnabled(usable);
  disable_->setToolTip(!usable ? why
                       : disabled
                           ? tr("The setup form offers it again")
                           : tr("The setup form no longer offers it; experiment files that name "
                                "it still run"));
  use_->setEnabled(usable && !disabled);
  use_->setToolTip(!usable    ? why
                   : disabled ? tr("It is disabled")
                              : tr("Chooses it in the setup form"));
}

void HookManagerPanel::say(const QString& sentence, bool bad) {
  setInk(message_, bad ? currentPalette().error : palette().color(QPalette::WindowText));
  message_->setText(sentence);
  message_->setVisible(!sentence.isEmpty());
}

void HookManagerPanel::changed() {
  currentChanged();
  emit offeredChanged(hooks_.offered());
}

// --- finding, verifying and disabling them

void HookManagerPanel::setExperiment(const QString& file) {
  if (experiment_ != file) {
    experiment_ = file;
    reload();
  }
}

void HookManagerPanel::setLockstep(const QString& path) {
  options_.lockstep = path;
  verifier_.setProgram(path);
  changed();
  reload();
}

void HookManagerPanel::reload() {
  rejected_.clear();
  rescan();
}

void HookManagerPanel::rescan() {
  // A scan asked for during another takes its place: BackgroundJob drops the earlier answer.
  scanning_ = true;
  // Meanwhile nothing is brought in (Note [One library after the other]).
  loader_->hold(true);
  reload_->setEnabled(false);
  scan_.start(
      [folders = plugin::pluginFolders(experiment_.toStdString()), options = options_.scan] {
        return plugin::scanFolders(folders, options);
      },
      [this](std::vector<plugin::FoundLibrary> libraries) { takeScan(std::move(libraries)); });
}

void HookManagerPanel::takeScan(std::vector<plugin::FoundLibrary> libraries) {
  scanning_ = false;
  reload_->setEnabled(true);
  libraries.insert(libraries.end(), rejected_.begin(), rejected_.end());
  hooks_.setLibraries(std::move(libraries));
  fillTable();
  // Chosen only now: before the scan the table had no row of it.
  if (!afterScan_.isEmpty()) {
    show(std::exchange(afterScan_, QString()));
  }
  changed();
  loader_->hold(false);
}

void HookManagerPanel::verifyCurrent() {
  if (verifier_.isRunning()) {
    verifier_.cancel();
    return;
  }
  const HookRow* row = current();
  if (row == nullptr || row->refused() || options_.lockstep.isEmpty()) {
    return;
  }
  seconds_ = 0;
  const QString library = row->path;  // the row goes when its state changes
  say(tr("Verifying the hooks of %1 on 2 and on 4 ranks…").arg(QFileInfo(library).fileName()));
  elapsed_->start();
  verifier_.start(library);
  hooks_.setVerifying(library);
  fillTable();
  changed();
}

void HookManagerPanel::takeVerdicts(const QString& library,
                                    const std::map<QString, HookVerdict>& verdicts,
                                    const QString& error) {
  elapsed_->stop();
  const QString name = QFileInfo(library).fileName();
  if (verifier_.wasCancelled()) {
    hooks_.setVerifying(QString());
    fillTable();
    say(tr("The verification of %1 was cancelled").arg(name));
    changed();
    return;
  }
  hooks_.setVerdicts(library, verdicts, error);
  fillTable();
  QStringList failed;
  for (const auto& [id, verdict] : verdicts) {
    if (!verdict.passes) {
      failed << id;
    }
  }
  if (!error.isEmpty()) {
    say(tr("%1 was not verified: %2").arg(name, error), true);
  } else if (!failed.isEmpty()) {
    say(tr("%1 does not keep what it promises").arg(failed.join(QStringLiteral(", "))), true);
  } else {
    say(tr("%1 keeps what it promises").arg(name));
  }
  emit verified();
  changed();
}

void HookManagerPanel::disableCurrent() {
  const HookRow* row = current();
  if (row == nullptr || !row->usable()) {
    return;
  }
  const bool disable = !isHookDisabled(row->id, row->path);
  const QString id = row->id;  // the row goes when its state changes
  setHookDisabled(row->id, row->path, disable);
  hooks_.disabledChanged();
  fillTable();
  say(disable ? tr("%1 is no longer offered in the setup form; experiment files that name it "
                   "still run")
                    .arg(id)
              : tr("%1 is offered in the setup form again").arg(id));
  changed();
}

void HookManagerPanel::chooseLibrary() {
  loader_->choose();
}

void HookManagerPanel::load(const QStringList& paths) {
  loader_->load(paths);
}

bool HookManagerPanel::isBusy() const {
  return scanning_ || loader_->busy() || verifier_.isRunning();
}

void HookManagerPanel::dragEnterEvent(QDragEnterEvent* event) {
  if (!localFiles(*event->mimeData(), kLibrary).isEmpty()) {
    event->acceptProposedAction();
  }
}

void HookManagerPanel::dropEvent(QDropEvent* event) {
  load(localFiles(*event->mimeData(), kLibrary));
  event->acceptProposedAction();
}

}  // namespace lockstep::ui
