#include "app/rank/Describe.h"

#include "engine/base/Try.h"
#include "engine/train/data/Dataset.h"
#include "engine/train/models/MakeModel.h"

namespace lockstep::rank {

base::Result<std::string> describeModel(const experiment::Experiment& experiment) {
  const auto shape = LOCKSTEP_TRY(train::expectedShape(experiment));
  const auto model = LOCKSTEP_TRY(train::makeModel(experiment.model, shape));
  return train::describeModelJson(experiment.model.kind, *model);
}

}  // namespace lockstep::rank
