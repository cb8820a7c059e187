#include "ui/views/timeline/layers/WorldLayer.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "ui/canvas/TextMetrics.h"
#include "ui/chart/FlightBar.h"
#include "ui/chart/Plate.h"
#include "ui/model/Format.h"
#include "ui/views/timeline/LevelOfDetail.h"
#include "ui/views/timeline/SpanStyle.h"

namespace lockstep::ui {
namespace {

using namespace timeline_metrics;

constexpr double kTicksFrom = 8;  // px of a bar that shows who arrived when
constexpr double kBoxFrom = 24;   // the same of many ranks
constexpr double kBoxInset = 4;   // px above and below the box of the middle half
constexpr std::size_t kWorldFoldSamples = 8;

}  // namespace

const Meeting* meetingAt(const RunModel& model, const TimelineLayout::WorldRow& row, double ns,
                         double slackNs) {
  const MeetingTable& table = model.meetings().table(row.group);
  const std::vector<Meeting>& all = table.all();
  const Meeting* best = nullptr;
  double bestDistance = slackNs;
  std::size_t past = 0;
  for (std::size_t i = table.firstEndingAfter(model.toTicks(ns - slackNs));
       i < all.size() && past <= MeetingTable::kReorderedAtMost; ++i) {
    const double startNs = model.toNs(all[i].firstStart);
    const double endNs = model.toNs(all[i].lastEnd);
    past += startNs > ns + slackNs ? 1 : 0;
    const double distance = std::max({startNs - ns, ns - endNs, 0.0});
    if (all[i].row == row.row && distance <= bestDistance &&
        (best == nullptr || distance < bestDistance)) {
      best = &all[i];
      bestDistance = distance;
    }
  }
  return best;
}

std::optional<Span> WorldLayer::spanAt(const TimelineSight& sight, QPointF position) {
  const auto row = sight.layout.worldHit(sight.layoutY(position));
  const Meeting* meeting = row ? meetingAt(sight.model, *row, sight.axis.toNs(position.x()),
                                           sight.axis.nsPerPixel() * kPointerSlack)
                               : nullptr;
  if (meeting != nullptr) {
    for (const Span& span : sight.model.spansOf(*meeting)) {
      if (span.rank() == meeting->lateRank) {
        return span;
      }
    }
  }
  return std::nullopt;
}

void WorldLayer::draw(DisplayList& list) const {
  const TimelineLayout::WorldBox& world = layout_.world();
  if (world.rows.empty() || !sight_.inSight(world.top, world.height)) {
    return;
  }
  list.clip(sight_.timesArea());
  std::vector<TimelineLayout::WorldRow> rows;  // of a group
  for (std::size_t i = 0; i < world.rows.size(); ++i) {
    rows.push_back(world.rows[i]);
    if (i + 1 == world.rows.size() || world.rows[i + 1].group != rows.front().group) {
      drawGroup(list, rows.front().group, rows);
      rows.clear();
    }
  }
  list.unclip();
  drawTitle(list, sight_.belowRuler(), world.top, world.height, QStringLiteral("World"));
}

// Note [All ranks in one row]
//
// A bar of World is a collective from its first arrival to its last end. Up to the last arrival it
// is hatched: nothing can be transferred before; a tick marks each rank's arrival, that of the last
// in another colour. The words stand in it, or right of it where it is too short for them and its
// row has room.
//
//   first            last arrival       last end
//   ├┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┤███████████████████┤   b3 · rank 1 last, 4.2 ms
//   ▏      ▏         ▎ arrivals
//
// Of more than kFewRanks ranks the ticks would run together. A box takes their place, from when a
// quarter of the ranks had come until three quarters had, with a line at the half.
//
//   ├──┤    ├───────────────────────────┤
//   ▏┈┈[┈┈|┈]┈┈┈┈┈┈┈┈▎
//
// Collectives in flight together have rows of their own (Meeting::row). Those too narrow to be seen
// are folded over all rows of the group, and show what is lost by waiting: the band is divided by
// its share of the time. Meetings are in the order of their numbers, nearly that of time, so the
// walk goes on beyond the right edge for as many as may have changed places (kReorderedAtMost).
void WorldLayer::drawGroup(DisplayList& list, std::uint8_t group,
                           const std::vector<TimelineLayout::WorldRow>& rows) const {
  const QRectF band(axis_.left(), sight_.yOf(rows.front().top), axis_.width(),
                    rows.back().top + rows.back().height - rows.front().top);
  const MeetingTable& table = model_.meetings().table(group);
  const std::vector<Meeting>& all = table.all();
  const double foldNs = axis_.nsPerPixel() * kFoldPixels;
  const std::uint64_t endTicks = model_.toTicks(axis_.endNs());
  std::vector<std::vector<Beside>> drawn(rows.size());  // by row
  std::size_t past = 0;
  for (std::size_t i = table.firstEndingAfter(model_.toTicks(axis_.startNs()));
       i < all.size() && past <= MeetingTable::kReorderedAtMost;) {
    const Meeting& meeting = all[i];
    if (meeting.firstStart > endTicks) {
      ++past;
      ++i;
      continue;
    }
    const double startNs = model_.toNs(meeting.firstStart);
    const double endNs = model_.toNs(meeting.lastEnd);
    if (endNs - startNs < foldNs) {
      const std::size_t next =
          std::max(table.firstEndingAfter(model_.toTicks(startNs + foldNs)), i + 1);
      if (next - i > 1) {
        drawFold(list, table, i, next, band);
        for (std::vector<Beside>& row : drawn) {
          row.push_back({QRectF(axis_.toX(startNs), band.top(), 0, 0), {}});
        }
        i = next;
        continue;
      }
    }
    const std::size_t at = std::min<std::size_t>(meeting.row, rows.size() - 1);
    const auto& row = rows[at];
    const QRectF bar =
        sight_.barRect(axis_.toX(startNs), axis_.toX(endNs), {row.row, row.top, row.height});
    drawn[at].push_back({bar, drawMeeting(list, meeting, bar)});
    ++i;
  }
  for (std::vector<Beside>& row : drawn) {
    std::ranges::sort(row, {}, [](const Beside& of) { return of.bar.left(); });
    for (std::size_t i = 0; i < row.size(); ++i) {
      noteBeside(list, row[i].bar, i + 1 < row.size() ? row[i + 1].bar.left() : axis_.right(),
                 row[i].forms);
    }
  }
}

// Too narrow to be told apart: how much of the time is waiting (above, pale) and how much
// transfer (below).
void WorldLayer::drawFold(DisplayList& list, const MeetingTable& table, std::size_t first,
                          std::size_t last, const QRectF& rows) const {
  const std::vector<Meeting>& all = table.all();
  double waiting = 0;
  double whole = 0;
  std::array<double, 8> ofBucket{};
  const std::size_t stride = std::max<std::size_t>(1, (last - first) / kWorldFoldSamples);
  for (std::size_t i = first; i < last; i += stride) {
    const auto length = static_cast<double>(all[i].lastEnd - all[i].firstStart);
    waiting += static_cast<double>(all[i].lastStart - all[i].firstStart);
    whole += length;
    // Colours of buckets repeat after eight: so the colour with the most time is found.
    ofBucket[all[i].bucket % ofBucket.size()] += length;
  }
  const auto most = static_cast<std::size_t>(std::max_element(ofBucket.begin(), ofBucket.end()) -
                                             ofBucket.begin());
  Meeting typical = all[first];
  if (typical.bucket != trace::kNoBucket) {
    typical.bucket = static_cast<std::uint16_t>(most);
  }
  const QColor fill = mixed(colourOf(typical, frame_.colourBy, palette_), palette_.background, 0.8);
  const double left = std::max(axis_.toX(model_.toNs(all[first].firstStart)), axis_.left());
  const double right = std::min(
      std::max(axis_.toX(model_.toNs(all[last - 1].lastEnd)), left + kFoldPixels), axis_.right());
  if (right <= left) {
    return;
  }
  const double share = whole > 0 ? std::clamp(waiting / whole, 0.0, 1.0) : 0;
  const double middle = std::round(rows.top() + rows.height() * share);
  list.fill(QRectF(left, rows.top(), right - left, middle - rows.top()),
            mixed(fill, palette_.background, 0.35));
  list.fill(QRectF(left, middle, right - left, rows.bottom() - middle), fill);
}

QStringList WorldLayer::drawMeeting(DisplayList& list, const Meeting& meeting,
                                    const QRectF& bar) const {
  const QColor fill = colourOf(meeting, frame_.colourBy, palette_);
  const QRectF body = bar.width() > kFoldPixels ? bar.adjusted(0, 0, -1, 0) : bar;
  const bool torn = isTorn(model_, meeting);
  const double arrivedX =
      std::clamp(axis_.toX(model_.toNs(meeting.lastStart)), body.left(), body.right());
  const FlightBar drawn = drawFlightBar(list, body, arrivedX, torn, fill, palette_);
  if (body.width() >= (meeting.count > kFewRanks ? kBoxFrom : kTicksFrom)) {
    drawArrivals(list, meeting, body);
  }
  const QStringList untold = drawText(list, meeting, drawn, torn ? drawn.pale : fill);
  const auto belongs = [&](const std::optional<Span>& span) {
    return span && model_.meetingOf(*span) == &meeting;
  };
  if (belongs(frame_.selection)) {
    list.outline(body.adjusted(-2, -2, 2, 2), palette_.accent, 3);
    list.outline(body.adjusted(-1, -1, 1, 1), palette_.accent, 2);
  } else if (belongs(frame_.hovered)) {
    list.outline(body.adjusted(-1, -1, 1, 1), palette_.hover, 2);
  }
  return untold;
}

void WorldLayer::drawArrivals(DisplayList& list, const Meeting& meeting, const QRectF& body) const {
  const auto tick = [&](std::uint64_t ticks, double width, const QColor& colour) {
    const double x = axis_.toX(model_.toNs(ticks));
    list.fill(
        QRectF(std::clamp(x, body.left(), body.right() - width), body.top(), width, body.height()),
        colour);
  };
  const bool torn = isTorn(model_, meeting);
  const std::optional<int> lastRank = model_.lastRankOf(meeting);
  if (meeting.count <= kFewRanks) {
    for (const Meetings::Arrival& arrival : model_.meetings().arrivalsOf(meeting)) {
      const bool last = !torn && meeting.count > 1 && arrival.rank == lastRank;
      tick(arrival.startTicks, last ? 2 : 1.5, last ? palette_.warning : palette_.text);
    }
    return;
  }
  const Meetings::Quartiles came = model_.meetings().quartilesOf(meeting);
  const auto ticksOf = [&](double after) {
    return meeting.firstStart + static_cast<std::uint64_t>(after);
  };
  const auto xOf = [&](double after) {
    return std::clamp(axis_.toX(model_.toNs(ticksOf(after))), body.left(), body.right());
  };
  const double left = xOf(came.quarter);
  const QRectF box(left, body.top() + kBoxInset, std::max(1.0, xOf(came.threeQuarters) - left),
                   body.height() - 2 * kBoxInset);
  list.fill(box, withAlpha(palette_.text, 0.35f));
  list.outline(box, palette_.text);
  tick(meeting.firstStart, 1.5, palette_.text);
  tick(ticksOf(came.half), 1.5, palette_.text);
  tick(meeting.lastStart, 2, !torn && lastRank ? palette_.warning : palette_.text);
}

QStringList WorldLayer::drawText(DisplayList& list, const Meeting& meeting, const FlightBar& bar,
                                 const QColor& ground) const {
  const QString bucket = meeting.bucket == trace::kNoBucket
                             ? QString::fromUtf8(name(trace::operationOf(meeting.detail)).data())
                             : QStringLiteral("b%1").arg(meeting.bucket);
  const double waitNs = model_.toNs(meeting.lastStart) - model_.toNs(meeting.firstStart);
  const std::optional<int> lastRank = model_.lastRankOf(meeting);
  const QString late =
      isTorn(model_, meeting) ? QStringLiteral("%1 of %2 ranks recorded it")
                                    .arg(meeting.count)
                                    .arg(model_.membersOf(trace::groupOf(meeting.detail)).size())
      : lastRank ? QStringLiteral("rank %1 last, %2").arg(*lastRank).arg(formatDuration(waitNs))
                 : QStringLiteral("last rank unclear, %1").arg(formatDuration(waitNs));
  const auto room = [&](const QRectF& part) {
    const double left = std::max(part.left(), axis_.left()) + 4;
    return QRectF(left, part.top(), std::min(part.right(), axis_.right()) - left - 3,
                  part.height());
  };
  const QRectF inTransfer = room(bar.transfer);
  const QRectF inWaiting = room(bar.waiting);
  const QColor ink = Palette::textOn(ground);
  const QString both = bucket + QStringLiteral(" · ") + late;
  if (textWidth(both, FontRole::kSmall) <= inTransfer.width()) {
    list.text(inTransfer, both, ink, FontRole::kSmall);
    return {};
  }
  const bool named = textWidth(bucket, FontRole::kSmall) <= inTransfer.width();
  if (named) {
    list.text(inTransfer, bucket, ink, FontRole::kSmall);
  }
  const double width = textWidth(late, FontRole::kSmall) + 8;
  if (width <= inWaiting.width()) {
    // Words on a hatch need a quiet ground.
    const double pad = inWaiting.height() > kWordsFrom ? 2 : 0;
    drawPlate(list,
              QRectF(inWaiting.left(), inWaiting.top() + pad, width, inWaiting.height() - 2 * pad),
              late, bar.pale, {.radius = 2});
    return named ? QStringList() : QStringList{bucket};
  }
  return named ? QStringList{late} : QStringList{both, bucket};
}

}  // namespace lockstep::ui
