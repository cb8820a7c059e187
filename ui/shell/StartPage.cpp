#include "ui/shell/StartPage.h"

#include <QGridLayout>
#include <QHBoxLayout>
#include <QLabel>
#include <QLocale>
#include <QPushButton>
#include <QScrollArea>
#include <QVBoxLayout>
#include <algorithm>

#include "ui/panels/CurrentPalette.h"
#include "ui/panels/Labels.h"
#include "ui/panels/RunsTable.h"
#include "ui/shell/Card.h"
#include "ui/shell/Icons.h"

namespace lockstep::ui {
namespace {

constexpr int kPageWidth = 980;
constexpr std::size_t kRecentRunsShown = 6;

QLabel* heading(const QString& text, double scale) {
  auto* label = new QLabel(text);
  QFont font = label->font();
  font.setPointSizeF(font.pointSizeF() * scale);
  font.setBold(true);
  label->setFont(font);
  return label;
}

void clear(QLayout* layout) {
  while (QLayoutItem* item = layout->takeAt(0)) {
    if (item->widget() != nullptr) {
      item->widget()->hide();
      item->widget()->deleteLater();  // it may be the sender
    }
    delete item;
  }
}

// "finished, 3.80 ms exposed per step (median, worst rank)": runs of one experiment are told apart
// by it.
QString howItWent(const RunEntry& run) {
  const QString state = stateText(run.state);
  return run.exposedMs ? StartPage::tr("%1, %2 ms exposed per step (median, worst rank)")
                             .arg(state)
                             .arg(*run.exposedMs, 0, 'f', 2)
                       : state;
}

QVBoxLayout* cardColumn(Card* card) {
  auto* column = new QVBoxLayout(card);
  column->setContentsMargins(18, 16, 18, 16);
  column->setSpacing(8);
  return column;
}

}  // namespace

StartPage::StartPage(QWidget* parent) : QWidget(parent) {
  setObjectName("startPage");

  auto* firstCard = new Card(true);
  firstTitle_ = heading(QString(), 1.2);
  firstText_ = muted(QString());
  first_ = new QPushButton;
  first_->setObjectName("runFirst");
  first_->setIcon(icon(Glyph::kRun));
  first_->setAutoDefault(true);
  first_->setMinimumHeight(first_->fontMetrics().height() + 18);
  connect(first_, &QPushButton::clicked, this, [this] { emit runRequested(firstPath_); });
  auto* firstColumn = cardColumn(firstCard);
  firstColumn->addWidget(firstTitle_);
  firstColumn->addWidget(firstText_);
  firstColumn->addStretch(1);
  firstColumn->addWidget(first_, 0, Qt::AlignLeft);

  auto* recordCard = new Card;
  record_ = new QPushButton(tr("Record a job…"));
  record_->setObjectName("recordJob");
  record_->setIcon(icon(Glyph::kRun));
  record_->setAutoDefault(true);
  record_->setMinimumHeight(first_->minimumHeight());
  connect(record_, &QPushButton::clicked, this, &StartPage::recordRequested);
  auto* recordColumn = cardColumn(recordCard);
  recordColumn->addWidget(heading(tr("Your PyTorch job"), 1.2));
  recordColumn->addWidget(
      muted(tr("The command that starts your training, as it is: torchrun, python, mpirun. It is "
               "shown live, and computes the same.")));
  recordColumn->addStretch(1);
  recordColumn->addWidget(record_, 0, Qt::AlignLeft);

  auto* openCard = new Card;
  auto* open = new QPushButton(tr("Open a run…"));
  open->setObjectName("openRun");
  open->setIcon(icon(Glyph::kOpen));
  open->setAutoDefault(true);
  open->setMinimumHeight(first_->minimumHeight());
  connect(open, &QPushButton::clicked, this, &StartPage::chooseFileRequested);
  auto* openColumn = cardColumn(openCard);
  openColumn->addWidget(heading(tr("Look at a run"), 1.2));
  openColumn->addWidget(muted(
      tr("A .lockstep file, finished, crashed or still running; or drop it on this window, as "
         "traces of torch.profiler, Flight Recorder dumps and NCCL Inspector's logs, which are "
         "imported.")));
  openColumn->addStretch(1);
  openColumn->addWidget(open, 0, Qt::AlignLeft);

  auto* experimentsCard = new Card;
  experiments_ = cardColumn(experimentsCard);
  auto* recentCard = new Card;
  recent_ = cardColumn(recentCard);
  auto* checksCard = new Card;
  checks_ = cardColumn(checksCard);
  checks_->setSpacing(4);

  auto* page = new QWidget;
  page->setMaximumWidth(kPageWidth);
  auto* grid = new QGridLayout(page);
  grid->setContentsMargins(24, 28, 24, 24);
  grid->setHorizontalSpacing(16);
  grid->setVerticalSpacing(12);
  grid->setColumnStretch(0, 3);
  grid->setColumnStretch(1, 2);
  grid->addWidget(heading(tr("Lockstep"), 2.2), 0, 0, 1, 2);
  auto* sentence = muted(
      tr("Run data-parallel training and watch every gradient bucket form, fly and land on every "
         "rank."));
  QFont large = sentence->font();
  large.setPointSizeF(large.pointSizeF() * 1.1);
  sentence->setFont(large);
  grid->addWidget(sentence, 1, 0, 1, 2);
  grid->setRowMinimumHeight(2, 8);
  auto* cards = new QHBoxLayout;
  cards->setSpacing(16);
  cards->addWidget(firstCard, 4);
  cards->addWidget(recordCard, 3);
  cards->addWidget(openCard, 3);
  grid->addLayout(cards, 3, 0, 1, 2);
  grid->setRowMinimumHeight(4, 6);
  auto* left = new QVBoxLayout;
  left->setSpacing(10);
  left->addWidget(heading(tr("Experiments"), 1.1));
  left->addWidget(experimentsCard);
  left->addStretch(1);
  auto* right = new QVBoxLayout;
  right->setSpacing(10);
  right->addWidget(heading(tr("Recent runs"), 1.1));
  right->addWidget(recentCard);
  right->addSpacing(12);
  right->addWidget(heading(tr("This machine"), 1.1));
  right->addWidget(checksCard);
  right->addStretch(1);
  grid->addLayout(left, 5, 0);
  grid->addLayout(right, 5, 1);
  grid->setRowStretch(5, 1);

  auto* centred = new QWidget;
  auto* row = new QHBoxLayout(centred);
  row->setContentsMargins(0, 0, 0, 0);
  row->addStretch(1);
  row->addWidget(page, 1000);
  row->addStretch(1);
  auto* scroll = new QScrollArea;
  scroll->setWidgetResizable(true);
  scroll->setFrameShape(QFrame::NoFrame);
  scroll->setFocusPolicy(Qt::NoFocus);
  scroll->setWidget(centred);
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->addWidget(scroll);

  setFirst({});
  setExperiments({});
  setRecentRuns({});
}

void StartPage::setFirst(const ExperimentEntry& experiment) {
  firstPath_ = experiment.path;
  const bool demo = experiment.name == QStringLiteral("demo") || experiment.path.isEmpty();
  firstTitle_->setText(demo ? tr("See it work") : experiment.name);
  first_->setText(demo ? tr("Run the 2-rank demo (about 20 s)")
                       : tr("Run %1").arg(experiment.name));
  first_->setEnabled(!experiment.path.isEmpty());
  firstText_->setText(
      experiment.path.isEmpty()
          ? tr("The experiments are not here. Name their folder with --experiments.")
      : demo ? tr("Two processes train a small network on this machine; the timeline follows "
                  "them live. Press Enter.")
             : experiment.shows);
}

void StartPage::setExperiments(const std::vector<ExperimentEntry>& experiments) {
  clear(experiments_);
  if (experiments.empty()) {
    experiments_->addWidget(muted(tr("No experiment files here.")));
    auto* open = new QPushButton(tr("Open a run instead…"));
    connect(open, &QPushButton::clicked, this, &StartPage::chooseFileRequested);
    experiments_->addWidget(open, 0, Qt::AlignLeft);
    return;
  }
  for (const ExperimentEntry& experiment : experiments) {
    auto* entry = new QWidget;
    auto* grid = new QGridLayout(entry);
    grid->setContentsMargins(0, 2, 0, 6);
    grid->setHorizontalSpacing(12);
    grid->setVerticalSpacing(2);
    grid->setColumnStretch(0, 1);
    auto* name = new QLabel(experiment.name);
    QFont bold = name->font();
    bold.setBold(true);
    name->setFont(bold);
    auto* shows = muted(experiment.mistake.isEmpty() ? experiment.shows : experiment.mistake);
    auto* run = new QPushButton(tr("Run"));
    run->setAutoDefault(true);
    run->setAccessibleName(tr("Run %1").arg(experiment.name));
    run->setEnabled(experiment.mistake.isEmpty());
    run->setToolTip(experiment.mistake.isEmpty() ? experiment.path : experiment.mistake);
    connect(run, &QPushButton::clicked, this,
            [this, path = experiment.path] { emit runRequested(path); });
    grid->addWidget(name, 0, 0);
    grid->addWidget(shows, 1, 0);
    grid->addWidget(run, 0, 1, 2, 1, Qt::AlignVCenter);
    experiments_->addWidget(entry);
  }
}

void StartPage::setRecentRuns(const std::vector<RunEntry>& runs) {
  clear(recent_);
  std::vector<const RunEntry*> latest;
  for (const RunEntry& run : runs) {
    if (run.problem.isEmpty()) {
      latest.push_back(&run);
    }
  }
  std::sort(latest.begin(), latest.end(),
            [](const RunEntry* a, const RunEntry* b) { return a->started > b->started; });
  latest.resize(std::min(latest.size(), kRecentRunsShown));
  if (latest.empty()) {
    recent_->addWidget(muted(tr("No runs yet. The demo makes the first.")));
    auto* demo = new QPushButton(tr("Run it"));
    demo->setEnabled(!firstPath_.isEmpty());
    connect(demo, &QPushButton::clicked, this, [this] { emit runRequested(firstPath_); });
    recent_->addWidget(demo, 0, Qt::AlignLeft);
    return;
  }
  for (const RunEntry* run : latest) {
    auto* entry = new QWidget;
    auto* grid = new QGridLayout(entry);
    grid->setContentsMargins(0, 2, 0, 6);
    grid->setHorizontalSpacing(12);
    grid->setVerticalSpacing(2);
    grid->setColumnStretch(0, 1);
    auto* name = new QLabel(run->name);
    QFont bold = name->font();
    bold.setBold(true);
    name->setFont(bold);
    grid->addWidget(name, 0, 0);
    grid->addWidget(muted(tr("%1 · %2").arg(
                        howItWent(*run), run->started.toLocalTime().toString("yyyy-MM-dd HH:mm"))),
                    1, 0);
    auto* open = new QPushButton(tr("Open"));
    open->setAutoDefault(true);
    open->setAccessibleName(tr("Open %1").arg(run->name));
    open->setToolTip(run->path);
    connect(open, &QPushButton::clicked, this,
            [this, path = run->path] { emit openRequested(path); });
    grid->addWidget(open, 0, 1, 2, 1, Qt::AlignVCenter);
    recent_->addWidget(entry);
  }
}

void StartPage::setChecks(const std::vector<Check>& checks) {
  clear(checks_);
  for (const Check& check : checks) {
    auto* line = new QWidget;
    auto* row = new QHBoxLayout(line);
    row->setContentsMargins(0, 0, 0, 0);
    row->setSpacing(8);
    auto* mark = new QLabel;
    mark->setPixmap(icon(check.ok ? Glyph::kCheck : Glyph::kCross).pixmap(QSize(14, 14)));
    mark->setAccessibleName(check.ok ? tr("fine") : tr("missing"));
    auto* text = new QLabel(check.text);
    text->setWordWrap(true);
    row->addWidget(mark, 0, Qt::AlignTop);
    row->addWidget(text, 1);
    checks_->addWidget(line);
  }
}

void StartPage::blockRecording(const QString& reason) {
  record_->setEnabled(reason.isEmpty());
  record_->setToolTip(reason);
}

void StartPage::focusFirst() {
  first_->setFocus(Qt::OtherFocusReason);
}

}  // namespace lockstep::ui
