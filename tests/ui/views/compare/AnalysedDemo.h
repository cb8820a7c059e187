#pragma once

#include <algorithm>
#include <iterator>
#include <memory>

#include "tests/ui/model/DemoRun.h"
#include "ui/model/RunAnalyser.h"
#include "ui/model/RunModel.h"

namespace lockstep::ui::test {

/// A made-up run as the views have it: a model, and its analysis as the analyser would make it.
struct AnalysedDemo {
  explicit AnalysedDemo(const DemoOptions& options = {}, const char* name = "demo") {
    trace::RunUpdate run = demoRun(options);
    run.info->name = name;
    auto made = std::make_shared<AnalysedRun>();
    made->data.take(run);
    made->analysis = analysis::analyse(made->data);
    analysed = std::move(made);
    model.applyUpdate(run);
  }

  RunModel model;
  std::shared_ptr<const AnalysedRun> analysed;
};

/// The same training, its rank 1 slower.
inline DemoOptions slower(double factor = 1.6) {
  DemoOptions options;
  options.slowFactor = factor;
  options.seed = 2;
  return options;
}

}  // namespace lockstep::ui::test
