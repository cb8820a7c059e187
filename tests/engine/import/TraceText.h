#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>

#include "engine/import/KinetoTrace.h"
#include "tests/support/TemporaryFolder.h"

namespace lockstep::imports {

inline constexpr const char* kGradient =
    "autograd::engine::evaluate_function: torch::autograd::AccumulateGrad";
inline constexpr const char* kNode = "autograd::engine::evaluate_function: AddmmBackward0";

/// A Kineto trace, an event at a time; times in µs.
class TraceText {
 public:
  explicit TraceText(int rank = 0, int world = 2, std::string host = "alpha",
                     std::int64_t baseNs = 1'700'000'000'000'000'000)
      : head_(fmt::format(R"("distributedInfo":{{"backend":"gloo","rank":{},"world_size":{}}},)"
                          R"("host_name":"{}","baseTimeNanoseconds":{},)",
                          rank, world, host, baseNs)) {}

  TraceText& event(const std::string& category, const std::string& name, int thread, double begin,
                   double duration, const std::string& args = "") {
    events_ += fmt::format(R"({}{{"ph":"X","cat":"{}","name":"{}","pid":1,"tid":{},"ts":{:.3f},)"
                           R"("dur":{:.3f},"args":{{{}}}}})",
                           events_.empty() ? "" : ",\n", category, name, thread, begin, duration,
                           args);
    return *this;
  }
  TraceText& op(const std::string& name, double begin, double duration,
                const std::string& args = "") {
    return event("cpu_op", name, 1, begin, duration, args);
  }
  TraceText& mark(const std::string& name, double begin, double duration) {
    return event("user_annotation", name, 1, begin, duration);
  }
  TraceText& head(const std::string& text) {
    head_ = text;
    return *this;
  }

  [[nodiscard]] std::string text() const {
    return "{" + head_ + "\"traceEvents\":[" + events_ + "]}";
  }

 private:
  std::string head_;
  std::string events_;
};

/// A gradient of `elements` float32 ready at `ready`: evaluated from 4 µs before to 6 µs after it.
inline void addGradient(TraceText& trace, double ready, int elements, bool shapes = true) {
  const std::string args =
      shapes ? fmt::format(R"("Input Dims":[[{}]],"Input type":["float"])", elements) : "";
  trace.op(kGradient, ready - 4, 10)
      .op("torch::autograd::AccumulateGrad", ready - 2, 2, args)
      .op("torch::distributed::reducer::mul_out", ready + 1, 1);
}

/// A bucket of `elements` float32, asked for at `asked` and carried out from `begin` to `end`.
inline void addGlooBucket(TraceText& trace, double asked, int elements, double begin, double end) {
  trace
      .op("c10d::allreduce_", asked, 2,
          fmt::format(R"("Input Dims":[[[{}]],[]],"Input type":["TensorList",""])", elements))
      .event("user_annotation", "gloo:all_reduce", 7, begin, end - begin,
             fmt::format(R"("Input Dims":[[{}]],"Input type":["float"])", elements));
}

/// One iteration of 1000 µs from `at`: four gradients, two buckets (30 and 12 elements).
inline void addStep(TraceText& trace, int number, double at, double late = 0, bool shapes = true) {
  trace.mark(fmt::format("ProfilerStep#{}", number), at, 1000)
      .mark("DistributedDataParallel.forward", at + 10, 90)
      .op(kNode, at + 120, 20);
  addGradient(trace, at + 150, 10, shapes);
  addGradient(trace, at + 200, 20, shapes);
  addGlooBucket(trace, at + 203, 30, at + 210, at + 400 + late);
  trace.op(kNode, at + 220, 100);
  addGradient(trace, at + 350, 5, shapes);
  addGradient(trace, at + 500, 7, shapes);
  addGlooBucket(trace, at + 503, 12, at + 510 + late, at + 700 + late);
  for (const double copied : {520.0, 525.0, 710 + late, 715 + late}) {
    trace.op("torch.distributed.ddp.reducer::copy_bucket_to_grad", at + copied, 4);
  }
  trace.mark("Optimizer.step#SGD.step", at + 800, 100);
}

inline base::Result<KinetoTrace> readText(const std::string& text) {
  const support::TemporaryFolder folder;
  return readKineto(folder.write("trace.json", text));
}

}  // namespace lockstep::imports
