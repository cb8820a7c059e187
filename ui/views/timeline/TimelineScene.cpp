#include "ui/views/timeline/TimelineScene.h"

#include "ui/views/timeline/layers/CountersLayer.h"
#include "ui/views/timeline/layers/GroundLayer.h"
#include "ui/views/timeline/layers/LanesLayer.h"
#include "ui/views/timeline/layers/NotesLayer.h"
#include "ui/views/timeline/layers/Overlays.h"
#include "ui/views/timeline/layers/PointerLayer.h"
#include "ui/views/timeline/layers/RanksLayer.h"
#include "ui/views/timeline/layers/RibbonsLayer.h"
#include "ui/views/timeline/layers/RulerLayer.h"
#include "ui/views/timeline/layers/WorldLayer.h"

namespace lockstep::ui {
namespace {

// The layers of a timeline, from the bottom to the top.
template <typename... Layers>
struct Stack {
  static void draw(DisplayList& list, const TimelineSight& sight, const Palette& palette) {
    (Layers(sight, palette).draw(list), ...);
  }
};
using Timeline =
    Stack<GroundLayer, WorldLayer, LanesLayer, RanksLayer, CountersLayer, RulerLayer, RibbonsLayer,
          SelectionLayer, FilterLayer, NotesLayer, MeasureLayer, PointerLayer>;

}  // namespace

void TimelineScene::draw(DisplayList& list) const {
  Timeline::draw(list, sight_, palette_);
}

}  // namespace lockstep::ui
