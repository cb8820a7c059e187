#pragma once

#include <algorithm>
#include <cstddef>
#include <span>

#include <lockstep/comm_hook.hpp>

namespace lockstep::plugin {

/// Sends this rank's message, memory of the run, to all; then(all) has what all ranks sent, one
/// behind the other, and the run completes.
template <typename T, typename Then>
void gather(const Run& run, std::span<T> own, Then then) {
  const auto all = run.scratch<T>(own.size() * static_cast<std::size_t>(run.size()));
  run.allGather(bufferOf(own), bufferOf(all), [run, all, then] {
    then(all);
    run.complete();
  });
  run.noMore();
}

/// The same, where the bucket's gradients become the sum of what add(gradients, message, rank) adds
/// for each rank.
template <typename T, typename Add>
void gatherAndAdd(const Run& run, const Bucket& bucket, std::span<T> own, Add add) {
  gather(run, own, [bucket, add, part = own.size()](std::span<const T> all) {
    const auto flat = bucket.flat();
    std::fill(flat.begin(), flat.end(), 0.0F);
    for (std::size_t rank = 0; rank * part < all.size(); ++rank) {
      add(flat, all.subspan(rank * part, part), rank);
    }
  });
}

}  // namespace lockstep::plugin
