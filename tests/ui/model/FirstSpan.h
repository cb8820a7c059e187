#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/trace/Event.h"
#include "ui/model/RunModel.h"

namespace lockstep::ui::test {

/// Returns the first span of a kind in a step of a rank; one of no kind where there is none.
inline Span firstSpan(const RunModel& model, trace::EventKind kind, std::uint32_t step,
                      int rank = 0) {
  const int lane = laneId(rank, laneRoleOf(kind));
  const auto& rows = model.lane(lane)->rows;
  for (std::size_t row = 0; row < rows.size(); ++row) {
    for (std::size_t i = 0; i < rows[row].size(); ++i) {
      const Span span = model.spanAt(lane, static_cast<int>(row), i);
      if (span.kind == kind && span.step == step) {
        return span;
      }
    }
  }
  return {};
}

}  // namespace lockstep::ui::test
