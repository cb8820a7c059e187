#include "ui/panels/setup/RunAgainDialog.h"

#include <QDialogButtonBox>
#include <QLineEdit>
#include <QPushButton>
#include <QScreen>
#include <algorithm>
#include <utility>

#include "ui/panels/CurrentPalette.h"
#include "ui/panels/Labels.h"
#include "ui/panels/Layouts.h"
#include "ui/panels/setup/FieldEditor.h"
#include "ui/panels/setup/HookForm.h"
#include "ui/panels/setup/RecordedExperiment.h"
#include "ui/panels/setup/RunFiles.h"

namespace lockstep::ui {
namespace {

// The first has the cursor.
constexpr const char* kKeys[] = {"ddp.bucket_cap_mb", "processes.world_size", "processes.backend",
                                 "link.preset",       "link.bandwidth_gbps",  "link.latency_us",
                                 "data.batch_size",   "train.steps",          "train.epochs"};

constexpr int kWidthInLetters = 64;
constexpr int kLeastInLines = 6;
constexpr int kAround = 24;         // px of margins
constexpr int kHeightInLines = 34;  // all keys and those of a hook
constexpr double kMostOfScreen = 0.8;

}  // namespace

RunAgainDialog::RunAgainDialog(const std::string& recorded, const QString& run,
                               const QString& hookscan, QString blocked, QWidget* parent)
    : QDialog(parent), blocked_(std::move(blocked)), catalog_(hookscan) {
  setObjectName(QStringLiteral("runAgainDialog"));
  setWindowTitle(tr("Run %1 again with…").arg(run));
  // No step to undo leads back beyond what the run had.
  draft_.begin(asWritten(recorded, run.toStdString()), run);

  auto* rows = inColumn({}, 2);
  for (const char* key : kKeys) {
    auto* editor = new FieldEditor(*experiment::findField(key));
    editor->setBrief();
    editor->edits(draft_);
    editors_.push_back(editor);
    rows->addWidget(editor);
  }
  hooks_ = new HookForm(draft_, catalog_);
  hooks_->setBrief();
  rows->addWidget(hooks_);
  rows->addStretch(1);
  QWidget* keys = scrolled(fill(new QWidget, rows, {0, 0, 6, 0}));
  keys->setMinimumHeight(fontMetrics().lineSpacing() * kLeastInLines);

  reason_ = wrapped({}, "runAgainReason");
  auto* buttons = new QDialogButtonBox(QDialogButtonBox::Cancel);
  go_ = named(buttons->addButton(tr("&Run"), QDialogButtonBox::AcceptRole), "runAgainGo");
  connect(buttons, &QDialogButtonBox::accepted, this, &QDialog::accept);
  connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
  fill(
      this,
      inColumn({muted(tr("All other keys stay as the run had them. When the new run has ended, the "
                         "two can be compared.")),
                {keys, 1},
                reason_,
                buttons}),
      {12, 12, 12, 12});
  go_->setDefault(true);  // of this dialog, in which it has to stand by now
  resizeWithinScreen(
      *this, {fontMetrics().averageCharWidth() * kWidthInLetters + kAround,
              std::min(fontMetrics().lineSpacing() * kHeightInLines,
                       static_cast<int>(kMostOfScreen * screen()->availableGeometry().height()))});

  connect(&draft_, &SetupDraft::changed, this, &RunAgainDialog::refresh);
  connect(&catalog_, &HookCatalog::answered, this,
          [this] { draft_.addMistakes(catalog_.answer().swept.mistakes); });
  refresh();
  editors_.front()->focusEditor();
  editors_.front()->findChild<QLineEdit*>()->selectAll();
}

bool RunAgainDialog::counts(const experiment::Field& field) const {
  const bool epochs = draft_.text().value("train.epochs").has_value();
  return draft_.applies(field) && (field.key != "train.epochs" || epochs) &&
         (field.key != "train.steps" || !epochs);
}

void RunAgainDialog::refresh() {
  for (FieldEditor* editor : editors_) {
    editor->showFrom(draft_);
    editor->setVisible(counts(editor->field()) || !editor->mistake().isEmpty());
  }
  hooks_->refresh();
  catalog_.ask(draft_);
  const QString wrong = reasonAgainstRun(draft_, catalog_);
  const QString reason = wrong.isEmpty() ? blocked_ : wrong;
  go_->setEnabled(reason.isEmpty());
  reason_->setText(reason);
  setInk(reason_, draft_.mistakes().empty() ? palette().color(QPalette::PlaceholderText)
                                            : currentPalette().error);
}

QString RunAgainDialog::write(const QString& folder,
                              const std::function<void(const QString&)>& failed) const {
  return writeRuns(draft_, catalog_, folder, failed).value(0);
}

}  // namespace lockstep::ui
