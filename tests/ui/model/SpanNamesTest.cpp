#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>

#include "engine/trace/Event.h"
#include "engine/trace/UserPhases.h"
#include "tests/ui/model/Feed.h"
#include "ui/model/SpanFacts.h"
#include "ui/model/SpanNames.h"

namespace lockstep::ui {
namespace {

using test::Feed;
using trace::EventKind;
using trace::FaultKind;

class SpanNames : public testing::Test {
 protected:
  SpanNames() {
    trace::RunUpdate update;
    update.parameters.emplace();
    update.parameters->push_back({"fc1.weight", {64, 784}, "float32", 50'176, 200'704});
    update.parameters->push_back({"fc1.bias", {64}, "float32", 64, 256});
    model_.applyUpdate(update);
  }

  // The one span of a kind.
  Span add(EventKind kind, std::uint64_t value = 0, std::uint16_t detail = 0,
           std::uint64_t length = 20) {
    const std::uint64_t start = 5'000'000 * ++added_;
    model_.applyUpdate(Feed().span(1, kind, start, start + length, 0, value, detail).take());
    const int lane = laneId(0, laneRoleOf(kind));
    for (int row = 0; row < static_cast<int>(model_.lane(lane)->rows.size()); ++row) {
      const auto span = model_.findSpan(lane, row, static_cast<double>(start));
      if (span && span->kind == kind) {
        return *span;
      }
    }
    ADD_FAILURE() << "no span of kind " << name(kind);
    return {};
  }

  Span fault(FaultKind kind, std::uint64_t value, std::uint64_t length = 0) {
    return add(EventKind::kFault, value, static_cast<std::uint16_t>(kind), length);
  }

  QString value(const Span& span, const char* name) {
    for (const Fact& fact : factsOf(model_, span)) {
      if (fact.name == QLatin1String(name)) {
        return fact.value;
      }
    }
    return QStringLiteral("(no such fact)");
  }

