#pragma once

#include <optional>

#include "ui/views/divergence/DivergenceTab.h"

namespace lockstep::ui {

/// A tab whose canvas shows a scene of places, of which one may be selected. [ui-thread]
template <typename Scene, typename Frame, typename Place>
class PlacesTab : public DivergenceTab {
 public:
  using DivergenceTab::DivergenceTab;

  /// Where a place is, in coordinates of the canvas, for tests and tours.
  [[nodiscard]] auto rectOf(const Place& place) const {
    return shows() ? scene().rectOf(place) : decltype(scene().rectOf(place))();
  }

 protected:
  [[nodiscard]] virtual Frame frame(QSizeF size) const = 0;
  /// Whether there are places.
  [[nodiscard]] virtual bool shows() const { return facts_ != nullptr; }
  [[nodiscard]] Scene scene() const { return {*facts_, colours(), frame(canvas_->size())}; }

  void runChanged() override {
    selected_.reset();
    DivergenceTab::runChanged();
  }
  void paintFacts(DisplayList& list, QSizeF size) override {
    Scene(*facts_, colours(), frame(size)).draw(list);
  }
  void pointerDoubleClicked(const PointerInput& input) override {
    if (input.button == Qt::LeftButton && selected_) {
      emit timelineRequested();
    }
  }

  std::optional<Place> selected_;
};

}  // namespace lockstep::ui
