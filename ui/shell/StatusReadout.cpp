#include "ui/shell/StatusReadout.h"

#include <QEvent>
#include <QHBoxLayout>
#include <algorithm>
#include <optional>

#include "ui/model/Format.h"
#include "ui/model/HostWords.h"
#include "ui/panels/CurrentPalette.h"
#include "ui/panels/Labels.h"
#include "ui/panels/Spacing.h"
#include "ui/panels/runs/RunsTable.h"
#include "ui/shell/RunSession.h"
#include "ui/views/timeline/TimelineView.h"

namespace lockstep::ui {
namespace {

constexpr int kRefreshMs = 1000;

// No QLabel is asked to lay out anew when its text has not changed.
void setTextIfNew(QLabel* label, const QString& text) {
  if (label->text() != text) {
    label->setText(text);
  }
}

/// Part of the ranks' time that went into emitting events; nothing when the run file does not hold
/// what one costs.
std::optional<double> captureOverhead(const RunModel& model) {
  // Each rank measures at its start what emitting an event costs it; the dearest stands for all.
  double costNs = 0;
  for (const trace::RankInfo& rank : model.ranks()) {
    const auto cost = rank.environment.find("event_ns");
    costNs = std::max(costNs, cost == rank.environment.end()
                                  ? 0.0
                                  : QString::fromStdString(cost->second).toDouble());
  }
  const double rankNs = model.extent().lengthNs() * model.rankCount();
  if (costNs <= 0 || rankNs <= 0) {
    return std::nullopt;
  }
  // Events times ns each, over the ns that all ranks together have been recorded.
  return static_cast<double>(model.spanCount()) * costNs / rankNs;
}

}  // namespace

StatusReadout::StatusReadout(const TimelineView* timeline, QWidget* parent)
    : QWidget(parent), timeline_(timeline) {
  auto* row = new QHBoxLayout(this);
  row->setContentsMargins(0, 0, kSpace, 0);
  row->setSpacing(kTwoSpaces);
  const auto add = [&](const char* name, const QString& tip) {
    auto* label = named(new QLabel, name, {}, tip);
    row->addWidget(label);
    return label;
  };
  state_ = add("statusState", tr("State of the open run"));
  rate_ = add("statusRate", tr("Events that reached the studio in the last second"));
  drops_ =
      add("statusDrops", tr("Events lost because the recorder fell behind; click for the list"));
  overhead_ = add("statusOverhead",
                  tr("Part of the ranks' time that emitting events took: their number times what "
                     "one was measured to cost when the rank started"));
  clock_ = add("statusClock", QString());
  latency_ = add("statusLatency",
                 tr("From the end of an event on a rank to the frame that shows it: 95 of 100 "
                    "events are on screen within this time"));
  drops_->installEventFilter(this);
  connect(&timer_, &QTimer::timeout, this, &StatusReadout::refresh);
  refresh();
}

void StatusReadout::setSession(RunSession* session) {
  session_ = session;
  lastCount_ = session_ != nullptr ? session_->model()->spanCount() : 0;
  sinceCount_.start();
  if (session_ != nullptr) {
    connect(session_, &RunSession::stateChanged, this, &StatusReadout::refresh);
    timer_.start(kRefreshMs);
  } else {
    timer_.stop();
  }
  refresh();
}

void StatusReadout::refresh() {
  said_.clear();
  if (session_ != nullptr) {
    setTexts();
  }
  updateGeometry();
  showFitting();
}

void StatusReadout::setTexts() {
  said_ = {state_, drops_, rate_};
  RunModel& model = *session_->model();
  const Palette& colors = currentPalette();
  const bool live = model.isLive();
  const bool known = !model.info().runId.empty();
  setTextIfNew(state_, known ? stateText(model.info().state) : tr("opening"));

  const quint64 count = model.spanCount();
  const double seconds = static_cast<double>(sinceCount_.restart()) / 1000;
  // A change of state refreshes too: over a moment that short a rate is mere chance.
  if (live && seconds > 0.1) {
    const auto rate = static_cast<quint64>(static_cast<double>(count - lastCount_) / seconds);
    setTextIfNew(rate_, tr("%1 events/s").arg(formatCount(rate)));
  } else if (!live) {
    setTextIfNew(rate_, tr("%1 events").arg(formatCount(count)));
  }
  lastCount_ = count;

  const quint64 drops = session_->drops();
  setTextIfNew(drops_, tr("%1 dropped").arg(formatCount(drops)));
  setInk(drops_, drops > 0 ? colors.error : palette().color(QPalette::WindowText));

  const auto overhead = captureOverhead(model);
  if (overhead) {
    said_.push_back(overhead_);
    setTextIfNew(overhead_, tr("recording took %1 %").arg(*overhead * 100, 0, 'g', 2));
  }

  const HostClockWords clock = hostClockWords(model.hosts(), model.info().kind);
  if (!clock.shortly.isEmpty()) {
    said_.push_back(clock_);
  }
  setTextIfNew(clock_, clock.shortly);
  clock_->setToolTip(clock.each);

  const LatencyHistogram& latency = timeline_->eventToPixel();
  if (latency.count() > 0) {
    said_.push_back(latency_);
    setTextIfNew(latency_, tr("on screen within %1").arg(formatMs(latency.p95Ms())));
  }
  if (!live && model.isLoaded()) {
    timer_.stop();  // nothing will change: let the process sleep
  }
}

int StatusReadout::widthOf(const std::vector<QLabel*>& labels) const {
  const QMargins around = layout()->contentsMargins();
  int width = around.left() + around.right() - (labels.empty() ? 0 : layout()->spacing());
  for (const QLabel* label : labels) {
    width += label->sizeHint().width() + layout()->spacing();
  }
  return width;
}

QSize StatusReadout::sizeHint() const {
  return {widthOf(said_), state_->sizeHint().height()};
}

QSize StatusReadout::minimumSizeHint() const {
  return {said_.empty() ? 0 : widthOf({said_.front()}), state_->sizeHint().height()};
}

void StatusReadout::showFitting() {
  std::vector<QLabel*> fitting;
  for (QLabel* label : said_) {
    fitting.push_back(label);
    if (widthOf(fitting) > width() && fitting.size() > 1) {
      fitting.pop_back();
      break;
    }
  }
  for (QLabel* label : {state_, rate_, drops_, overhead_, clock_, latency_}) {
    label->setVisible(std::ranges::find(fitting, label) != fitting.end());
  }
}

// A label has its final width when it has been laid out, which is after its text was set.
bool StatusReadout::event(QEvent* event) {
  const bool taken = QWidget::event(event);
  if (event->type() == QEvent::LayoutRequest) {
    showFitting();
  }
  return taken;
}

void StatusReadout::resizeEvent(QResizeEvent* event) {
  QWidget::resizeEvent(event);
  showFitting();
}

bool StatusReadout::eventFilter(QObject* watched, QEvent* event) {
  if (watched == drops_ && event->type() == QEvent::MouseButtonRelease) {
    emit dropsClicked();
  }
  return QWidget::eventFilter(watched, event);
}

}  // namespace lockstep::ui
