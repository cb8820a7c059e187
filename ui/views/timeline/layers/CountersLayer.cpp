#include "ui/views/timeline/layers/CountersLayer.h"

namespace lockstep::ui {

using namespace timeline_metrics;

std::optional<CounterLane> CountersLayer::laneOf(int rank,
                                                 const TimelineLayout::CounterBox& box) const {
  const CounterSeries* series = model_.counters().find(box.name, rank);
  if (series == nullptr) {
    return std::nullopt;
  }
  const QRectF plot(axis_.left(), sight_.yOf(box.top), axis_.width(), box.height);
  return std::optional<CounterLane>(std::in_place, model_, box.name, rank, *series, plot);
}

void CountersLayer::draw(DisplayList& list) const {
  for (const auto& rank : sight_.ranksInSight()) {
    for (const auto& box : rank.counters) {
      const auto lane = sight_.inSight(box.top, box.height) ? laneOf(rank.rank, box) : std::nullopt;
      if (!lane) {
        continue;
      }
      const double top = sight_.yOf(box.top);
      list.clip(sight_.lanesArea());
      lane->draw(list, axis_, palette_);
      list.unclip();
      list.clip(sight_.scrolled());
      list.fill(QRectF(0, top, kLabelWidth - 1, 1), palette_.grid);
      const double pad = box.height > kCounterStrip ? 2 : 0;
      lane->drawLabel(list, QRectF(24, top + pad, kLabelWidth - 30, box.height - 2 * pad),
                      palette_);
      list.unclip();
    }
  }
}

void CountersLayer::drawCard(DisplayList& list, QPointF pointer) const {
  const auto hit = sight_.lanesArea().contains(pointer) ? counterAt(sight_, pointer) : std::nullopt;
  if (const auto lane = hit ? laneOf(hit->rank, hit->box) : std::nullopt) {
    lane->drawHover(list, axis_, palette_, frame_.size, pointer);
  }
}

std::optional<TimelineLayout::CounterHit> CountersLayer::counterAt(const TimelineSight& sight,
                                                                   QPointF position) {
  return position.y() < kRulerHeight ? std::nullopt
                                     : sight.layout.counterHit(sight.layoutY(position));
}

}  // namespace lockstep::ui
