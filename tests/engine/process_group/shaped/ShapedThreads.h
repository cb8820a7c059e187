#pragma once

#include <ATen/ATen.h>

#include <barrier>
#include <functional>
#include <memory>
#include <stdexcept>

#include "engine/base/Clock.h"
#include "engine/process_group/ProcessGroupFactory.h"
#include "engine/process_group/shaped/ShapedGroup.h"
#include "engine/store/HashStore.h"
#include "tests/support/RankThreads.h"

namespace lockstep::process_group {

/// Runs `body` with each rank's shaped group over Gloo and the group below it, ranks as threads.
/// Rank 0 records with `tracer`. The link is taken as it is, however fast.
inline void runShaped(int size, const cost::LinkOptions& link,
                      const std::function<void(ProcessGroup& shaped, ProcessGroup& inner)>& body,
                      trace::Tracer* tracer = nullptr,
                      std::chrono::milliseconds timeout = std::chrono::seconds(20)) {
  const auto store = std::make_shared<store::HashStore>();
  std::barrier done(size);
  support::runRanks(size, [&](int rank) {
    std::exception_ptr error;
    std::shared_ptr<ProcessGroup> shaped;
    try {
      GroupOptions options;
      options.timeout = timeout;
      auto inner = makeProcessGroup("gloo", store, rank, size, options);
      if (!inner.ok()) {
        throw std::runtime_error(inner.error().message());
      }
      ShapedOptions shape;
      shape.link = link;
      shape.simulateAnyway = true;
      shape.tracer = rank == 0 ? tracer : nullptr;
      auto made = ShapedGroup::make(inner.value(), *store, shape);
      if (!made.ok()) {
        throw std::runtime_error(made.error().message());
      }
      shaped = std::move(made).value();
      body(*shaped, *inner.value());
    } catch (...) {
      error = std::current_exception();
      if (shaped != nullptr) {
        shaped->abort("the body of this rank threw");
      }
    }
    done.arrive_and_wait();
    shaped.reset();
    if (error) {
      std::rethrow_exception(error);
    }
  });
}

/// A link of `gbps` and `latencyUs` between all ranks.
inline cost::LinkOptions linkOf(double gbps, double latencyUs) {
  cost::LinkOptions options;
  options.link = {gbps, latencyUs};
  return options;
}

/// Milliseconds from the call of `function` to its return.
template <typename Function>
double millisecondsOf(Function function) {
  const std::int64_t start = base::monotonicNs();
  function();
  return static_cast<double>(base::monotonicNs() - start) * 1e-6;
}

}  // namespace lockstep::process_group
