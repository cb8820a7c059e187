#include "engine/train/FloatingType.h"

#include "engine/ddp/TensorText.h"

namespace lockstep::train {

std::optional<c10::ScalarType> floatingType(const std::string& name) {
  for (const auto type : {c10::kFloat, c10::kDouble, c10::kHalf, c10::kBFloat16}) {
    if (ddp::dtypeName(type) == name) {
      return type;
    }
  }
  return std::nullopt;
}

}  // namespace lockstep::train
