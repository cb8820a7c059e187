#include "ui/views/live/LiveContent.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <ranges>
#include <set>
#include <utility>

#include "engine/base/Clock.h"
#include "ui/model/Format.h"
#include "ui/model/ViewState.h"
#include "ui/views/live/LiveBuckets.h"
#include "ui/views/live/LiveSpread.h"

namespace lockstep::ui {
namespace {

constexpr int kCoursePoints = 60;
constexpr int kCurvePoints = 200;
constexpr std::size_t kMeanOf = 16;  // values that make a point of a curve, or up to twice as many
constexpr double kWindowNs = 60e9;
constexpr double kNowNs = 10e9;  // what "now" means in a live run
constexpr double kFarAheadNs = 3600e9;
constexpr std::uint32_t kIterationsShown = 3;
constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

const QString& unknown() {
  static const QString kText = QStringLiteral("unknown");
  return kText;
}

// One of 60 equal pieces, each a point of the course: a second of a live run.
TimeRange pieceOf(TimeRange window, int index) {
  const double length = window.lengthNs() / kCoursePoints;
  return {window.startNs + length * index, window.startNs + length * (index + 1)};
}

// An iteration may be longer than a piece: those in which none ended lie on the line between what
// is known before and after, since nothing else happened there.
void bridge(std::vector<double>& course) {
  std::optional<std::size_t> known;
  for (std::size_t i = 0; i < course.size(); ++i) {
    if (!std::isfinite(course[i])) {
      continue;
    }
    for (std::size_t gap = known ? *known + 1 : i; gap < i; ++gap) {
      const double part = static_cast<double>(gap - *known) / static_cast<double>(i - *known);
      course[gap] = course[*known] + (course[i] - course[*known]) * part;
    }
    known = i;
  }
}

template <typename Value>
std::vector<double> courseOf(TimeRange window, const Value& value) {
  std::vector<double> course;
  for (int i = 0; i < kCoursePoints && !window.empty(); ++i) {
    course.push_back(value(pieceOf(window, i)));
  }
  bridge(course);
  return course;
}

double meanOf(const std::vector<double>& values) {
  return values.empty() ? kNone
                        : std::accumulate(values.begin(), values.end(), 0.0) /
                              static_cast<double>(values.size());
}

double sumOf(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

QString number(double value) {
  // Never an exponent, never more digits than help.
  const double magnitude = std::abs(value);
  const int decimals = magnitude >= 100 ? 0 : magnitude >= 10 ? 1 : magnitude >= 1 ? 2 : 3;
  return QString::number(value, 'f', decimals);
}

QString large(double value) {
  return value >= 999.5 ? formatCount(static_cast<std::uint64_t>(std::llround(value)))
                        : number(value);
}

/// Puts the figures together.
class Figures {
 public:
  Figures(const RunModel& model, const LiveFeed& feed, LiveContent& content, TimeRange now)
      : model_(model), feed_(feed), content_(content), now_(now) {}

  void fill() {
    tile(LiveFigure::kStepsPerSecond) = steps();
    tile(LiveFigure::kOverlap) = overlap();
    tile(LiveFigure::kExposed) = exposed();
    tile(LiveFigure::kLateRank) = lateRank();
    tile(LiveFigure::kThroughput) = throughput();
    tile(LiveFigure::kLoss) = loss();
  }

 private:
  LiveTile& tile(LiveFigure figure) { return content_.tiles[static_cast<std::size_t>(figure)]; }
  [[nodiscard]] const analysis::RunAnalysis* analysis() const {
    return feed_.analysed() == nullptr ? nullptr : &feed_.analysed()->analysis;
  }
  [[nodiscard]] std::optional<double> rate() const {
    // Of an ended run what `lockstep info` says, which counts from the end of the warm-up.
    const bool whole = !content_.live && analysis() != nullptr && analysis()->wallStepsPerSecond;
    return whole ? analysis()->wallStepsPerSecond : feed_.stepsPerSecond(now_);
  }
  [[nodiscard]] QString span() const {
    return content_.live ? QStringLiteral("over the last 10 s")
                         : QStringLiteral("over the measured iterations, after the warm-up");
  }

  [[nodiscard]] LiveTile steps() const {
    LiveTile tile{QStringLiteral("Steps/s"), unknown(), {}, {}, {}};
    tile.definition =
        QStringLiteral(
            "Iterations a second of the slowest rank by the wall clock, evaluation and "
            "checkpoints between them included, %1.")
            .arg(span());
    if (const auto value = rate()) {
      tile.value = large(*value);
      // A live run that hangs: 0 is a figure, and the sentence says what it means.
      tile.note = *value > 0 ? QStringLiteral("%1 step to step").arg(formatDuration(1e9 / *value))
                             : QStringLiteral("nothing ended for 10 s");
    }
    tile.course = courseOf(content_.window, [&](TimeRange piece) {
      return feed_.stepsPerSecond(piece).value_or(kNone);
    });
    return tile;
  }

  // Of a live run the median of the last minute, of an ended one what `lockstep info` says.
  [[nodiscard]] std::optional<double> measured(analysis::Course course,
                                               const std::optional<double>& whole) const {
    return content_.live ? analysis::median(feed_.within(content_.window, course)) : whole;
  }

  [[nodiscard]] LiveTile overlap() const {
    LiveTile tile{QStringLiteral("Overlap"), unknown(), {}, {}, {}};
    tile.definition =
        QStringLiteral(
            "Time in which communication was in flight and the rank computed, over the time in "
            "which "
            "communication was in flight, in percent: the median over iterations%1 of the rank "
            "whose "
            "communication is exposed most.")
            .arg(content_.live ? QStringLiteral(" of the last minute") : QString());
    // The rank is the analysis' own: the one with most exposed time.
    if (analysis() != nullptr) {
      const auto value = measured(analysis::Course::kOverlapPercent, analysis()->overlapPercent);
      tile.value = value ? formatPercent(*value) : QStringLiteral("none");
      tile.note = value ? QStringLiteral("hidden, rank %1").arg(*analysis()->exposedRank)
                  : content_.live
                      ? QStringLiteral("no measured iteration of the last minute communicated")
                      : QStringLiteral("no measured iteration communicated");
    }
    tile.course = courseOf(content_.window, [&](TimeRange piece) {
      return meanOf(feed_.within(piece, analysis::Course::kOverlapPercent));
    });
    return tile;
  }

  [[nodiscard]] LiveTile exposed() const {
    LiveTile tile{QStringLiteral("Exposed"), unknown(), {}, {}, {}};
    tile.definition = QStringLiteral(
                          "Time of an iteration, in ms, in which communication was in flight and "
                          "the rank did not "
                          "compute: the median over iterations%1 of the rank that has most of it. "
                          "The overlap view says why it is there.")
                          .arg(content_.live ? QStringLiteral(" of the last minute") : QString());
    if (analysis() != nullptr) {
      const auto value = measured(analysis::Course::kExposedMs, analysis()->exposedMs);
      tile.value = value ? formatMs(*value) : QStringLiteral("none");
      tile.note = value ? QStringLiteral("a step, rank %1").arg(*analysis()->exposedRank)
                        : QStringLiteral("a step");
    }
    tile.course = courseOf(content_.window, [&](TimeRange piece) {
      return meanOf(feed_.within(piece, analysis::Course::kExposedMs));
    });
    return tile;
  }

  [[nodiscard]] LiveTile lateRank() const {
    LiveTile tile{QStringLiteral("Late rank"), unknown(), {}, {}, {}};
    tile.definition = QStringLiteral(
        "The rank that comes later to the collectives than the others, beyond what chance does, "
        "and its part of all waiting, in percent, since the warm-up. Of ranks that take turns "
        "being last none is late, nor is one that had no core.");
    if (analysis() != nullptr) {
      const bool any = analysis()->lateRank.has_value();
      const bool waited = sumOf(feed_.within(content_.window, analysis::Course::kWaitsMs)) > 0;
      tile.value = any ? QStringLiteral("rank %1").arg(*analysis()->lateRank)
                   : analysis()->lateness.empty() && waited ? QStringLiteral("unclear")
                                                            : QStringLiteral("none");
      tile.note = any ? QStringLiteral("%1 of all waiting")
                            .arg(formatPercent(100 * analysis()->lateShare, 0))
                  : waited && analysis()->lateness.empty()
                      ? QStringLiteral("too few iterations to tell, or clocks too far apart")
                  : waited ? QStringLiteral("nobody beyond chance")
                  : model_.clockDoubt().none()
                      ? QStringLiteral("nobody was waited for")
                      : QStringLiteral("as far as the hosts' clocks can tell");
    }
    tile.course = courseOf(content_.window, [&](TimeRange piece) {
      const double all = sumOf(feed_.within(piece, analysis::Course::kWaitsMs));
      const double late = sumOf(feed_.within(piece, analysis::Course::kLateWaitsMs));
      return all > 0 ? 100 * late / all : kNone;
    });
    return tile;
  }

  [[nodiscard]] LiveTile throughput() const {
    LiveTile tile{QStringLiteral("Throughput"), unknown(), {}, {}, {}};
    tile.definition =
        QStringLiteral(
            "Training samples a second of all ranks together: steps/s times the samples "
            "of a step, %1.")
            .arg(span());
    const auto samples = feed_.samplesAStep();
    const auto value = rate();
    if (samples && value) {
      tile.value = large(*value * *samples) + QStringLiteral(" /s");
      tile.note = QStringLiteral("%1 samples a step")
                      .arg(formatCount(static_cast<std::uint64_t>(std::llround(*samples))));
    } else if (value) {
      tile.note = QStringLiteral("batch size not recorded");
    }
    tile.course = courseOf(content_.window, [&](TimeRange piece) {
      const auto steps = feed_.stepsPerSecond(piece);
      return steps && samples ? *steps * *samples : kNone;
    });
    return tile;
  }

  [[nodiscard]] LiveTile loss() const {
    LiveTile tile{QStringLiteral("Loss"), unknown(), {}, {}, {}};
    tile.definition =
        QStringLiteral("Training loss of the latest step of rank 0, over that rank's own batch.");
    const auto& points = model_.metric("loss", 0);
    if (!points.empty()) {
      const double last = points.back().value;
      tile.value = std::isnan(last) ? QStringLiteral("not a number") : formatLoss(last);
      tile.note = QStringLiteral("iteration %1").arg(points.back().step);
    }
    const auto at = [&](double ns) {
      return std::ranges::lower_bound(points, model_.toTicks(ns), {}, &MetricPoint::ticks);
    };
    tile.course = courseOf(content_.window, [&](TimeRange piece) {
      const auto begin = at(piece.startNs);
      const auto end = std::max(begin, at(piece.endNs));
      return begin == end ? kNone : std::prev(end)->value;
    });
    return tile;
  }

  const RunModel& model_;
  const LiveFeed& feed_;
  LiveContent& content_;
  const TimeRange now_;
};

/// The first value that is no finite number, by what is known of stretches: none of the others is
/// looked at.
std::optional<std::size_t> firstLost(const CounterSeries& series) {
  const auto areFinite = [&](std::size_t count) { return series.summary(0, count).count == count; };
  if (areFinite(series.size())) {
    return std::nullopt;
  }
  const auto counts = std::views::iota(std::size_t{1}, series.size());
  return *std::ranges::partition_point(counts, areFinite) - 1;
}

RankCurve lossCurve(const CounterSeries& series, int rank) {
  RankCurve curve{rank, {}, {}, 0};
  const std::vector<MetricPoint>& points = series.points();
  if (const std::optional<std::size_t> lost = firstLost(series)) {
    curve.lostAt = points[*lost].step;
    curve.lostUntil = points.back().step;
  }
  // Means of equal parts, of some values each: a look at a long run costs no more than one at a
  // short one.
  const std::size_t pieces = std::min<std::size_t>(points.size(), kCurvePoints);
  for (std::size_t i = 0; i < pieces; ++i) {
    const std::size_t begin = points.size() * i / pieces;
    const std::size_t end = points.size() * (i + 1) / pieces;
    const std::size_t stride = std::max<std::size_t>(1, (end - begin) / kMeanOf);
    double sum = 0;
    std::size_t count = 0;
    for (std::size_t at = begin; at < end; at += stride) {
      if (std::isfinite(points[at].value)) {
        sum += points[at].value;
        ++count;
      }
    }
    // A part without one finite value has no point.
    if (count > 0) {
      curve.points.emplace_back(points[(begin + end - 1) / 2].step,
                                sum / static_cast<double>(count));
    }
  }
  return curve;
}

RankCurve throughputCurve(const LiveFeed::Rank& rank, TimeRange all, double samples) {
  RankCurve curve{rank.rank, {}, {}, 0};
  // On average two ends a piece, so that most pieces have a rate.
  const auto pieces =
      static_cast<int>(std::clamp<std::size_t>(rank.steps.size() / 2, 1, kCurvePoints));
  for (int i = 0; i < pieces && rank.steps.size() > 1; ++i) {
    const double length = all.lengthNs() / pieces;
    const double begin = all.startNs + length * i;
    if (const auto rate = LiveFeed::stepsPerSecond(rank, {begin, begin + length})) {
      curve.points.emplace_back((begin + length / 2 - all.startNs) / 1e9, *rate * samples);
    }
  }
  return curve;
}

// Those that have a curve: of many ranks the one with the lowest value now, the middle one and the
// one with the highest. A thousand curves would be one grey field.
template <typename ValueOf>
std::vector<const LiveFeed::Rank*> ranksWithCurves(const LiveFeed& feed, const ValueOf& valueOf) {
  std::vector<const LiveFeed::Rank*> ranks;
  if (feed.ranks().size() <= kFewRanks) {
    for (const LiveFeed::Rank& rank : feed.ranks()) {
      ranks.push_back(&rank);
    }
    return ranks;
  }
  std::vector<std::pair<double, const LiveFeed::Rank*>> values;
  for (const LiveFeed::Rank& rank : feed.ranks()) {
    if (const std::optional<double> value = valueOf(rank)) {
      values.emplace_back(*value, &rank);
    }
  }
  std::ranges::stable_sort(values, {}, &std::pair<double, const LiveFeed::Rank*>::first);
  if (!values.empty()) {
    for (const std::size_t at : std::set<std::size_t>{0, values.size() / 2, values.size() - 1}) {
      ranks.push_back(values[at].second);
    }
  }
  return ranks;
}

// The last three iterations that every rank has ended, as far back as all of them are known.
void fillIterations(const RunModel& model, const LiveFeed& feed, LiveContent& content) {
  std::optional<std::uint32_t> last;
  std::optional<std::uint32_t> first;
  for (const LiveFeed::Rank& rank : feed.ranks()) {
    if (!rank.steps.empty()) {
      last = std::min(last.value_or(rank.steps.back().step), rank.steps.back().step);
      first = std::max(first.value_or(rank.steps.front().step), rank.steps.front().step);
    }
  }
  if (!last) {
    return;
  }
  const std::uint32_t from =
      std::max(*first, *last >= kIterationsShown - 1 ? *last - (kIterationsShown - 1) : 0);
  const auto begin = model.stepOfAll(std::min(from, *last));
  const auto end = model.stepOfAll(*last);
  if (begin && end && end->endNs > begin->startNs) {
    // A hundredth of room at each side, so that the edges can be seen.
    content.iterations = TimeRange{begin->startNs, end->endNs}.widened(0.01);
    content.firstIteration = begin->step;
    content.lastIteration = end->step;
  }
}

/// What was wrong with the run; empty: nothing that is known.
QString problemOf(const trace::RunInfo& info) {
  const bool recorderDied = info.state == trace::RunState::kRecorderDied;
  // A state of failure outweighs a divergence.
  if (recorderDied || info.state == trace::RunState::kFailed) {
    return !info.failure.empty() ? QString::fromStdString(info.failure)
           : recorderDied ? QStringLiteral("The recorder died: how the run ended is not known.")
                          : QStringLiteral("The run failed.");
  }
  return info.divergence
             ? QStringLiteral("Diverged: %1").arg(QString::fromStdString(info.divergence->text))
             : QString();
}

std::optional<double> latest(const RunModel& model, const char* name, int rank) {
  const auto& points = model.metric(name, rank);
  return points.empty() ? std::nullopt : std::optional(points.back().value);
}

}  // namespace

double presentOf(const RunModel& model) {
  const double last = model.extent().endNs;
  // The run may be of another host, or over for long: then the present is its last event.
  const double now = model.toNs(base::ticks());
  return now > last && now < last + kFarAheadNs ? now : last;
}

LiveContent liveContent(const RunModel& model, const LiveFeed& feed, double nowNs) {
  LiveContent content;
  content.live = model.isLive();
  content.problem = problemOf(model.info());
  const TimeRange all = feed.steps();
  // A live run goes on to the present, so that its figures fall when nothing comes.
  const double end = content.live ? std::max(nowNs, all.endNs) : all.endNs;
  content.window = {content.live ? std::max(all.startNs, end - kWindowNs) : all.startNs, end};
  // Now is the last 10 s of a live run; of an ended one all of it.
  const TimeRange now{content.live ? std::max(all.startNs, end - kNowNs) : all.startNs, end + 1};
  Figures(model, feed, content, now).fill();
  // The rate of a rank times its part of the samples; without a batch size steps alone.
  const double samples = feed.samplesAStep().value_or(1) / std::max(1, model.rankCount());
  content.throughputUnit =
      feed.samplesAStep() ? QStringLiteral("samples/s of each rank") : QStringLiteral("steps/s");
  const auto lossNow = [&](const LiveFeed::Rank& rank) { return latest(model, "loss", rank.rank); };
  for (const LiveFeed::Rank* rank : ranksWithCurves(feed, lossNow)) {
    static const CounterSeries kNone;
    const CounterSeries* series = model.counters().find("loss", rank->rank);
    content.loss.push_back(lossCurve(series == nullptr ? kNone : *series, rank->rank));
  }
  const auto rate = [&](const LiveFeed::Rank& rank) { return LiveFeed::stepsPerSecond(rank, all); };
  for (const LiveFeed::Rank* rank : ranksWithCurves(feed, rate)) {
    content.throughput.push_back(throughputCurve(*rank, all, feed.samplesAStep() ? samples : 1.0));
  }
  if (feed.ranks().size() > kFewRanks) {
    content.lossBand = lossBand(model, feed);
    content.throughputBand = throughputBand(feed, all, feed.samplesAStep() ? samples : 1.0);
  }
  for (const LiveFeed::Rank& rank : feed.ranks()) {
    LiveRank& of = content.ranks.emplace_back(bucketsNow(model, rank.rank));
    of.loss = latest(model, "loss", rank.rank);
    of.stepsPerSecond = LiveFeed::stepsPerSecond(rank, now);
    if (!rank.steps.empty()) {
      of.stepMs = (rank.steps.back().endNs - rank.steps.back().startNs) / 1e6;
    }
    of.cpuPercent = latest(model, "cpu_percent", rank.rank);
    of.residentBytes = latest(model, "resident_bytes", rank.rank);
  }
  content.unlike = feed.unlike();
  fillIterations(model, feed, content);
  return content;
}

}  // namespace lockstep::ui
