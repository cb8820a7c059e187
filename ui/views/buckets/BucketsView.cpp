#include "ui/views/buckets/BucketsView.h"

#include <QAction>
#include <QTimer>
#include <algorithm>
#include <utility>

#include "ui/panels/EmptyState.h"
#include "ui/table/WholeRows.h"
#include "ui/views/buckets/BucketFacts.h"
#include "ui/views/buckets/BucketsScene.h"
#include "ui/views/buckets/BucketsTable.h"
#include "ui/views/buckets/BucketsToolbar.h"

namespace lockstep::ui {
namespace {

constexpr int kRefreshMs = 200;
constexpr int kLeastCanvasHeight = 240;

}  // namespace

BucketsView::BucketsView(QWidget* parent) : Steered(parent) {
  setAccessibleName(tr("Buckets"));
  nothing_ = new EmptyState(QString(), QString());
  banner_ = wrapped();
  banner_->setContentsMargins(10, 6, 10, 6);
  banner_->hide();
  toolbar_ = new BucketsToolbar;
  stage_ = new QWidget;
  makeCanvas(tr("Buckets, their times and the ready order"), stage_)
      ->setMinimumHeight(kLeastCanvasHeight);
  setHeading(QStringLiteral("bucket"));
  table_ = new BucketsTable;
  fill(stage_, inColumn({toolbar_, banner_, {canvas_, 1}}, 0));
  splitter_ = named(split(Qt::Vertical, {{stage_, 3}, {table_, 1}}), "bucketsSplitter");
  splitter_->setCollapsible(0, false);
  new WholeRows(splitter_, {table_}, 0.22);
  content_ = splitter_;
  setPages(tr("No run is open. Start an experiment or open a run file, and its "
              "buckets appear here."),
           tr("Run the 2-rank demo"), Offer::kDemo, {content_, nothing_});
  setFocusProxy(stage_);

  playTimer_ = new QTimer(this);
  playTimer_->setInterval(33);
  connect(playTimer_, &QTimer::timeout, this, &BucketsView::playOn);

  connect(toolbar_, &BucketsToolbar::layoutChosen, this, &BucketsView::showLayout);
  connect(toolbar_, &BucketsToolbar::againstChosen, this, [this](OrderAgainst against) {
    setAgainst(against);
    stage_->setFocus(Qt::OtherFocusReason);  // the keys belong to the stage
  });
  connect(toolbar_, &BucketsToolbar::replayMoved, this, [this](double part) {
    playTimer_->stop();
    setReplayPart(part);
  });
  connect(toolbar_, &BucketsToolbar::playPressed, this, &BucketsView::togglePlay);
  connect(toolbar_, &BucketsToolbar::stepPressed, this, &BucketsView::stepReplay);
  connect(table_, &BucketsTable::parameterChosen, this, [this](int parameter, int rank) {
    controller_.selectParameter(static_cast<std::uint32_t>(parameter), rank);
  });
  makeActions();
  makeWhatIf();
}

void BucketsView::runChanged() {
  playTimer_->stop();
  stories_ = model_ == nullptr ? nullptr : std::make_unique<BucketStories>(*model_);
  controller_.setRun(model_, state_);
  takeStory(nullptr);
  typical_.reset();
  returnStep_.reset();
  previewRebuilt_ = true;
  if (model_ != nullptr) {
    const auto soon = [this] { refreshSoon(kRefreshMs); };
    connect(model_, &RunModel::changed, this, soon);
    connect(model_, &RunModel::infoChanged, this, soon);
    connect(model_, &RunModel::loaded, this, &BucketsView::refresh);
  }
  if (state_ != nullptr) {
    connect(state_, &ViewState::iterationChanged, this, &BucketsView::refresh);
    connect(state_, &ViewState::followLiveChanged, this, &BucketsView::refresh);
    connect(state_, &ViewState::selectionChanged, this, &BucketsView::selectionChanged);
    connect(state_, &ViewState::shownRanksChanged, this, &BucketsView::refresh);
  }
}

// The last iteration that every rank has ended; of ranks that never ended one nothing is known.
std::optional<std::uint32_t> BucketsView::lastFinishedStep() const {
  std::optional<std::uint32_t> least;
  for (int rank = 0; rank < model_->rankCount(); ++rank) {
    const auto last = model_->lastStep(rank);
    if (!last) {
      return std::nullopt;
    }
    least = std::min(least.value_or(last->step), last->step);
  }
  return least;
}

// Where no other view says which iteration is looked at, one that is worth a look (Note [A typical
// iteration]).
std::optional<std::uint32_t> BucketsView::wantedStep() {
  // A live run that is followed shows its latest; any other what all views show.
  if (state_ != nullptr && state_->iteration() && !(model_->isLive() && state_->followsLive())) {
    return state_->iteration();
  }
  // Nobody asked for another: while it is replayed, a story stays.
  const BucketStory* shown = controller_.story();
  if (shown != nullptr && shown->finished && controller_.replayNs()) {
    return shown->step;
  }
  if (model_->isLive()) {
    const auto last = lastFinishedStep();
    return last ? last : model_->firstStep();
  }
  // Looked for once: it makes stories, which take a while.
  if (!typical_) {
    typical_ = typicalStep(*model_);
  }
  return typical_;
}

void BucketsView::refresh() {
  if (model_ == nullptr || stories_ == nullptr || !isVisible()) {
    return;
  }
  const auto step = wantedStep();
  const std::vector<int> shownRanks = state_ != nullptr ? state_->shownRanks() : std::vector<int>();
  const BucketStory* shown = controller_.story();
  const trace::BucketsMessage* layout = model_->layoutAt(step.value_or(0));
  // Made for this iteration, and nothing has come since: making it anew would show the same.
  const bool fresh = shown != nullptr && !shown->preview && layout != nullptr &&
                     shown->step == step.value_or(0) && shown->layout.layout == layout->layout &&
                     spansSeen_ == model_->spanCount() && shown->asked == shownRanks &&
                     shown->parameters.size() == model_->parameters().size();
  if (fresh) {
    return;
  }
  // What comes while a story is replayed belongs to other iterations.
  if (shown != nullptr && controller_.replayNs() && shown->finished && step &&
      shown->step == *step) {
    return;
  }
  spansSeen_ = model_->spanCount();
  auto story = stories_->ofStep(step.value_or(0), shownRanks);
  takeStory(story != nullptr ? std::move(story) : stories_->preview(previewRebuilt_));
}

void BucketsView::takeStory(std::shared_ptr<const BucketStory> story) {
  controller_.setStory(story);
  table_->setStory(story);
  const bool preview = story != nullptr && story->preview;
  banner_->setVisible(preview);
  if (preview) {
    banner_->setText(
        tr("Buckets appear after the first backward. This is what they are going to "
           "be, computed from the shapes of the parameters."));
  }
  if (story == nullptr) {
    if (stories_ != nullptr) {
      nothing_->setSentence(whyNoBuckets(model_, *stories_));
      showPage(nothing_);
    }
    return;
  }
  canvas_->setAccessibleDescription(spokenSummary(*story));
  // With unused parameters to find buckets are not rebuilt, unless the graph is static.
  const bool hasBoth =
      preview ? !story->config || !story->config->findUnusedParameters || story->config->staticGraph
              : model_->rebuildStep().has_value();
  toolbar_->setLayouts(story->layout.layout > 0, hasBoth);
  showPage(content_);
  // The table is new and the stage another: both mark the selection again.
  selectionChanged();
}

void BucketsView::selectionChanged() {
  table_->showSelection(controller_.selectedParameter(), controller_.selectedBucket());
  changed();
}

void BucketsView::changed() {
  const BucketStory* story = controller_.story();
  if (story != nullptr) {
    toolbar_->setReplay(story->measured(), controller_.replayPart(), playTimer_->isActive(),
                        replayText(*story, controller_.replayNs()));
    canvas_->setCursor(controller_.cursor());
  }
  repaintSoon();
}

void BucketsView::hideEvent(QHideEvent* event) {
  RunView::hideEvent(event);
  playTimer_->stop();
}

void BucketsView::paintCanvas(DisplayList& list, QSizeF size) {
  controller_.setSize(size);
  const Palette& palette = colours();
  if (!controller_.ready()) {
    list.fill(QRectF(QPointF(0, 0), size), palette.background);
    return;
  }
  const BucketsFrame frame = controller_.frame();
  BucketsScene(*controller_.story(), palette, frame).draw(list);
}

void BucketsView::pointerPressed(const PointerInput& input) {
  stage_->setFocus(Qt::MouseFocusReason);
  // A hand on the stage ends the replay, or it would move under it.
  playTimer_->stop();
  Steered::pointerPressed(input);
}

void BucketsView::makeWhatIf() {
  QAction* asked = makeAction(tr("What if the bucket cap were another"), {Qt::Key_I},
                              [this] { emit whatIfRequested(); });
  asked->setIconText(tr("What if…"));
  asked->setToolTip(tr("Forecasts the run with another bucket cap, and more"));
  QToolButton* button = barButton(asked);
  button->setObjectName("whatIf");
  toolbar_->layout()->addWidget(button);
}

}  // namespace lockstep::ui
