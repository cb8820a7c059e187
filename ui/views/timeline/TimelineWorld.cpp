#include <algorithm>
#include <array>
#include <cmath>

#include "ui/canvas/TextMetrics.h"
#include "ui/model/Format.h"
#include "ui/views/timeline/TimelineScene.h"

// Collectives across ranks: the World lane and the ribbons that lead from it to the ranks.
namespace lockstep::ui {
namespace {

using namespace timeline_metrics;

constexpr double kTicksFrom = 8;  // px of a bar that shows who arrived when
constexpr std::size_t kRibbonsAtMost = 300;
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

QColor TimelineScene::colourOfMeeting(const Meeting& meeting) const {
  const bool byBucket = meeting.bucket != trace::kNoBucket && frame_.colourBy != ColourBy::kWait;
  return byBucket ? palette_.bucket(meeting.bucket) : palette_.tone(Tone::kTransfer);
}

std::size_t TimelineScene::membersOf(const Meeting& meeting) const {
  return model_.membersOf(trace::groupOf(meeting.detail)).size();
}

void TimelineScene::drawWorld(DisplayList& list) const {
  const TimelineLayout::WorldBox& world = layout_.world();
  if (world.rows.empty() || !inSight(world.top, world.height)) {
    return;
  }
  for (std::size_t i = 0; i < world.rows.size(); ++i) {
    if (i == 0 || world.rows[i].group != world.rows[i - 1].group) {
      drawWorldGroup(list, world.rows[i].group);
    }
  }
}

void TimelineScene::drawWorldGroup(DisplayList& list, std::uint8_t group) const {
  std::vector<TimelineLayout::WorldRow> rows;
  for (const auto& row : layout_.world().rows) {
    if (row.group == group) {
      rows.push_back(row);
    }
  }
  const QRectF band(axis_.left(), yOf(rows.front().top), axis_.width(),
                    rows.back().top + rows.back().height - rows.front().top);
  const MeetingTable& table = model_.meetings().table(group);
  const std::vector<Meeting>& all = table.all();
  const double foldNs = axis_.nsPerPixel() * kFoldPixels;
  const std::uint64_t endTicks = model_.toTicks(axis_.endNs());
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
        drawWorldFold(list, table, i, next, band);
        i = next;
        continue;
      }
    }
    const auto& row = rows[std::min<std::size_t>(meeting.row, rows.size() - 1)];
    drawMeeting(list, meeting,
                barRect(axis_.toX(startNs), axis_.toX(endNs), {row.row, row.top, row.height}));
    ++i;
  }
}

// Too narrow to be told apart: how much of the time is waiting (above, pale) and how much
// transfer (below).
void TimelineScene::drawWorldFold(DisplayList& list, const MeetingTable& table, std::size_t first,
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
    ofBucket[all[i].bucket % ofBucket.size()] += length;
  }
  const auto most = static_cast<std::size_t>(std::max_element(ofBucket.begin(), ofBucket.end()) -
                                             ofBucket.begin());
  Meeting typical = all[first];
  if (typical.bucket != trace::kNoBucket) {
    typical.bucket = static_cast<std::uint16_t>(most);
  }
  const QColor fill = mixed(colourOfMeeting(typical), palette_.background, 0.8);
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

void TimelineScene::drawMeeting(DisplayList& list, const Meeting& meeting,
                                const QRectF& bar) const {
  const QColor fill = colourOfMeeting(meeting);
  const QColor pale = mixed(fill, palette_.background, 0.3);
  const QRectF body = bar.width() > kFoldPixels ? bar.adjusted(0, 0, -1, 0) : bar;
  const double radius = body.width() > kTicksFrom ? 2 : 0;
  const bool torn = meeting.count < membersOf(meeting);
  const double arrivedX =
      std::clamp(axis_.toX(model_.toNs(meeting.lastStart)), body.left(), body.right());
  const QRectF waiting(body.left(), body.top(), arrivedX - body.left(), body.height());
  const QRectF transfer(arrivedX, body.top(), body.right() - arrivedX, body.height());
  if (torn) {
    list.fill(body, pale, radius);
    list.outline(body, fill, radius);
  } else if (waiting.width() < 1) {
    list.fill(body, fill, radius);
  } else {
    list.fill(body, pale, radius);
    list.hatch(waiting, mixed(fill, palette_.background, 0.75));
    list.fill(transfer, fill, transfer.width() > kTicksFrom ? 2 : 0);
  }
  if (body.width() >= kTicksFrom) {
    const std::optional<int> lastRank = model_.lastRankOf(meeting);
    for (const Meetings::Arrival& arrival : model_.meetings().arrivalsOf(meeting)) {
      const double x = axis_.toX(model_.toNs(arrival.startTicks));
      const bool last = !torn && meeting.count > 1 && arrival.rank == lastRank;
      const double width = last ? 2 : 1.5;
      list.fill(QRectF(std::clamp(x, body.left(), body.right() - width), body.top(), width,
                       body.height()),
                last ? palette_.warning : palette_.text);
    }
    drawMeetingText(list, meeting, waiting, transfer, fill);
  }
  const auto belongs = [&](const std::optional<Span>& span) {
    return span && model_.meetingOf(*span) == &meeting;
  };
  if (belongs(frame_.selection)) {
    list.outline(body.adjusted(-2, -2, 2, 2), palette_.accent, 3);
    list.outline(body.adjusted(-1, -1, 1, 1), palette_.accent, 2);
  } else if (belongs(frame_.hovered)) {
    list.outline(body.adjusted(-1, -1, 1, 1), palette_.hover, 2);
  }
}

