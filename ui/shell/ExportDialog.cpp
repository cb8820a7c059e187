#include "ui/shell/ExportDialog.h"

#include <QCheckBox>
#include <QComboBox>
#include <QDialogButtonBox>
#include <QDir>
#include <QFileDialog>
#include <QFileInfo>
#include <QPushButton>
#include <QRadioButton>
#include <utility>

#include "engine/export/Tables.h"
#include "ui/model/Format.h"
#include "ui/panels/Labels.h"
#include "ui/panels/Layouts.h"

namespace lockstep::ui {
namespace {

QString text(std::string_view ascii) {
  return QString::fromLatin1(ascii.data(), static_cast<qsizetype>(ascii.size()));
}

const QString kPacked = QStringLiteral(".gz");
constexpr int kWidthInLetters = 84;
constexpr int kLeastInLetters = 24;  // of a field

}  // namespace

ExportDialog::ExportDialog(ExportSubject subject, const QString& folder, QWidget* parent)
    : QDialog(parent), subject_(std::move(subject)), folder_(folder) {
  const std::optional<TimeRange>& marked = subject_.marked;
  setObjectName(QStringLiteral("exportDialog"));
  setWindowTitle(tr("Export"));
  choices_ = inColumn({});
  trace_ =
      addChoice("exportTrace", tr("&Trace for Perfetto"),
                tr("One JSON file of all ranks. ui.perfetto.dev and chrome://tracing open it."));
  hta_ = addChoice("exportHta", tr("Traces for &Holistic Trace Analysis"),
                   tr("A folder with a JSON file a rank, in which computing and communication have "
                      "the streams and names that it looks for."));
  table_ =
      addChoice("exportTable", tr("T&able"), tr("Comma-separated values, units in the titles."));
  tables_ = named(new QComboBox, "exportTables", tr("Table"));
  tables_->setMinimumWidth(tables_->fontMetrics().averageCharWidth() * kLeastInLetters);
  for (const exports::TableInfo& table : exports::tables()) {
    tables_->addItem(QStringLiteral("%1: %2").arg(text(table.name), text(table.shows)),
                     text(table.name));
  }
  choices_->addLayout(inRow({Part::gap(24), {tables_, 1}}));
  picture_ = addChoice("exportView", tr("&Picture of this view: %1").arg(subject_.view),
                       tr("PNG, SVG or PDF, by the ending of the file's name."));
  marked_ =
      named(new QCheckBox(tr("&Only the marked range")), "exportMarked", {},
            marked ? tr("%1 are marked in the timeline").arg(formatDuration(marked->lengthNs()))
                   : tr("Ctrl and drag in the timeline marks a range"));
  marked_->setEnabled(marked.has_value());
  marked_->setChecked(marked.has_value());
  packed_ = named(new QCheckBox(tr("&Compressed (.gz), which Perfetto and pandas open as it is")),
                  "exportPacked");
  path_ = named(new QLineEdit, "exportPath");
  path_->setMinimumWidth(path_->fontMetrics().averageCharWidth() * kLeastInLetters);
  auto* browse = new QPushButton(tr("&Browse…"));
  browse->setAutoDefault(false);
  auto* label = new QLabel(tr("&Into"));
  label->setBuddy(path_);
  note_ = wrapped({}, "exportNote");
  auto* buttons = new QDialogButtonBox(QDialogButtonBox::Cancel);
  go_ = named(buttons->addButton(tr("&Export"), QDialogButtonBox::AcceptRole), "exportGo");
  add(*choices_,
      {Part::gap(8), marked_, packed_, inRow({label, {path_, 1}, browse}), Part::rest()});
  setLayout(inColumn({{scrolledAtNeed(fill(new QWidget, choices_)), 1}, note_, buttons}));
  go_->setDefault(true);  // it takes a dialog around it
  resizeWithinScreen(
      *this, sizeHint().expandedTo({fontMetrics().averageCharWidth() * kWidthInLetters, 0}));

  for (QRadioButton* choice : {trace_, hta_, table_, picture_}) {
    connect(choice, &QRadioButton::toggled, this, [this](bool on) {
      if (on) suggest();
    });
  }
  connect(tables_, &QComboBox::activated, this, [this] {
    table_->setChecked(true);
    suggest();
  });
  connect(packed_, &QCheckBox::toggled, this, &ExportDialog::suggest);
  connect(path_, &QLineEdit::textChanged, this, &ExportDialog::check);
  connect(browse, &QPushButton::clicked, this, &ExportDialog::browse);
  connect(buttons, &QDialogButtonBox::accepted, this, &QDialog::accept);
  connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
  trace_->setChecked(true);
  trace_->setFocus();
}

QRadioButton* ExportDialog::addChoice(const char* name, const QString& title,
                                      const QString& explanation) {
  auto* choice = named(new QRadioButton(title), name);
  choice->setAccessibleDescription(explanation);
  auto* below = muted(explanation);
  below->setIndent(24);
  choices_->addWidget(choice, 0, Qt::AlignLeft);  // what lies right of its text is not it
  choices_->addWidget(below);
  return choice;
}

ExportRequest::What ExportDialog::what() const {
  return hta_->isChecked()       ? ExportRequest::What::kHtaTraces
         : table_->isChecked()   ? ExportRequest::What::kTable
         : picture_->isChecked() ? ExportRequest::What::kPicture
                                 : ExportRequest::What::kTrace;
}

QString ExportDialog::suggestion() const {
  const QString base = QDir(folder_).filePath(QFileInfo(subject_.run).completeBaseName());
  const QString packed = packed_->isChecked() ? kPacked : QString();
  using What = ExportRequest::What;
  return what() == What::kHtaTraces ? base + QStringLiteral("-hta")
         : what() == What::kPicture ? base + QStringLiteral(".png")
         : what() == What::kTable
             ? base + QStringLiteral(".%1.csv").arg(tables_->currentData().toString()) + packed
             : base + QStringLiteral(".json") + packed;
}

void ExportDialog::suggest() {
  const bool file = what() == ExportRequest::What::kTrace || what() == ExportRequest::What::kTable;
  packed_->setEnabled(file);
  path_->setText(QDir::toNativeSeparators(suggestion()));
  check();
}

void ExportDialog::check() {
  const QFileInfo target(path_->text());
  const bool folder = what() == ExportRequest::What::kHtaTraces;
  QString problem;
  if (path_->text().trimmed().isEmpty()) {
    problem = folder ? tr("Name a folder.") : tr("Name a file.");
  } else if (!folder && target.isDir()) {
    problem = tr("This is a folder; name a file in it.");
  } else if (!folder && target.exists() && !target.isFile()) {
    problem = tr("This is a device or a pipe; name a file.");
  } else if (folder && target.exists() && !target.isDir()) {
    problem = tr("This is a file; name a folder.");
  } else if (!target.absoluteDir().exists()) {
    problem = tr("There is no folder %1.").arg(target.absolutePath());
  } else if (QFileInfo(subject_.run) == target) {
    problem = tr("This is the run itself.");
  }
  go_->setEnabled(problem.isEmpty());
  go_->setToolTip(problem);
  const QString replaced =
      !folder && target.exists() ? tr("The file that is there is replaced.") : QString();
  note_->setText(problem.isEmpty() ? replaced : problem);
}

void ExportDialog::browse() {
  QString chosen;
  if (what() == ExportRequest::What::kHtaTraces) {
    chosen = QFileDialog::getExistingDirectory(this, tr("Folder of the traces"), folder_);
  } else {
    const QString kinds = what() == ExportRequest::What::kTrace ? tr("Traces (*.json *.json.gz)")
                          : what() == ExportRequest::What::kTable
                              ? tr("Tables (*.csv *.csv.gz)")
                              : tr("Pictures (*.png *.svg *.pdf)");
    chosen = QFileDialog::getSaveFileName(this, tr("Export"), path_->text(), kinds, nullptr,
                                          QFileDialog::DontConfirmOverwrite);  // the note says so
  }
  if (!chosen.isEmpty()) {
    path_->setText(QDir::toNativeSeparators(chosen));
  }
}

ExportRequest ExportDialog::request() const {
  ExportRequest request{what(), tables_->currentData().toString(),
                        QFileInfo(QDir::fromNativeSeparators(path_->text())).absoluteFilePath(),
                        subject_.run};
  if (marked_->isChecked()) {
    request.range = subject_.marked;
    request.selection.ticks = subject_.markedTicks;
  }
  return request;
}

}  // namespace lockstep::ui
