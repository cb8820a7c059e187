#include "app/rank/Describe.h"

#include "engine/train/data/Dataset.h"
#include "engine/train/models/MakeModel.h"

namespace lockstep::rank {

base::Result<std::string> describeModel(const experiment::Experiment& experiment) {
  const auto shape = train::expectedShape(experiment);
  if (!shape.ok()) {
    return shape.error();
  }
  const auto model = train::makeModel(experiment.model, shape.value());
  if (!model.ok()) {
    return model.error();
  }
  return train::describeModelJson(experiment.model.kind, *model.value());
}

}  // namespace lockstep::rank
