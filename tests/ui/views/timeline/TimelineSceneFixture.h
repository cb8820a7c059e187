#pragma once

#include <gtest/gtest.h>

#include <QString>
#include <algorithm>
#include <cmath>
#include <optional>

#include "engine/trace/Event.h"
#include "tests/ui/model/DemoRun.h"
#include "tests/ui/model/FirstSpan.h"
#include "ui/views/timeline/FirstLook.h"
#include "ui/views/timeline/TimelineScene.h"

namespace lockstep::ui {

/// Draws the made-up run as a timeline, without a widget.
class TimelineSceneFixture : public testing::Test {
 protected:
  void load(const test::DemoOptions& options = {}) {
    model_.applyUpdate(test::demoRun(options));
    layout_ = TimelineLayout(model_, {});
    frame_.size = QSizeF(1400, layout_.height() + 60);
    frame_.range = typicalRange(model_);
  }

  DisplayList draw(Theme theme = Theme::kLight) {
    DisplayList list;
    scene(theme).draw(list);
    return list;
  }

  TimelineScene scene(Theme theme = Theme::kLight) {
    return {model_, layout_, Palette::of(theme), frame_};
  }

  void showStep(std::uint32_t number) {
    const auto step = model_.step(0, number);
    frame_.range = {step->startNs, step->endNs};
  }

  Span first(trace::EventKind kind, std::uint32_t step, int rank = 0) {
    return test::firstSpan(model_, kind, step, rank);
  }

  // The rectangle that holds a text.
  static std::optional<QRectF> placeOf(const DisplayList& list, const QString& text) {
    for (const auto& command : list.commands()) {
      if (command.op == DisplayList::Op::kText && list.textOf(command) == text) {
        return command.rect;
      }
    }
    return std::nullopt;
  }

  // Whether a text of the frame begins so.
  bool saysBeside(const QString& opening) {
    const DisplayList list = draw();
    return std::any_of(list.commands().begin(), list.commands().end(), [&](const auto& command) {
      return command.op == DisplayList::Op::kText && list.textOf(command).startsWith(opening);
    });
  }

  static bool fills(const DisplayList& list, const QRectF& rect, const QColor& colour) {
    return std::any_of(list.commands().begin(), list.commands().end(), [&](const auto& command) {
      return command.op == DisplayList::Op::kFill && command.colour == colour.rgba() &&
             std::abs(command.rect.left() - rect.left()) < 0.01 &&
             std::abs(command.rect.top() - rect.top()) < 0.01 &&
             std::abs(command.rect.right() - rect.right()) < 1.01;
    });
  }

  static int count(const DisplayList& list, DisplayList::Op op) {
    return static_cast<int>(std::count_if(list.commands().begin(), list.commands().end(),
                                          [op](const auto& command) { return command.op == op; }));
  }

  RunModel model_;
  TimelineLayout layout_;
  TimelineFrame frame_;
};

}  // namespace lockstep::ui
