#pragma once

#include <cstddef>
#include <future>

namespace lockstep::base {

/// Calls `work(from, to)` for the first and the second half of so many pieces; of `worthwhile`
/// pieces or more on two threads at once. Returns when both are done; an exception of either comes
/// out. What the halves write has to lie apart.
template <typename Work>
void inHalves(std::size_t pieces, std::size_t worthwhile, const Work& work) {
  const std::size_t half = pieces / 2;
  const auto when = pieces < worthwhile ? std::launch::deferred : std::launch::async;
  auto second = std::async(when, [&work, half, pieces] { work(half, pieces); });
  work(std::size_t{0}, half);
  second.get();
}

}  // namespace lockstep::base
