#include "ui/views/timeline/TimelineScene.h"

#include "ui/views/timeline/layers/CountersLayer.h"
#include "ui/views/timeline/layers/ForecastLayer.h"
#include "ui/views/timeline/layers/GroundLayer.h"
#include "ui/views/timeline/layers/LanesLayer.h"
#include "ui/views/timeline/layers/LinesLayer.h"
#include "ui/views/timeline/layers/NotesLayer.h"
#include "ui/views/timeline/layers/Overlays.h"
#include "ui/views/timeline/layers/PointerLayer.h"
#include "ui/views/timeline/layers/RanksLayer.h"
#include "ui/views/timeline/layers/RibbonsLayer.h"
#include "ui/views/timeline/layers/RulerLayer.h"
#include "ui/views/timeline/layers/WorldLayer.h"

namespace lockstep::ui {
namespace {

// Note [Layers]
//
// A frame is a stack of layers, each in a file of its own with how it is drawn and what of it can
// be hit. They share nothing but the sight of the frame and the palette, so their order is all
// there is to decide:
//
//   ground              what all else lies on
//   world, forecast,    what was recorded, and what was asked of it; each fills its own places
//   lines, lanes,
//   ranks, counters
//   ruler               over lanes that are scrolled under it
//   ribbons, selection  over the bars that they are about
//   filter              a veil over all that statistics leave out, ribbons included
//   notes, measure,     what the user has in hand, over everything
//   pointer
//
// Whoever hits a point asks the layers from the top down (TimelineController::spanAt and the like).
template <typename... Layers>
struct Stack {
  static void draw(DisplayList& list, const TimelineSight& sight, const Palette& palette) {
    (Layers(sight, palette).draw(list), ...);
  }
};
using Timeline =
    Stack<GroundLayer, WorldLayer, ForecastLayer, LinesLayer, LanesLayer, RanksLayer, CountersLayer, RulerLayer,
          RibbonsLayer, SelectionLayer, FilterLayer, NotesLayer, MeasureLayer, PointerLayer>;

}  // namespace

void TimelineScene::draw(DisplayList& list) const {
  Timeline::draw(list, sight_, palette_);
}

}  // namespace lockstep::ui
