#include "ui/shell/StartPage.h"

#include <QEvent>
#include <QGridLayout>
#include <QMenu>
#include <QPainter>
#include <QPushButton>
#include <QThread>
#include <QToolButton>
#include <algorithm>

#include "ui/model/Format.h"
#include "ui/panels/CurrentPalette.h"
#include "ui/panels/Labels.h"
#include "ui/panels/Layouts.h"
#include "ui/panels/Spacing.h"
#include "ui/panels/runs/RunsTable.h"
#include "ui/shell/Icons.h"

namespace lockstep::ui {
namespace {

constexpr int kPageWidth = 980;
constexpr int kSideBySide = 700;
constexpr std::size_t kRecentRunsShown = 6;

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

constexpr QMargins kCardMargins{kTwoSpaces, kTwoSpaces, kTwoSpaces, kTwoSpaces};

/// A rounded surface with a thin border; `primary` has a border in the accent colour.
class StartCard : public QFrame {
 public:
  explicit StartCard(bool primary = false) : primary_(primary) {}

 protected:
  void paintEvent(QPaintEvent* /*event*/) override {
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(
        QPen(primary_ ? currentAccent() : currentPalette().gridStrong, primary_ ? 2.0 : 1.0));
    painter.setBrush(palette().color(QPalette::Base));
    // Pens cover whole pixels: one is 1 wide, the other 2.
    const qreal inset = primary_ ? 1.0 : 0.5;
    painter.drawRoundedRect(QRectF(rect()).adjusted(inset, inset, -inset, -inset), 6, 6);
  }