void TimelineScene::drawMeetingText(DisplayList& list, const Meeting& meeting,
                                    const QRectF& waiting, const QRectF& transfer,
                                    const QColor& fill) const {
  const QString bucket = meeting.bucket == trace::kNoBucket
                             ? QString::fromUtf8(name(trace::operationOf(meeting.detail)).data())
                             : QStringLiteral("b%1").arg(meeting.bucket);
  const double waitNs = model_.toNs(meeting.lastStart) - model_.toNs(meeting.firstStart);
  const std::optional<int> lastRank = model_.lastRankOf(meeting);
  const QString late =
      meeting.count < membersOf(meeting)
          ? QStringLiteral("%1 of %2 ranks recorded it").arg(meeting.count).arg(membersOf(meeting))
      : lastRank ? QStringLiteral("rank %1 last, %2").arg(*lastRank).arg(formatDuration(waitNs))
                 : QStringLiteral("last rank unclear, %1").arg(formatDuration(waitNs));
  const auto room = [&](const QRectF& part) {
    const double left = std::max(part.left(), axis_.left()) + 4;
    return QRectF(left, part.top(), std::min(part.right(), axis_.right()) - left - 3,
                  part.height());
  };
  const QRectF inTransfer = room(transfer);
  const QRectF inWaiting = room(waiting);
  const QColor ink = Palette::textOn(fill);
  const QString both = bucket + QStringLiteral(" · ") + late;
  if (textWidth(both, FontRole::kSmall) <= inTransfer.width()) {
    list.text(inTransfer, both, ink, FontRole::kSmall);
    return;
  }
  if (textWidth(bucket, FontRole::kSmall) <= inTransfer.width()) {
    list.text(inTransfer, bucket, ink, FontRole::kSmall);
  }
  const double width = textWidth(late, FontRole::kSmall) + 8;
  if (width <= inWaiting.width()) {
    // Words on a hatch need a quiet ground.
    const QRectF plate(inWaiting.left(), inWaiting.top() + 2, width, inWaiting.height() - 4);
    const QColor ground = mixed(fill, palette_.background, 0.3);
    list.fill(plate, ground, 2);
    list.text(plate, late, Palette::textOn(ground), FontRole::kSmall,
              Qt::AlignHCenter | Qt::AlignVCenter);
  }
}

// Joins the selected collective across the ranks, and says who came late.
void TimelineScene::drawRibbon(DisplayList& list) const {
  const Meeting* meeting = frame_.selection ? model_.meetingOf(*frame_.selection) : nullptr;
  if (meeting != nullptr && meeting->count >= 2) {
    drawRibbonOf(list, *meeting, palette_.accent, true);
  }
}

