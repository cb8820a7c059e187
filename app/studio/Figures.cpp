#include "app/studio/Figures.h"

#include <QCoreApplication>
#include <QEvent>
#include <QJsonDocument>
#include <QJsonObject>
#include <chrono>
#include <cstdio>

#include "engine/base/Thread.h"
#include "ui/model/RunModel.h"

namespace lockstep::studio {
namespace {

using Clock = std::chrono::steady_clock;

// Note [How long input waits]
// Posting an event and taking the time until it comes tells of the moments at which one was posted.
// A thread that posts the next only when the last has come would see a stop of a second once, as
// one wait among hundreds of short ones, though input at any moment of that second would have
// waited. So the waits of all moments at which a beat fell due are counted, also of those that were
// not posted because one was on its way:
//
//   due at     0    4    8    12   16   20 ms
//   posted     x                        x
//   taken                           17     21
//   waited     17   13   9    5    1    1
//
// That makes a stop count for as long as it lasts, and posts no more than one event at a time, so
// that measuring does not itself fill the queue.

constexpr int kWriteEveryMs = 1000;
constexpr std::chrono::milliseconds kBeatEvery{4};
constexpr double kLongWaitMs = 16;

const auto kBeat = static_cast<QEvent::Type>(QEvent::registerEventType());

class Beat : public QEvent {
 public:
  explicit Beat(Clock::time_point due) : QEvent(kBeat), due(due) {}
  const Clock::time_point due;
};

double inMs(Clock::duration duration) {
  return std::chrono::duration<double, std::milli>(duration).count();
}

}  // namespace

Figures::Figures(const ui::TimelineView& timeline, const QString& path)
    : timeline_(timeline), file_(path) {
  connect(&timer_, &QTimer::timeout, this, &Figures::look);
  timer_.start(kWriteEveryMs);
}

Figures::~Figures() {
  if (timer_.isActive()) {
    look();  // since the last second
  }
  stopBeating();
}

void Figures::look() {
  const ui::RunModel* model = timeline_.model();
  if (model == nullptr || !model->isLoaded()) {
    return;
  }
  if (model->isLive() && !beating_) {
    startBeating();
  }
  if (const QString mistake = file_.mistake(); !mistake.isEmpty()) {
    std::fprintf(stderr, "lockstep-studio: %s\n", qPrintable(mistake));
    stopBeating();
    timer_.stop();
    return;
  }
  write(*model);
  // The end is known before the last spans are in the model.
  if (!model->isLive() && model->spanCount() == writtenSpans_) {
    stopBeating();
    timer_.stop();
  }
  writtenSpans_ = model->spanCount();
}

void Figures::startBeating() {
  beating_ = true;
  measured_.start();
  heart_ = std::thread([this] {
    base::nameThisThread("heartbeat");
    auto due = Clock::now();
    while (beating_) {
      due += kBeatEvery;
      // Until a moment, not for a time: beats that are late do not put off those after them.
      std::this_thread::sleep_until(due);
      if (!pending_.exchange(true)) {
        QCoreApplication::postEvent(this, new Beat(due));
      }
    }
  });
}

void Figures::stopBeating() {
  beating_ = false;
  if (heart_.joinable()) {
    heart_.join();
  }
}

bool Figures::event(QEvent* event) {
  if (event->type() != kBeat) {
    return QObject::event(event);
  }
  // Before the times are taken: the next beat may be posted while this one is still counted.
  pending_ = false;
  // The beats that fell due while this one waited were not posted: they waited the rest of it.
  const auto waited = Clock::now() - static_cast<Beat*>(event)->due;
  for (auto left = waited; left > Clock::duration::zero(); left -= kBeatEvery) {
    addWait(inMs(left));
  }
  return true;
}

void Figures::addWait(double ms) {
  waits_.add(ms);
  longWaits_ += ms > kLongWaitMs ? 1 : 0;
}

void Figures::write(const ui::RunModel& model) {
  const ui::LatencyHistogram& latency = timeline_.eventToPixel();
  const auto count = static_cast<double>(waits_.count());
  const QJsonObject figures{
      {"run", QString::fromStdString(model.path().string())},
      {"state", QString::fromStdString(std::string(trace::name(model.info().state)))},
      {"spans", static_cast<qint64>(model.spanCount())},
      {"renderer", timeline_.rendererName()},
      {"measured_s", measured_.isValid() ? static_cast<double>(measured_.elapsed()) / 1e3 : 0},
      {"event_to_pixel_ms", QJsonObject{{"count", static_cast<qint64>(latency.count())},
                                        {"p50", latency.percentileMs(0.50)},
                                        {"p95", latency.percentileMs(0.95)},
                                        {"max", latency.maximumMs()}}},
      {"gui_wait_ms",
       QJsonObject{
           {"count", count},
           {"p50", waits_.percentileMs(0.50)},
           {"p99", waits_.percentileMs(0.99)},
           {"max", waits_.maximumMs()},
           {"over_16_percent", count > 0 ? 100 * static_cast<double>(longWaits_) / count : 0.0}}}};
  file_.write(QJsonDocument(figures).toJson());
}

}  // namespace lockstep::studio
