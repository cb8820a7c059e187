#include "ui/shell/RecordDialog.h"

#include <QComboBox>
#include <QDialogButtonBox>
#include <QDir>
#include <QFileDialog>
#include <QGridLayout>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QRadioButton>
#include <QSpinBox>
#include <algorithm>
#include <utility>

#include "ui/model/StartingLarge.h"
#include "ui/panels/Labels.h"
#include "ui/panels/Layouts.h"

namespace lockstep::ui {
namespace {

constexpr int kWidthInLetters = 104;
constexpr int kLeastInLetters = 30;  // of a field
constexpr int kVariableLines = 3;
constexpr int kMostIterations = 1'000'000;
constexpr int kMostMb = 1'000'000'000;

/// A sentence that stands alone.
QString asSentence(const QString& text) {
  return text.isEmpty() ? text : startingLarge(text.toStdString()) + '.';
}

}  // namespace

RecordDialog::RecordDialog(std::vector<JobRequest> recent, QString runs, QString blocked,
                           QWidget* parent)
    : QDialog(parent),
      recent_(std::move(recent)),
      runs_(std::move(runs)),
      blocked_(std::move(blocked)),
      command_(named(new QComboBox, "recordCommand")),
      folder_(named(new QLineEdit, "recordFolder")),
      every_(named(new QRadioButton(tr("&Every DistributedDataParallel that it makes")),
                   "recordEvery", {}, tr("Its script needs no line for it"))),
      watched_(named(new QRadioButton(tr("What its script hands to &lockstep.watch")),
                     "recordWatched", {},
                     tr("import lockstep; model = lockstep.watch(ddp_model, optimizer)"))),
      replicas_(named(new QSpinBox, "recordReplicas", {},
                      tr("Whether the ranks' parameters are equal bit for bit; where they are not, "
                         "the run has diverged. Each comparison reads all of them"))),
      detail_(named(
          new QComboBox, "recordDetail", {},
          tr("What the run file keeps of the events. With the sums of iterations, and all of "
             "those unlike the rest, it has a few percent of its size, and the same medians"))),
      limit_(named(new QSpinBox, "recordLimit", {},
                   tr("How large the run file may become: near it only sums of iterations are "
                      "written, and at it nothing more. The job goes on"))),
      environment_(
          named(new QPlainTextEdit, "recordEnvironment", {},
                tr("One a line, on top of the studio's own environment. Values of keys, tokens and "
                   "passwords are not kept for the next time."))),
      run_(named(new QLineEdit, "recordRun", {},
                 tr("A name, or the path of a .lockstep file that is not there yet"))),
      hint_(muted({}, "recordHint")),
      note_(wrapped({}, "recordNote")) {
  setObjectName(QStringLiteral("recordDialog"));
  setWindowTitle(tr("Record a PyTorch job"));
  auto* fields = new QWidget;
  buildFields(fields);
  note_->setMinimumHeight(note_->fontMetrics().height() * 2);
  note_->setAlignment(Qt::AlignLeft | Qt::AlignTop);
  auto* buttons = new QDialogButtonBox(QDialogButtonBox::Cancel);
  go_ =
      named(buttons->addButton(tr("&Start and record"), QDialogButtonBox::AcceptRole), "recordGo");
  QWidget* asked = ui::fill(
      new QWidget,
      inColumn({muted(tr("Starts a command as a terminal would, and records each process of it "
                         "that trains with DistributedDataParallel. It computes what it computes "
                         "alone, and ends as it ends alone.")),
                fields, Part::rest()}));
  setLayout(inColumn({{scrolledAtNeed(asked), 1}, note_, buttons}));
  go_->setDefault(true);

  connect(command_, &QComboBox::editTextChanged, this, &RecordDialog::check);
  connect(command_, &QComboBox::activated, this,
          [this](int index) { fill(recent_[static_cast<std::size_t>(index)]); });
  connect(folder_, &QLineEdit::textChanged, this, &RecordDialog::check);
  connect(run_, &QLineEdit::textChanged, this, &RecordDialog::check);
  connect(environment_, &QPlainTextEdit::textChanged, this, &RecordDialog::check);
  connect(buttons, &QDialogButtonBox::accepted, this, &QDialog::accept);
  connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
  fill(recent_.empty() ? JobRequest{.folder = QDir::homePath()} : recent_.front());
  resizeWithinScreen(
      *this, sizeHint().expandedTo({fontMetrics().averageCharWidth() * kWidthInLetters, 0}));
  command_->setFocus();
  command_->lineEdit()->selectAll();
}

void RecordDialog::buildFields(QWidget* parent) {
  command_->setEditable(true);
  command_->setInsertPolicy(QComboBox::NoInsert);
  command_->setCompleter(nullptr);
  command_->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
  command_->setMinimumContentsLength(kLeastInLetters);
  command_->lineEdit()->setPlaceholderText(
      QStringLiteral("torchrun --nproc-per-node 2 train.py --lr 0.1"));
  for (const JobRequest& job : recent_) {
    command_->addItem(job.command);
    command_->setItemData(command_->count() - 1, job.folder, Qt::ToolTipRole);
  }
  auto* browse = new QPushButton(tr("&Browse…"));
  browse->setAutoDefault(false);
  connect(browse, &QPushButton::clicked, this, &RecordDialog::chooseFolder);
  replicas_->setRange(0, kMostIterations);
  replicas_->setPrefix(tr("every "));
  replicas_->setSuffix(tr(" iterations"));
  replicas_->setSpecialValueText(tr("never"));
  detail_->addItem(tr("All events"), QStringLiteral("full"));
  detail_->addItem(tr("Phases and collectives"), QStringLiteral("steps"));
  detail_->addItem(tr("Sums, and all of what is unlike the rest"), QStringLiteral("outliers"));
  limit_->setRange(0, kMostMb);
  limit_->setPrefix(tr("at most "));
  limit_->setSuffix(tr(" MiB"));
  limit_->setSpecialValueText(tr("as large as it gets"));
  environment_->setTabChangesFocus(true);
  environment_->setPlaceholderText(QStringLiteral("OMP_NUM_THREADS=1"));
  environment_->setFixedHeight(environment_->fontMetrics().lineSpacing() * kVariableLines + 14);
  run_->setPlaceholderText(tr("the name of the script"));

  auto* grid = new QGridLayout(parent);
  grid->setContentsMargins(0, 8, 0, 4);
  grid->setColumnStretch(1, 1);
  int row = 0;
  const auto add = [&](const QString& title, QWidget* field, int columns = 2) {
    auto* label = new QLabel(title);
    label->setBuddy(field);
    grid->addWidget(label, row, 0,
                    field == environment_ ? Qt::AlignTop | Qt::AlignLeft : Qt::AlignLeft);
    grid->addWidget(field, row++, 1, 1, columns);
  };
  add(tr("&Command"), command_);
  grid->addWidget(hint_, row++, 1, 1, 2);
  add(tr("In the &folder"), folder_, 1);
  grid->addWidget(browse, row - 1, 2);
  add(tr("Watch"), every_);
  grid->addWidget(watched_, row++, 1, 1, 2);
  add(tr("Compare re&plicas"), replicas_, 1);
  add(tr("&Keep"), detail_, 1);
  add(tr("Run file's si&ze"), limit_, 1);
  add(tr("&Variables"), environment_);
  add(tr("&Run"), run_);
  folder_->setMinimumWidth(folder_->fontMetrics().averageCharWidth() * kLeastInLetters);
}

void RecordDialog::fill(const JobRequest& job, const QString& hint) {
  command_->setEditText(job.command);
  folder_->setText(QDir::toNativeSeparators(job.folder));
  (job.everyModel ? every_ : watched_)->setChecked(true);
  replicas_->setValue(job.checkReplicas);
  detail_->setCurrentIndex(std::max(0, detail_->findData(job.detail)));
  limit_->setValue(job.limitMb);
  environment_->setPlainText(job.environment.join('\n'));
  run_->setText(job.run);
  hint_->setText(hint);
  hint_->setVisible(!hint.isEmpty());
  check();
}

JobRequest RecordDialog::request() const {
  JobRequest job;
  job.command = command_->currentText().trimmed();
  job.folder = QDir::fromNativeSeparators(folder_->text().trimmed());
  job.everyModel = every_->isChecked();
  for (const QString& line : environment_->toPlainText().split('\n')) {
    if (!line.trimmed().isEmpty()) {
      job.environment.append(line.trimmed());
    }
  }
  job.run = run_->text().trimmed();
  job.checkReplicas = replicas_->value();
  job.detail = detail_->currentData().toString();
  job.limitMb = limit_->value();
  return job;
}

void RecordDialog::check() {
  // Fields report changes already while they are being made.
  if (go_ == nullptr) {
    return;
  }
  const auto start = checkedJob(request());
  const QString problem = !blocked_.isEmpty() ? blocked_
                          : start.ok()        ? QString()
                                              : QString::fromStdString(start.error().message());
  go_->setEnabled(problem.isEmpty());
  go_->setToolTip(asSentence(problem));
  if (!problem.isEmpty()) {
    note_->setText(asSentence(problem));
    return;
  }
  note_->setText(
      start.value().runFile.isEmpty()
          ? tr("The run is %1, in %2.").arg(start.value().name, QDir::toNativeSeparators(runs_))
          : tr("The run is written to %1.").arg(QDir::toNativeSeparators(start.value().runFile)));
}

void RecordDialog::chooseFolder() {
  const QString chosen =
      QFileDialog::getExistingDirectory(this, tr("Folder of the command"), folder_->text());
  if (!chosen.isEmpty()) {
    folder_->setText(QDir::toNativeSeparators(chosen));
  }
}

}  // namespace lockstep::ui
