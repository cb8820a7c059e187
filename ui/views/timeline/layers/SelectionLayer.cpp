#include "ui/views/timeline/layers/SelectionLayer.h"

namespace lockstep::ui {

void SelectionLayer::draw(DisplayList& list) const {
  const auto hovered = frame_.hovered ? sight_.rectOf(*frame_.hovered) : std::nullopt;
  const auto selected = frame_.selection ? sight_.rectOf(*frame_.selection) : std::nullopt;
  list.clip(sight_.lanesArea());
  if (hovered) {
    list.outline(hovered->adjusted(-1, -1, 0, 1), palette_.hover, 2);
  }
  if (selected) {
    list.outline(selected->adjusted(-1, -1, 0, 1), palette_.accent, 2);
    list.outline(selected->adjusted(-2, -2, 1, 2), palette_.accent, 3);
  }
  list.unclip();
}

}  // namespace lockstep::ui
