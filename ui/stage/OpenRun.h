#pragma once

namespace lockstep::ui {

class RunAnalyser;
class RunModel;
class ViewState;

/// The run that is open; all null: none is. The session owns them.
struct OpenRun {
  RunModel* model = nullptr;
  ViewState* state = nullptr;
  RunAnalyser* analyser = nullptr;

  [[nodiscard]] bool any() const { return model != nullptr; }
};

}  // namespace lockstep::ui
