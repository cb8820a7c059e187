#include "ui/views/timeline/layers/SelectionLayer.h"

namespace lockstep::ui {

void SelectionLayer::draw(DisplayList& list) const {
  list.clip(sight_.lanesArea());
  if (frame_.hovered) {
    if (const auto rect = sight_.rectOf(*frame_.hovered)) {
      list.outline(rect->adjusted(-1, -1, 0, 1), palette_.hover, 2);
    }
  }
  if (frame_.selection) {
    if (const auto rect = sight_.rectOf(*frame_.selection)) {
      list.outline(rect->adjusted(-1, -1, 0, 1), palette_.accent, 2);
      list.outline(rect->adjusted(-2, -2, 1, 2), palette_.accent, 3);
    }
  }
  list.unclip();
}

}  // namespace lockstep::ui
