#include <QFileInfo>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QLabel>
#include <QPushButton>
#include <QScrollArea>
#include <QSplitter>
#include <QTimer>
#include <QVBoxLayout>

#include "engine/plugin/PluginFolders.h"
#include "ui/panels/CurrentPalette.h"
#include "ui/panels/EmptyState.h"
#include "ui/panels/hooks/DisabledHooks.h"
#include "ui/panels/hooks/HookDetails.h"
#include "ui/panels/hooks/HookManagerPanel.h"
#include "ui/table/TableView.h"

// What the hook manager looks like.
namespace lockstep::ui {

HookManagerPanel::HookManagerPanel(const HookManagerOptions& options, QWidget* parent)
    : QWidget(parent), options_(options), verifier_(options.lockstep) {
  setObjectName("hookManager");
  setAccessibleName(tr("Hooks"));
  setAcceptDrops(true);
  buildTable();
  details_ = new HookDetails;
  auto* scroll = new QScrollArea;
  scroll->setWidget(details_);
  scroll->setWidgetResizable(true);
  scroll->setFrameShape(QFrame::NoFrame);
  auto* empty =
      new EmptyState(tr("No hooks were found in %1. Drop a library (.so) here, or load one.")
                         .arg(QString::fromStdString(plugin::pathsText(plugin::pluginFolders()))),
                     tr("Load…"));
  connect(empty, &EmptyState::activated, this, &HookManagerPanel::chooseLibrary);
  auto* splitter = new QSplitter(Qt::Vertical);
  page_ = new ViewOrEmpty(view_, empty);
  splitter->addWidget(page_);
  splitter->addWidget(scroll);
  splitter->setStretchFactor(0, 1);
  splitter->setStretchFactor(1, 1);
  splitter->setChildrenCollapsible(false);
  splitter->setSizes({1000, 1000});  // halves of what there is

  message_ = new QLabel;
  message_->setObjectName("hookMessage");
  message_->setWordWrap(true);
  message_->setTextFormat(Qt::PlainText);
  message_->hide();
  auto* buttons = new QHBoxLayout;
  buildButtons(*buttons);
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(6, 6, 6, 6);
  column->setSpacing(6);
  column->addLayout(buttons);
  column->addWidget(message_);
  column->addWidget(splitter, 1);

  elapsed_ = new QTimer(this);
  elapsed_->setInterval(1000);
  connect(elapsed_, &QTimer::timeout, this, [this] {
    seconds_ += 1;
    say(tr("Verifying the hooks of %1 on 2 and on 4 ranks, %2 s…")
            .arg(QFileInfo(verifier_.library()).fileName())
            .arg(seconds_));
  });
  connect(&verifier_, &HookVerifier::finished, this, &HookManagerPanel::takeVerdicts);
  changed();
  reload();
}

namespace {

// Five buttons beside each other would keep a narrow window from giving the dock less room.
void letShrink(QPushButton& button) {
  button.setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Fixed);
  button.setMinimumWidth(button.fontMetrics().horizontalAdvance(button.text()) + 16);
}

}  // namespace

void HookManagerPanel::buildButtons(QHBoxLayout& row) {
  const auto make = [&](const QString& text, const char* name, const QString& tip,
                        void (HookManagerPanel::*act)()) {
    auto* button = new QPushButton(text);
    button->setObjectName(QLatin1String(name));
    button->setToolTip(tip);
    letShrink(*button);
    connect(button, &QPushButton::clicked, this, act);
    row.addWidget(button);
    return button;
  };
  load_ = make(tr("Load…"), "hookLoad",
               tr("Brings a library of hooks (.so) into your folder of hooks; dropping it here "
                  "does the same"),
               &HookManagerPanel::chooseLibrary);
  reload_ = make(tr("Reload"), "hookReload", tr("Looks at the folders of hooks again"),
                 &HookManagerPanel::reload);
  verify_ = make(tr("Verify"), "hookVerify", QString(), &HookManagerPanel::verifyCurrent);
  disable_ = make(tr("Disable"), "hookDisable", QString(), &HookManagerPanel::disableCurrent);
  row.addStretch(1);
  use_ = new QPushButton(tr("Use"));
  use_->setObjectName("hookUse");
  letShrink(*use_);
  connect(use_, &QPushButton::clicked, this, [this] {
    if (const HookRow* hook = current()) {
      emit useRequested(hook->id);
    }
  });
  row.addWidget(use_);
}

void HookManagerPanel::buildTable() {
  view_ = new TableView(tr("Hooks that were found"));
  view_->setObjectName("hooksFound");
  view_->setRows(std::make_shared<HooksFoundTable>(hooks_.rows()));
  view_->sortFromTheStart(HooksFoundTable::kName, Qt::AscendingOrder);
  view_->setSelectionMode(QAbstractItemView::SingleSelection);
  view_->setAlternatingRowColors(false);
  view_->verticalHeader()->setDefaultSectionSize(fontMetrics().height() + 8);
  const auto widthOf = [this](const char* text) {
    return fontMetrics().horizontalAdvance(QLatin1String(text));
  };
  view_->setColumnWidth(HooksFoundTable::kName, widthOf("post_local_sgd____"));
  view_->setColumnWidth(HooksFoundTable::kVersion, widthOf("Version____"));
  view_->setColumnWidth(HooksFoundTable::kAbi, widthOf("ABI____"));
  view_->setColumnWidth(HooksFoundTable::kState, widthOf("x verifying_____"));
  view_->setColumnWidth(HooksFoundTable::kError,
                        widthOf("it crashed while it was opened (SEGV)____"));
  view_->setColumnWidth(HooksFoundTable::kFrom, widthOf("experiment____"));
  connect(view_->selectionModel(), &QItemSelectionModel::currentRowChanged, this,
          &HookManagerPanel::currentChanged);
}

void HookManagerPanel::fillTable() {
  view_->setRows(std::make_shared<HooksFoundTable>(hooks_.rows()));
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
  if (details_ == nullptr || use_ == nullptr) {
    return;  // still being built
  }
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
  QPalette colours = palette();
  if (bad) {
    colours.setColor(QPalette::WindowText, currentPalette().error);
  }
  message_->setPalette(colours);
  message_->setText(sentence);
  message_->setVisible(!sentence.isEmpty());
}

void HookManagerPanel::changed() {
  currentChanged();
  emit offeredChanged(hooks_.offered());
}

}  // namespace lockstep::ui
