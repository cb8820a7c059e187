#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>

#include "engine/data_parallel/DataParallel.h"
#include "engine/trace/Event.h"
#include "tests/engine/data_parallel/TestModels.h"
#include "tests/support/RankRecording.h"

namespace lockstep::data_parallel {
namespace {

using test::make;
using test::Net;
using test::numbers;
using testing::ElementsAre;
using testing::HasSubstr;
using trace::Event;
using trace::EventKind;
using Recording = support::RankRecording;

DataParallelOptions on(int devices, Recording& recording) {
  DataParallelOptions options;
  options.devices = virtualDevices(devices);
  options.makeReplica = [] { return std::make_shared<Net>(); };
  options.tracer = &recording.tracer();
  options.lane = &recording.tracer().lane("step");
  return options;
}

using Seen = std::pair<EventKind, std::uint64_t>;

std::vector<Seen> kindsAndBytes(const std::vector<Event>& events) {
  std::vector<Seen> list;
  for (const Event& event : events) {
    list.emplace_back(static_cast<EventKind>(event.kind), event.value);
  }
  return list;
}

// Net has 6*8+8 + 8*3+3 floats, 3 frozen floats and 3 doubles.
constexpr std::uint64_t kTrained = (56 + 27) * 4 + 3 * 8;
constexpr std::uint64_t kState = kTrained + 3 * 4;

TEST(DataParallelTrace, ShowsEachPhaseWithTheBytesThatCrossed) {
  Recording recording;
  DataParallel parallel(make<Net>(), on(2, recording));
  parallel.setStep(7);
  parallel.forward<Net>(numbers({5, 6}, 1)).sum().backward();
  const auto lanes = recording.lanes();
  // Three samples stay on device 0, two go to device 1.
  EXPECT_THAT(
      kindsAndBytes(lanes.at("step")),
      ElementsAre(Seen(EventKind::kScatter, 2 * 6 * 4u), Seen(EventKind::kReplicate, kState),
                  Seen(EventKind::kGather, 2 * 3 * 4u), Seen(EventKind::kScatter, 2 * 3 * 4u),
                  Seen(EventKind::kReduceGradients, kTrained)));
  for (const char* device : {"device 0", "device 1"}) {
    EXPECT_THAT(kindsAndBytes(lanes.at(device)), ElementsAre(Seen(EventKind::kParallelApply, 0u),
                                                             Seen(EventKind::kParallelApply, 1u)));
    for (const Event& event : lanes.at(device)) {
      EXPECT_EQ(event.detail, device[7] - '0');
      EXPECT_EQ(event.step, 7u);
    }
  }
}

TEST(DataParallelTrace, BytesGrowWithTheDevices) {
  Recording recording;
  DataParallel parallel(make<Net>(), on(4, recording));
  parallel.forward<Net>(numbers({8, 6}, 1)).sum().backward();
  EXPECT_THAT(
      kindsAndBytes(recording.lanes().at("step")),
      ElementsAre(Seen(EventKind::kScatter, 6 * 6 * 4u), Seen(EventKind::kReplicate, 3 * kState),
                  Seen(EventKind::kGather, 6 * 3 * 4u), Seen(EventKind::kScatter, 6 * 3 * 4u),
                  Seen(EventKind::kReduceGradients, 3 * kTrained)));
}

TEST(DataParallelTrace, ReplicasOverlapInTheForwardAndInTheBackward) {
  // Each replica waits for the other one, which a serial run would never let come.
  struct Meeting {
    std::mutex mutex;
    std::condition_variable all;
    int present = 0;
    void wait() {
      std::unique_lock lock(mutex);
      ++present;
      all.notify_all();
      ASSERT_TRUE(all.wait_for(lock, std::chrono::seconds(20), [&] { return present == 2; }));
    }
  };
  static Meeting forwards;
  static Meeting backwards;
  forwards.present = backwards.present = 0;  // the test may be repeated
  struct Meets : torch::autograd::Function<Meets> {
    static at::Tensor forward(torch::autograd::AutogradContext*, const at::Tensor& x) {
      forwards.wait();
      return x.clone();
    }
    static torch::autograd::variable_list backward(torch::autograd::AutogradContext*,
                                                   torch::autograd::variable_list gradients) {
      backwards.wait();
      return gradients;
    }
  };
  Recording recording;
  DataParallel parallel(make<Net>(), on(2, recording));
  const Tree output =
      parallel.run(numbers({4, 6}, 1), [](torch::nn::Module& replica, const Tree& input) -> Tree {
        return Meets::apply(static_cast<Net&>(replica).forward(input.tensor()));
      });
  output.tensor().sum().backward();
}

TEST(DataParallelTrace, AnImbalanceIsAProblemOfTheRun) {
  Recording recording;
  auto options = on(2, recording);
  options.devices[0].cores = 8;
  options.devices[1].cores = 4;
  DataParallel parallel(make<Net>(), options);
  const auto messages = recording.messages();
  ASSERT_EQ(messages.size(), 1u);
  const auto& problem = std::get<trace::ProblemMessage>(messages[0]);
  EXPECT_EQ(problem.severity, "warning");
  EXPECT_THAT(problem.text, HasSubstr("device cpu 1 has less than 75 % of the cores"));
}

}  // namespace
}  // namespace lockstep::data_parallel
