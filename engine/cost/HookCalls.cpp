#include "engine/cost/HookCalls.h"

#include <cmath>
#include <cstddef>
#include <utility>

#include "engine/cost/Sample.h"

namespace lockstep::cost {

bool fitWork(const HookCalls& calls, HookWork& work) {
  const auto encode = lineThrough(calls.encode);
  const auto decode = lineThrough(calls.decode);
  if (!encode || !decode) {
    return false;
  }
  work.encode = *encode;
  work.decode = *decode;
  std::vector<double> off;
  for (std::size_t i = 0; i < calls.encode.size(); ++i) {
    const std::uint64_t bytes = calls.encode[i].bytes;
    off.push_back(std::abs(calls.encode[i].ns + calls.decode[i].ns - work.encode.ns(bytes) -
                           work.decode.ns(bytes)));
  }
  work.offNs = median(std::move(off)).value_or(0);
  return true;
}

}  // namespace lockstep::cost