 private:
  bool primary_;
};

/// A card of what can be done first.
StartCard* card(bool primary, QLabel* title, QLabel* text, QPushButton* button, const char* name,
                Glyph glyph) {
  button->setObjectName(name);
  button->setIcon(icon(glyph));
  button->setAutoDefault(true);
  button->setMinimumHeight(button->fontMetrics().height() + 18);
  auto* card = new StartCard(primary);
  fill(card, inColumn({title, text, Part::rest(), {button, 0, Qt::AlignLeft}}, 8), kCardMargins);
  return card;
}

/// A card that is filled line by line.
StartCard* listCard(QVBoxLayout*& lines, int spacing = 8) {
  auto* card = new StartCard;
  lines = inColumn({}, spacing);
  fill(card, lines, kCardMargins);
  return card;
}

/// A line of a list: what it is, and below it what is said of it; at the right what can be done.
QWidget* entry(const QString& title, const QString& text, QWidget* verbs) {
  auto* entry = new QWidget;
  auto* grid = new QGridLayout(entry);
  grid->setContentsMargins(0, 2, 0, 6);
  grid->setHorizontalSpacing(12);
  grid->setVerticalSpacing(2);
  grid->setColumnStretch(0, 1);
  grid->addWidget(bold(title), 0, 0);
  grid->addWidget(muted(text), 1, 0);
  grid->addWidget(verbs, 0, 1, 2, 1, Qt::AlignVCenter);
  return entry;
}

}  // namespace

StartPage::StartPage(QWidget* parent) : QWidget(parent) {
  setObjectName("startPage");
  firstTitle_ = bold({}, 1.2);
  firstText_ = muted();
  first_ = new QPushButton;
  connect(first_, &QPushButton::clicked, this, [this] { emit runRequested(firstPath_); });
  record_ = new QPushButton(tr("Record a job…"));
  connect(record_, &QPushButton::clicked, this, &StartPage::recordRequested);
  auto* open = new QPushButton(tr("Open a run…"));
  connect(open, &QPushButton::clicked, this, &StartPage::chooseFileRequested);
  cards_ = inRow(
      {{card(true, firstTitle_, firstText_, first_, "runFirst", Glyph::kRun), 4},
       {card(false, bold(tr("Your PyTorch job"), 1.2),
             muted(tr("The command that starts your training, as it is: torchrun, python, mpirun. "
                      "It is shown live, and computes the same.")),
             record_, "recordJob", Glyph::kRun),
        3},
       {card(false, bold(tr("Look at a run"), 1.2),
             muted(tr("A .lockstep file, finished, crashed or still running; or drop it on this "
                      "window, as traces of torch.profiler, Flight Recorder dumps and NCCL "
                      "Inspector's logs, which are imported.")),
             open, "openRun", Glyph::kOpen),
        3}},
      16);

  auto* page = new QWidget;
  page->setMaximumWidth(kPageWidth);
  auto* grid = new QGridLayout(page);
  grid->setContentsMargins(24, 28, 24, 24);
  grid->setVerticalSpacing(12);
  grid->addWidget(bold(tr("Lockstep"), 2.2), 0, 0);
  auto* sentence = muted(
      tr("Run data-parallel training and watch every gradient bucket form, fly and land on every "
         "rank."));
  QFont large = sentence->font();
  large.setPointSizeF(large.pointSizeF() * 1.1);
  sentence->setFont(large);
  grid->addWidget(sentence, 1, 0);
  auto* take = named(new QPushButton(tr("Take the tour")), "takeTour");
  auto* decline = named(new QPushButton(tr("Not now")), "declineTour");
  for (QPushButton* button : {take, decline}) {
    button->setAutoDefault(true);
  }
  connect(take, &QPushButton::clicked, this, &StartPage::tourRequested);
  connect(decline, &QPushButton::clicked, this, &StartPage::tourDeclined);
  tour_ = named(fill(new QWidget,
                     inRow({{muted(tr("New here? A tour shows what is where, over the demo.")), 1},
                            take,
                            decline},
                           8)),
                "tourOffer");
  grid->addWidget(tour_, 2, 0);
  grid->setRowMinimumHeight(2, 8);
  grid->addLayout(cards_, 3, 0);
  grid->setRowMinimumHeight(4, 6);
  lists_ = inRow(
      {{inColumn({bold(tr("Experiments"), 1.1), listCard(experiments_), Part::rest()}, 10), 3},
       {inColumn({bold(tr("Recent runs"), 1.1), listCard(recent_), Part::gap(12),
                  bold(tr("This machine"), 1.1), listCard(checks_, 4), Part::rest()},
                 10),
        2}},
      16);
  grid->addLayout(lists_, 5, 0);
  grid->setRowStretch(5, 1);

  auto* scroll = scrolled(fill(new QWidget, inRow({Part::rest(), {page, 1000}, Part::rest()})));
  scroll->setFocusPolicy(Qt::NoFocus);
  fill(this, inColumn({scroll}));

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
  const QString& mistake = experiment.mistake;
  first_->setEnabled(!experiment.path.isEmpty() && mistake.isEmpty());
  firstText_->setText(
      experiment.path.isEmpty()
          ? tr("The experiments are not here. Name their folder with --experiments.")
      : !mistake.isEmpty() ? mistake
      : demo ? tr("Two processes train a small network on this machine; the timeline follows "
                  "them live. Press Enter.")
             : experiment.shows);
}

void StartPage::setExperiments(const std::vector<ExperimentEntry>& experiments) {
  clear(experiments_);
  if (experiments.empty()) {
    auto* open = new QPushButton(tr("Open a run instead…"));
    connect(open, &QPushButton::clicked, this, &StartPage::chooseFileRequested);
    add(*experiments_, {muted(tr("No experiment files here.")), {open, 0, Qt::AlignLeft}});
    return;
  }
  for (const ExperimentEntry& experiment : experiments) {
    const QString& mistake = experiment.mistake;
    auto* run = named(new QPushButton(tr("Run")), "", tr("Run %1").arg(experiment.name),
                      mistake.isEmpty() ? experiment.path : mistake);
    run->setAutoDefault(true);
    run->setEnabled(mistake.isEmpty());
    connect(run, &QPushButton::clicked, this,
            [this, path = experiment.path] { emit runRequested(path); });
    experiments_->addWidget(
        entry(experiment.name, mistake.isEmpty() ? experiment.shows : mistake, run));
  }
}

void StartPage::setRecentRuns(const std::vector<RunEntry>& runs) {
  clear(recent_);
  std::vector<const RunEntry*> latest;
  for (const RunEntry& run : runs) {
    // A file that cannot be read is in the list of runs, with its reason; it is nothing to begin
    // with.
    if (run.problem.isEmpty() && !run.unread) {
      latest.push_back(&run);
    }
  }
  std::ranges::sort(latest, std::greater(), &RunEntry::started);
  latest.resize(std::min(latest.size(), kRecentRunsShown));
  if (latest.empty()) {
    auto* demo = new QPushButton(tr("Run it"));
    demo->setEnabled(!firstPath_.isEmpty());
    connect(demo, &QPushButton::clicked, this, [this] { emit runRequested(firstPath_); });
    add(*recent_, {muted(tr("No runs yet. The demo makes the first.")), {demo, 0, Qt::AlignLeft}});
    return;
  }
  for (const RunEntry* run : latest) {
    const QString started = run->started.toLocalTime().toString("yyyy-MM-dd HH:mm");
    recent_->addWidget(
        entry(run->shownName(), tr("%1 · %2").arg(howItWent(*run), started), verbsOf(*run)));
  }
}

QWidget* StartPage::verbsOf(const RunEntry& run) {
  auto* open = named(new QPushButton(tr("Open")), "", tr("Open %1").arg(run.shownName()), run.path);
  open->setAutoDefault(true);
  connect(open, &QPushButton::clicked, this, [this, path = run.path] { emit openRequested(path); });
  auto* more = named(new QToolButton, "moreOfRun", tr("More of %1").arg(run.shownName()),
                     tr("Run it again with other settings, or edit a copy of its experiment"));
  auto* menu = new QMenu(more);
  QAction* again = menu->addAction(tr("Run again with…"), this,
                                   [this, path = run.path] { emit runAgainRequested(path); });
  QAction* edit = menu->addAction(tr("Edit a copy"), this,
                                  [this, path = run.path] { emit editCopyRequested(path); });
  const bool experiment = run.kind == trace::RunKind::kExperiment;
  again->setEnabled(experiment || run.kind == trace::RunKind::kObserved);
  edit->setEnabled(experiment);
  more->setText(QStringLiteral("…"));
  more->setMenu(menu);
  more->setPopupMode(QToolButton::InstantPopup);
  return fill(new QWidget, inRow({open, more}, 2));
}

void StartPage::setMachine(const Programs& programs, const QString& renderer) {
  programs_ = programs;
  renderer_ = renderer;
  clear(checks_);
  const auto checkProgram = [this](const QString& path, const QString& name,
                                   const QString& missing) {
    check(!path.isEmpty(), path.isEmpty() ? missing : tr("%1 found").arg(name));
  };
  checkProgram(
      programs.lockstep, "lockstep",
      programs.building
          ? reasonAgainstStarting(programs)
          : tr("lockstep is not in %1: runs can be opened, not started").arg(programs.folder));
  checkProgram(
      programs.rank, "lockstep-rank",
      programs.building
          ? tr("lockstep-rank is still being built")
          : tr("lockstep-rank is not in %1: it is built only with libtorch").arg(programs.folder));
  check(true, formatCounted(static_cast<std::uint64_t>(QThread::idealThreadCount()), "core"));
  check(true, tr("Timeline drawn by %1").arg(renderer));
}

void StartPage::check(bool ok, const QString& text) {
  auto* mark = new QLabel;
  mark->setPixmap(icon(ok ? Glyph::kCheck : Glyph::kCross).pixmap(QSize(14, 14)));
  mark->setAccessibleName(ok ? tr("fine") : tr("missing"));
  checks_->addWidget(fill(new QWidget, inRow({{mark, 0, Qt::AlignTop}, {wrapped(text), 1}}, 8)));
}

// Side by side where each has room for its words.
void StartPage::resizeEvent(QResizeEvent* event) {
  QWidget::resizeEvent(event);
  const auto direction = width() < kSideBySide ? QBoxLayout::TopToBottom : QBoxLayout::LeftToRight;
  cards_->setDirection(direction);
  lists_->setDirection(direction);
}

void StartPage::changeEvent(QEvent* event) {
  QWidget::changeEvent(event);
  if (event->type() == QEvent::PaletteChange && !renderer_.isEmpty()) {
    // Copies, since setMachine takes references and writes into both.
    setMachine(Programs(programs_), QString(renderer_));  // its marks are pixmaps
  }
}

void StartPage::blockRecording(const QString& reason) {
  record_->setEnabled(reason.isEmpty());
  record_->setToolTip(reason);
}

void StartPage::offerTour(bool offer) {
  tour_->setVisible(offer);
}

void StartPage::focusFirst() {
  first_->setFocus(Qt::OtherFocusReason);
}

}  // namespace lockstep::ui
