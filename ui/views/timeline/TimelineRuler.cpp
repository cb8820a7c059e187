#include <algorithm>
#include <array>
#include <cmath>

#include "ui/canvas/TextMetrics.h"
#include "ui/chart/Ticks.h"
#include "ui/model/Format.h"
#include "ui/model/HostWords.h"
#include "ui/views/timeline/TimelineScene.h"

// The parts of the scene that stand still while it scrolls: ruler, headers, lane names.
namespace lockstep::ui {
namespace {

using namespace timeline_metrics;

constexpr double kLeastLabelDistance = 64;  // px between numbered iterations
constexpr double kLeastTimeDistance = 90;   // px between labelled times
constexpr double kBoxPadding = 8;           // px beside the number in it, both sides together
constexpr double kBoxedFrom = 30;           // px of an iteration that gets a box of its own

}  // namespace

std::optional<TimelineScene::Iterations> TimelineScene::visibleIterations() const {
  for (int rank = 0; rank < model_.rankCount(); ++rank) {
    const int id = laneId(rank, LaneRole::kPhases);
    const Lane* lane = model_.lane(id);
    if (lane == nullptr || lane->rows.empty() || lane->rows[0].empty()) {
      continue;
    }
    const run::SpanStore& steps = lane->rows[0];
    const std::size_t from = steps.firstEndingAfter(model_.toTicks(axis_.startNs()));
    const std::size_t to = steps.firstStartingAt(model_.toTicks(axis_.endNs()) + 1);
    if (from >= to) {
      return std::nullopt;
    }
    Iterations found{rank, steps.at(from).step, steps.at(to - 1).step, 1};
    const double nsEach = (model_.toNs(steps.endAt(to - 1)) - model_.toNs(steps.startAt(from))) /
                          static_cast<double>(to - from);
    const double pixelsEach = std::max(nsEach / axis_.nsPerPixel(), 1e-6);
    if (pixelsEach < kBoxedFrom) {
      found.stride =
          static_cast<std::uint32_t>(std::max(1.0, roundStep(kLeastLabelDistance / pixelsEach)));
      found.first = (found.first + found.stride - 1) / found.stride * found.stride;
    }
    return found;
  }
  return std::nullopt;
}

void TimelineScene::drawRuler(DisplayList& list) const {
  const QRectF whole(0, 0, frame_.size.width(), kRulerHeight);
  list.fill(whole, palette_.surface);
  list.clip(QRectF(axis_.left(), 0, axis_.width(), kRulerHeight));
  drawIterations(list);
  drawTimes(list);
  list.unclip();
  list.fill(QRectF(0, kRulerHeight - 1, frame_.size.width(), 1), palette_.gridStrong);
  list.text(QRectF(10, 0, kLabelWidth - 14, kIterationHeight), QStringLiteral("Iteration"),
            palette_.textMuted, FontRole::kSmall);
  list.text(QRectF(10, kIterationHeight, kLabelWidth - 14, kRulerHeight - kIterationHeight - 6),
            QStringLiteral("Time"), palette_.textMuted, FontRole::kSmall);
  list.fill(QRectF(kLabelWidth - 1, 0, 1, kRulerHeight), palette_.gridStrong);
}

double TimelineScene::labelDistance() const {
  // Far into a run the labels are long; they never touch.
  double distance = kLeastTimeDistance;
  const double step = axis_.labelStepNs(distance);
  return std::max(distance, textWidth(timeLabel(axis_.endNs(), step), FontRole::kSmall) + 24);
}

QString TimelineScene::timeLabel(double ns, double stepNs) const {
  return formatTime(ns, stepNs, std::max(std::abs(axis_.startNs()), std::abs(axis_.endNs())));
}

void TimelineScene::drawTimes(DisplayList& list) const {
  const double distance = labelDistance();
  const double step = axis_.labelStepNs(distance);
  for (const TimeAxis::Tick& tick : axis_.ticks(distance)) {
    const double x = std::round(tick.x);
    const double length = tick.major ? 7 : 4;
    list.fill(QRectF(x, kRulerHeight - length, 1, length),
              tick.major ? palette_.textMuted : palette_.gridStrong);
    const QString text = tick.major ? timeLabel(tick.ns, step) : QString();
    const double half = textWidth(text, FontRole::kSmall) / 2 + 2;
    if (tick.major && x - half >= axis_.left() && x + half <= axis_.right()) {
      list.text(QRectF(x - half, kIterationHeight + 1, 2 * half, 15), text, palette_.textMuted,
                FontRole::kSmall, Qt::AlignHCenter | Qt::AlignVCenter);
    }
  }
}

void TimelineScene::drawIterations(DisplayList& list) const {
  const auto iterations = visibleIterations();
  if (!iterations) {
    return;
  }
  for (std::uint32_t n = iterations->first; n <= iterations->last; n += iterations->stride) {
    const auto step = model_.step(iterations->rank, n);
    if (!step) {
      continue;
    }
    const double left = std::max(axis_.toX(step->startNs), axis_.left() - 2);
    const double right = std::min(axis_.toX(step->endNs), axis_.right() + 2);
    if (iterations->stride > 1) {
      list.fill(QRectF(std::round(left), 4, 1, kIterationHeight - 4), palette_.gridStrong);
      const QString number = QString::number(n);
      if (left + 4 + textWidth(number, FontRole::kSmall) <= axis_.right()) {  // else cut: 7 of 70
        list.text(QRectF(left + 4, 2, kLeastLabelDistance - 6, kIterationHeight - 3), number,
                  palette_.text, FontRole::kSmall);
      }
      continue;
    }
    const QRectF box(std::round(left), 3, std::round(right) - std::round(left) - 1,
                     kIterationHeight - 4);
    if (box.width() < 3) {
      continue;
    }
    list.fill(box, palette_.raised, 3);
    const QString number = QString::number(n);
    const QString full =
        QStringLiteral("iteration %1 · %2").arg(n).arg(formatDuration(step->endNs - step->startNs));
    const bool roomy = textWidth(full, FontRole::kSmall) + 12 < box.width();
    if (textWidth(number, FontRole::kSmall) + kBoxPadding < box.width()) {
      list.text(box, roomy ? full : number, palette_.text, FontRole::kSmall,
                Qt::AlignHCenter | Qt::AlignVCenter);
    }
  }
}

void TimelineScene::drawLabels(DisplayList& list) const {
  const TimelineLayout::WorldBox& world = layout_.world();
  if (!world.rows.empty() && inSight(world.top, world.height)) {
    const QRectF place(0, yOf(world.top), kLabelWidth, world.height);
    list.fill(place, palette_.surface);
    list.text(place.adjusted(10, 0, -6, 0), QStringLiteral("World"), palette_.text,
              FontRole::kBold);
    list.fill(QRectF(kLabelWidth - 1, place.top(), 1, place.height()), palette_.gridStrong);
  }
  for (const auto& rank : layout_.ranks()) {
    if (!inSight(rank.top, rank.height)) {
      continue;
    }
    list.fill(QRectF(0, yOf(rank.top), kLabelWidth, rank.height), palette_.surface);
    for (const auto& lane : rank.lanes) {
      const double top = yOf(lane.top);
      if (lane.lane != rank.lanes.front().lane && !rank.collapsed) {
        list.fill(QRectF(0, top, frame_.size.width(), 1), palette_.grid);
      }
      if (!rank.collapsed) {
        const QRectF place(24, top, kLabelWidth - 30, lane.height);
        list.text(place, titleOf(roleOfLane(lane.lane)), palette_.text, FontRole::kNormal);
      }
    }
    drawCounterLabels(list, rank);
    list.fill(QRectF(kLabelWidth - 1, yOf(rank.top), 1, rank.height), palette_.gridStrong);
    drawRankHeader(list, rank);
  }
}

// What became of a rank. Nobody was left to write that down when the recorder died, and one that
// died is worth its last words: "ended by SIGKILL in iteration 70, 81.3 ms into forward".
QString TimelineScene::stateOf(const trace::RankInfo& info) const {
  const QString state = QString::fromStdString(info.state);
  const bool over = info.exitCode.has_value() || info.signal != 0;
  if (model_.info().state == trace::RunState::kRecorderDied && !over) {
    return QStringLiteral("its end was not recorded");
  }
  if (info.lastWords.empty()) {
    return state;
  }
  QString words = QString::fromStdString(info.lastWords).simplified();
  for (const QString& opening :
       {QStringLiteral("rank %1 was ").arg(info.rank), QStringLiteral("rank %1 ").arg(info.rank)}) {
    if (words.startsWith(opening)) {
      words.remove(0, opening.size());
    }
  }
  return words;
}

void TimelineScene::drawRankHeader(DisplayList& list, const TimelineLayout::RankBox& rank) const {
  const QRectF header(0, yOf(rank.top), frame_.size.width(), kRankHeader);
  list.fill(header, palette_.raised);
  const double y = header.center().y();
  if (rank.collapsed) {
    list.polygon({{9, y - 4}, {14, y}, {9, y + 4}}, palette_.textMuted);
  } else {
    list.polygon({{7, y - 2.5}, {16, y - 2.5}, {11.5, y + 3}}, palette_.textMuted);
  }
  list.text(QRectF(24, header.top(), kLabelWidth - 28, header.height()),
            QStringLiteral("Rank %1").arg(rank.rank), palette_.text, FontRole::kBold);

  QStringList facts;
  for (const trace::RankInfo& info : model_.ranks()) {
    if (info.rank != rank.rank) {
      continue;
    }
    if (!info.state.empty()) {
      facts << stateOf(info);
    }
    if (const trace::HostState* host = model_.hostOf(info.rank)) {
      facts << QStringLiteral("on ") + hostTitle(*host, model_.info().kind);
    }
    if (info.wireBytes > 0) {
      facts << formatBytes(info.wireBytes) + QStringLiteral(" sent");
    }
    if (info.eventsDropped > 0) {
      facts << formatCount(info.eventsDropped) + QStringLiteral(" events lost");
    }
  }
  if (const std::size_t steps = model_.stepCount(rank.rank); steps > 0) {
    facts.insert(facts.isEmpty() ? 0 : 1, formatCounted(steps, "iteration"));
  }
  list.text(QRectF(kLabelWidth + 8, header.top(), axis_.width() - 16, header.height()),
            facts.join(QStringLiteral(" · ")), palette_.textMuted, FontRole::kSmall);
}

}  // namespace lockstep::ui
