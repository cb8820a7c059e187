#include "ui/views/timeline/layers/RibbonsLayer.h"

#include <vector>

#include "ui/canvas/TextMetrics.h"
#include "ui/chart/Plate.h"
#include "ui/model/Format.h"
#include "ui/views/timeline/LevelOfDetail.h"
#include "ui/views/timeline/SpanStyle.h"

namespace lockstep::ui {
namespace {

constexpr std::size_t kRibbonsAtMost = 300;

}  // namespace

// Note [Ribbons]
//
// A ribbon joins the bars of one collective from rank to rank, downwards; where it leans, ranks
// came at different times:
//
//   rank 0    ┌─────────────┐
//              ╲             ╲
//   rank 1      └────┐────────┐
//                    ▲ the last to come
//
// Each costs a few lines a rank, so they are for few: where more than 300 are in sight, or most are
// too narrow to be seen, a sentence takes their place. The selected one is drawn last and in any
// case. A rank that is folded or hidden has no bar, and its neighbours are joined past it.
void RibbonsLayer::draw(DisplayList& list) const {
  const Meeting* selected = frame_.selection ? model_.meetingOf(*frame_.selection) : nullptr;
  list.clip(sight_.lanesArea());
  if (frame_.ribbons) {
    drawAll(list, selected);
  }
  if (selected != nullptr && selected->count >= 2) {
    drawRibbon(list, *selected, palette_.accent, true);
  }
  list.unclip();
}

// Every other collective in sight that is wide enough to be told from its neighbours.
void RibbonsLayer::drawAll(DisplayList& list, const Meeting* selected) const {
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
      // Meetings are in the order of their numbers and only nearly in that of time: beyond the
      // right edge as many are looked at as may have changed places.
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
    list.title(QRectF(axis_.left() + 8, sight_.lanesArea().top() + 4, axis_.width() - 16, 16),
               QStringLiteral("Zoom in to see ribbons: too many collectives are in sight."),
               palette_);
    return;
  }
  for (const Meeting* meeting : wide) {
    drawRibbon(list, *meeting, colourOf(*meeting, frame_.colourBy, palette_), false);
  }
}

void RibbonsLayer::drawRibbon(DisplayList& list, const Meeting& meeting, const QColor& colour,
                              bool withText) const {
  const bool torn = isTorn(model_, meeting);
  const double waitNs = model_.toNs(meeting.lastStart) - model_.toNs(meeting.firstStart);
  const std::optional<int> lastRank = model_.lastRankOf(meeting);
  std::optional<QRectF> above;
  for (const Span& span : model_.spansOf(meeting)) {
    const auto row = layout_.find(span.lane, span.row);
    if (!row) {
      continue;
    }
    const QRectF bar = sight_.barRect(axis_.toX(span.startNs), axis_.toX(span.endNs()), *row);
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
        drawPlate(list, QRectF(sight_.labelLeft(x + 8, width), y, width, 16), text,
                  palette_.warning);
      }
    }
    above = bar;
  }
}

}  // namespace lockstep::ui