// The same for every collective in sight that is wide enough to be told from its neighbours.
void TimelineScene::drawRibbons(DisplayList& list) const {
  if (!frame_.ribbons) {
    return;
  }
  const Meeting* selected = frame_.selection ? model_.meetingOf(*frame_.selection) : nullptr;
  const double leastNs = axis_.nsPerPixel() * kFoldPixels;
  const std::uint64_t endTicks = model_.toTicks(axis_.endNs());
  std::vector<const Meeting*> wide;
  bool tooMany = false;
  for (const std::uint8_t group : model_.meetings().groups()) {
    const MeetingTable& table = model_.meetings().table(group);
    const std::vector<Meeting>& all = table.all();
    std::size_t past = 0;
    std::size_t looked = 0;
    for (std::size_t i = table.firstEndingAfter(model_.toTicks(axis_.startNs()));
         i < all.size() && past <= MeetingTable::kReorderedAtMost; ++i) {
      past += all[i].firstStart > endTicks ? 1 : 0;
      const double ns = model_.toNs(all[i].lastEnd) - model_.toNs(all[i].firstStart);
      if (past == 0 && all[i].count >= 2 && &all[i] != selected && ns >= leastNs) {
        wide.push_back(&all[i]);
      }
      if (++looked > 20 * kRibbonsAtMost || wide.size() > kRibbonsAtMost) {
        tooMany = true;
        break;
      }
    }
  }
  if (tooMany) {
    list.text(QRectF(axis_.left() + 8, kRulerHeight + 4, axis_.width() - 16, 16),
              QStringLiteral("Zoom in to see ribbons: too many collectives are in sight."),
              palette_.text, FontRole::kBold);
    return;
  }
  for (const Meeting* meeting : wide) {
    drawRibbonOf(list, *meeting, colourOfMeeting(*meeting), false);
  }
}

void TimelineScene::drawRibbonOf(DisplayList& list, const Meeting& meeting, const QColor& colour,
                                 bool withText) const {
  const bool torn = meeting.count < membersOf(meeting);
  const double waitNs = model_.toNs(meeting.lastStart) - model_.toNs(meeting.firstStart);
  const std::optional<int> lastRank = model_.lastRankOf(meeting);
  std::optional<QRectF> above;
  for (const Span& span : model_.spansOf(meeting)) {
    const auto row = layout_.find(span.lane, span.row);
    if (!row) {
      continue;
    }
    const QRectF bar = barRect(axis_.toX(span.startNs), axis_.toX(span.endNs()), *row);
    if (above) {
      list.polygon({above->bottomLeft(), above->bottomRight(), bar.topRight(), bar.topLeft()},
                   withAlpha(colour, withText ? 0.14f : 0.2f));
      list.line(above->bottomLeft(), bar.topLeft(), withAlpha(colour, 0.6f));
      list.line(above->bottomRight(), bar.topRight(), withAlpha(colour, 0.6f));
    }
    list.outline(bar.adjusted(-1, -1, 0, 1), withAlpha(colour, 0.7f), 2);
    if (!torn && waitNs > 0 && span.rank() == lastRank) {
      const double x = bar.left();
      const double y = bar.bottom() + 2;
      list.polygon({{x, y}, {x + 5, y + 8}, {x - 5, y + 8}}, palette_.warning);
      if (withText) {
        const QString text =
            QStringLiteral("rank %1 last, %2 late").arg(*lastRank).arg(formatDuration(waitNs));
        const double width = textWidth(text, FontRole::kSmall) + 12;
        const double left =
            std::clamp(x + 8, axis_.left(), std::max(axis_.left(), axis_.right() - width));
        const QRectF plate(left, y, width, 16);
        list.fill(plate, palette_.warning, 3);
        list.text(plate, text, Palette::textOn(palette_.warning), FontRole::kSmall,
                  Qt::AlignHCenter | Qt::AlignVCenter);
      }
    }
    above = bar;
  }
}

// A tick above each span that is searched for; those in one pixel share it.
void TimelineScene::drawMatches(DisplayList& list, const Lane& lane,
                                const TimelineLayout::Row& row) const {
  const std::vector<SpanFinder::Match>* matches =
      frame_.found == nullptr ? nullptr : frame_.found->matches(lane.id, row.row);
  if (matches == nullptr) {
    return;
  }
  const auto firstFrom = [&](double ns) {
    return std::partition_point(matches->begin(), matches->end(),
                                [ticks = model_.toTicks(ns)](const SpanFinder::Match& match) {
                                  return match.startTicks < ticks;
                                });
  };
  constexpr double kTick = 3;
  for (auto match = firstFrom(axis_.startNs()); match != matches->end();) {
    const double x = axis_.toX(model_.toNs(match->startTicks));
    if (x > axis_.right()) {
      break;
    }
    list.fill(QRectF(std::round(x), yOf(row.top) - 1, kTick, kTick), palette_.measure);
    match = std::max(firstFrom(axis_.toNs(x + kTick)), match + 1);
  }
}

}  // namespace lockstep::ui
