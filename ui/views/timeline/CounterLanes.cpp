#include "ui/views/timeline/TimelineScene.h"

// The part of the scene that plots counters under the lanes of each rank.
namespace lockstep::ui {

using namespace timeline_metrics;

void TimelineScene::drawCounterBands(DisplayList& list, const TimelineLayout::RankBox& rank) const {
  for (const auto& box : rank.counters) {
    if (inSight(box.top, box.height)) {
      const QRectF band(axis_.left(), yOf(box.top), axis_.width(), box.height);
      list.fill(band, palette_.background);
      list.fill(QRectF(0, band.top(), frame_.size.width(), 1), palette_.grid);
    }
  }
}

std::optional<CounterLane> TimelineScene::counterLane(int rank,
                                                      const TimelineLayout::CounterBox& box) const {
  const CounterSeries* series = model_.counters().find(box.name, rank);
  if (series == nullptr) {
    return std::nullopt;
  }
  return std::optional<CounterLane>(std::in_place, model_, box.name, rank, *series,
                                    QRectF(axis_.left(), yOf(box.top), axis_.width(), box.height));
}

void TimelineScene::drawCounters(DisplayList& list, const TimelineLayout::RankBox& rank) const {
  for (const auto& box : rank.counters) {
    const auto lane = inSight(box.top, box.height) ? counterLane(rank.rank, box) : std::nullopt;
    if (lane) {
      lane->draw(list, axis_, palette_);
    }
  }
}

void TimelineScene::drawCounterLabels(DisplayList& list,
                                      const TimelineLayout::RankBox& rank) const {
  for (const auto& box : rank.counters) {
    const auto lane = inSight(box.top, box.height) ? counterLane(rank.rank, box) : std::nullopt;
    if (lane) {
      list.fill(QRectF(0, yOf(box.top), kLabelWidth, 1), palette_.grid);
      lane->drawLabel(list, QRectF(24, yOf(box.top) + 2, kLabelWidth - 30, box.height - 4),
                      palette_);
    }
  }
}

void TimelineScene::drawCounterCard(DisplayList& list) const {
  if (!frame_.pointer || !lanesArea().contains(*frame_.pointer) || frame_.measured) {
    return;
  }
  const auto hit = layout_.counterHit(frame_.pointer->y() - kRulerHeight + frame_.scrollY);
  const auto lane = hit ? counterLane(hit->rank, hit->box) : std::nullopt;
  if (lane) {
    lane->drawHover(list, axis_, palette_, frame_.size, *frame_.pointer);
  }
}

}  // namespace lockstep::ui