  RunModel model_;
  std::uint64_t added_ = 0;
};

TEST_F(SpanNames, SayWhatTheRareKindsAreAndWhatTheyMean) {
  const struct {
    EventKind kind;
    const char* title;
  } kinds[] = {
      {EventKind::kSearchUnused, "search for unused parameters"},
      {EventKind::kJoinShadow, "out of inputs: answers the others"},
      {EventKind::kSyncBatchNorm, "exchange of batch statistics"},
      {EventKind::kZeroBroadcast, "exchange of stepped parameters"},
      {EventKind::kScatter, "scatter to the devices"},
      {EventKind::kReplicate, "copy of the model to the devices"},
      {EventKind::kParallelApply, "device 0, forward"},
      {EventKind::kGather, "gather from the devices"},
      {EventKind::kReduceGradients, "sum of the devices' gradients"},
      {EventKind::kMarkedUnused, "unused: fc1.weight"},
      {EventKind::kUsedMap, "wait for the map of used parameters"},
      {EventKind::kBucketOptimizer, "bucket optimizer"},
      {EventKind::kOffCore, "no core for 0 ns of it"},
      {EventKind::kChecked, "check of none"},
      {EventKind::kShaped, "link: none"},
      {EventKind::kNcclCall, "call of NCCL: none"},
      {EventKind::kNcclKernel, "NCCL's kernel: none"},
      {EventKind::kOperator, "operator"},
      {EventKind::kDeviceKernel, "device kernel"},
      {EventKind::kDeviceCopy, "device copy"},
  };
  for (const auto& [kind, title] : kinds) {
    const Span span = add(kind);
    EXPECT_EQ(titleOf(model_, span), title);
    EXPECT_GT(value(span, "Meaning").size(), 30) << title;
  }
}

// Statistics count, and a search for a name finds, what is of one kind.
TEST_F(SpanNames, NoTwoKindsOrStagesOfTheStartUpHaveOneName) {
  std::map<std::string, std::pair<EventKind, int>> owners;
  const auto add = [&](EventKind kind, int detail) {
    Span span;
    span.kind = kind;
    span.detail = static_cast<std::uint16_t>(detail);
    const std::string name = nameOf(span).toStdString();
    const auto [owner, isNew] = owners.insert({name, {kind, detail}});
    EXPECT_TRUE(isNew) << name << " is kind " << static_cast<int>(kind) << " and kind "
                       << static_cast<int>(owner->second.first);
  };
  const std::string_view unknown = name(static_cast<EventKind>(0));
  for (int number = 1; number < 128; ++number) {
    const auto kind = static_cast<EventKind>(number);
    if (kind == EventKind::kStartup) {
      for (int stage = 0; stage <= static_cast<int>(trace::StartupStage::kBuckets); ++stage) {
        add(kind, stage);
      }
    } else if (name(kind) != unknown) {
      add(kind, trace::packOperation(trace::Operation::kAllreduce));
    }
  }
  EXPECT_GT(owners.size(), 40u);
}

TEST_F(SpanNames, TellTheHalvesAndDevicesOfDataParallelApart) {
  EXPECT_EQ(titleOf(model_, add(EventKind::kParallelApply, 1, 3)), "device 3, backward");
}

TEST_F(SpanNames, OfTheScriptsPhasesAreTheScripts) {
  const std::uint64_t number = trace::userPhaseNumber("load_batch");
  trace::learnUserPhases({{trace::kUserPhasePrefix + std::to_string(number), "load_batch"}});
  const Span span = add(EventKind::kUserPhase, number);
  EXPECT_EQ(titleOf(model_, span), "load_batch") << "as the script wrote it";
  EXPECT_EQ(nameOf(span), "load_batch");
  EXPECT_EQ(titleKey(span), std::nullopt) << "kept by its kind it would be every phase's";
  EXPECT_EQ(value(span, "Meaning"), "The training script calls it so (lockstep.phase).");
  EXPECT_EQ(titleOf(model_, add(EventKind::kUserPhase, 12345)), "user phase");
}

TEST_F(SpanNames, OfDerivedHookPhasesSayFromWhat) {
  const Span span = add(EventKind::kHookEncode, 4096, trace::kDerived);
  EXPECT_TRUE(value(span, "Meaning").startsWith("Derived: the hook does not say so itself."));
}

TEST_F(SpanNames, OfAGroupAreTheJobs) {
  trace::RunUpdate update;
  update.ranks.emplace();
  update.ranks->push_back({});
  update.ranks->front().environment[trace::kGroupPrefix + "3"] = "mesh_dp: ranks 0, 2";
  model_.applyUpdate(update);
  const Span span = add(EventKind::kCollective, trace::packCollective(9, 64),
                        trace::packOperation(trace::Operation::kAllreduce, 3));
  EXPECT_EQ(value(span, "Sequence"), "9 of group 3 (mesh_dp: ranks 0, 2)");
}

TEST_F(SpanNames, SayWhatAFaultDidToWhat) {
  EXPECT_EQ(titleOf(model_, fault(FaultKind::kDelay, 5'000'000, 500)), "fault: delay of 5.00 ms");
  EXPECT_EQ(titleOf(model_, fault(FaultKind::kStop, 0)), "fault: rank 0 stopped");
  EXPECT_EQ(titleOf(model_, fault(FaultKind::kKill, 0)), "fault: rank 0 killed");
  const Span flip = fault(FaultKind::kFlipBit, 1 << 8 | 30);
  EXPECT_EQ(titleOf(model_, flip), "fault: bit 30 of fc1.bias flipped");
  EXPECT_EQ(value(flip, "Parameter"), "fc1.bias");
  EXPECT_EQ(titleOf(model_, fault(FaultKind::kNan, 0)), "fault: NaN in the gradient of fc1.weight");
  EXPECT_EQ(titleOf(model_, fault(FaultKind::kUneven, 640)), "fault: inputs end 640 samples early");
}

TEST_F(SpanNames, NameTheParameterOfACopyUnlessItIsOfAWholeBucket) {
  const Span one = add(EventKind::kCopyIn, 1);
  EXPECT_TRUE(titleOf(model_, one).endsWith(": fc1.bias")) << titleOf(model_, one).toStdString();
  const Span all = add(EventKind::kCopyIn, 4'000'000, trace::kWholeBucket, 2'000'000);
  EXPECT_EQ(titleOf(model_, all), titleOf(model_, one).section(':', 0, 0));
  EXPECT_EQ(value(all, "Bytes"), "3.81 MiB at 1.86 GiB/s");
  EXPECT_EQ(value(all, "Parameter"), "(no such fact)");
}

TEST_F(SpanNames, GiveTheBytesThatDataParallelCopiesAndTheirSpeed) {
  EXPECT_EQ(value(add(EventKind::kReplicate, 4'000'000, 0, 2'000'000), "Bytes"),
            "3.81 MiB at 1.86 GiB/s");
}

TEST_F(SpanNames, CountTheParametersThatASearchFoundUnused) {
  EXPECT_EQ(value(add(EventKind::kSearchUnused, 1), "Unused"), "1 parameter");
  EXPECT_EQ(value(add(EventKind::kSearchUnused, 3), "Unused"), "3 parameters");
}

}  // namespace
}  // namespace lockstep::ui
