#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/engine/import/TraceText.h"

namespace lockstep::imports {
namespace {

using testing::HasSubstr;

std::string complaint(const std::string& text) {
  const auto result = readText(text);
  return result.ok() ? "" : result.error().what;
}

TEST(ReadKineto, KeepsTheNanoseconds) {
  const auto trace = readText(
      R"({"traceEvents":[{"ph":"X","cat":"user_annotation","name":"ProfilerStep#3","pid":1,"tid":2,)"
      R"("ts":4655927151940.071,"dur":43.184},{"ph":"X","cat":"cpu_op","name":"x","pid":1,"tid":2,)"
      R"("ts":4655927152000,"dur":1}]})");
  ASSERT_TRUE(trace.ok()) << trace.error().message();
  ASSERT_EQ(trace.value().ops.size(), 1);
  EXPECT_EQ(trace.value().ops[0].beginNs, 4'655'927'151'940'071);
  EXPECT_EQ(trace.value().ops[0].endNs, 4'655'927'151'983'255);
  EXPECT_EQ(trace.value().ops[0].number, 3);
  EXPECT_EQ(trace.value().lastNs, 4'655'927'152'001'000);
  EXPECT_EQ(trace.value().events, 2);
}

TEST(ReadKineto, KnowsRankWorldHostAndTimeOfDay) {
  const KinetoTrace trace = readText(TraceText(3, 8, "beta", 5).op(kNode, 1, 1).text()).value();
  EXPECT_EQ(trace.rank, 3);
  EXPECT_EQ(trace.worldSize, 8);
  EXPECT_EQ(trace.hostName, "beta");
  EXPECT_EQ(trace.backend, "gloo");
  EXPECT_EQ(trace.baseNs, 5);
  EXPECT_FALSE(trace.tellsTheTime());
  EXPECT_TRUE(readText(TraceText().op(kNode, 1, 1).text()).value().tellsTheTime());
}

TEST(ReadKineto, ReadsTheListThatOldProfilersWrite) {
  const auto trace = readText(
      R"([{"name":"ProfilerStep#1","ph":"X","ts":149,"dur":6332,"tid":1,"pid":"CPU functions","args":{}}])");
  ASSERT_TRUE(trace.ok()) << trace.error().message();
  EXPECT_EQ(trace.value().ops.size(), 1);
  EXPECT_FALSE(trace.value().rank);
}

TEST(ReadKineto, TakesWhatRecordsSayOfACollective) {
  const KinetoTrace trace =
      readText(TraceText()
                   .op("record_param_comms", 5, 1,
                       R"("Collective name":"_reduce_scatter_base","In msg nelems":64,)"
                       R"("Out msg nelems":16,"dtype":"BFloat16","Seq":9,"External id":77,)"
                       R"("Process Group Name":"12","Process Group Ranks":"[0, 3]",)"
                       R"("Process Group Description":"dp")")
                   .op("record_param_comms", 8, 1, R"("Collective name":"wait")")
                   .text())
          .value();
  ASSERT_EQ(trace.comms.size(), 1);
  const CallFacts& facts = trace.comms[0].facts;
  EXPECT_EQ(facts.operation, trace::Operation::kReduceScatter);
  EXPECT_EQ(facts.elements, 16) << "one rank's part";
  EXPECT_EQ(facts.dtype, "bfloat16");
  EXPECT_EQ(facts.sequence, 9);
  EXPECT_EQ(facts.group, "12 [0, 3]");
  EXPECT_FALSE(facts.isDefault);
  EXPECT_EQ(trace.comms[0].externalId, 77);
}

TEST(ReadKineto, AddsUpTheTensorsOfAListAndKeepsTheShapeOfOne) {
  TraceText text;
  text.op("c10d::allreduce_", 1, 1,
          R"("Input Dims":[[[3,4],[5]],[7]],"Input type":["TensorList",""])");
  text.op("torch::autograd::AccumulateGrad", 2, 1,
          R"("Input Dims":[[3,4]],"Input type":["c10::Half"])");
  const KinetoTrace trace = readText(text.text()).value();
  EXPECT_EQ(trace.comms.at(0).facts.elements, 17);
  EXPECT_EQ(trace.comms.at(0).facts.dtype, "");
  EXPECT_EQ(trace.ops.at(0).shape, (std::vector<std::int64_t>{3, 4}));
  EXPECT_EQ(trace.ops.at(0).dtype, "float16");
}

TEST(ReadKineto, TellsKernelsThatCommunicateFromThoseThatCompute) {
  const std::string args = R"("stream":20,"correlation":5,"External id":6)";
  const KinetoTrace trace =
      readText(TraceText()
                   .event("kernel", "ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)", 20, 5, 2, args)
                   .event("kernel", "sgemm", 7, 5, 2, R"("stream":7,"correlation":8)")
                   .event("gpu_memcpy", "Memcpy DtoH", 7, 5, 2, R"("stream":7)")
                   .event("cuda_runtime", "cudaLaunchKernel", 1, 3, 1, R"("correlation":8)")
                   .text())
          .value();
  ASSERT_EQ(trace.kernels.size(), 2);
  EXPECT_TRUE(trace.kernels[0].communicates);
  EXPECT_EQ(trace.kernelFacts.at(0).operation, trace::Operation::kAllreduce);
  EXPECT_FALSE(trace.kernels[1].communicates);
  ASSERT_EQ(trace.launches.size(), 1);
  EXPECT_EQ(trace.launches[0].correlation, 8);
}

TEST(ReadKineto, SaysWhatIsWrongAndWhere) {
  EXPECT_THAT(complaint(R"({"traceEvents":[{"ph":"X","ts":1)"), HasSubstr("is cut off or damaged at"));
  EXPECT_THAT(complaint("{}"), HasSubstr("holds no traceEvents"));
  EXPECT_THAT(complaint(R"({"traceEvents":[]})"), HasSubstr("holds no events with a time"));
  EXPECT_THAT(complaint(R"({"traceEvents":[3]})"), HasSubstr("an event is no object"));
  EXPECT_THAT(complaint(R"({"traceEvents":[[3]]})"), HasSubstr("an event is no object"));
  const auto event = [](const std::string& fields) {
    return R"({"traceEvents":[{"ph":"X","name":"a","ts":1,"dur":1},{)" + fields + "}]}";
  };
  EXPECT_EQ(complaint(event(R"("ph":"X","name":"a","dur":1)")), "event 2: has no \"ts\"");
  EXPECT_EQ(complaint(event(R"("ph":"X","ts":"soon")")), "event 2: \"ts\" is no number");
  EXPECT_EQ(complaint(event(R"("ph":"X","ts":5,"dur":true)")), "event 2: \"dur\" is no number");
  EXPECT_EQ(complaint(event(R"("ph":"X","ts":5,"dur":-1)")), "event 2: its \"dur\" is below 0");
  EXPECT_EQ(complaint(event(R"("ph":"X","ts":-5)")), "event 2: a time that is no time");
  EXPECT_EQ(complaint(event(R"("ph":"X","ts":1e300)")), "event 2: a time that is no time");
  EXPECT_EQ(complaint(event(R"("ph":"X","ts":5,"name":7)")), "event 2: \"name\" is no text");
  EXPECT_EQ(complaint(event(R"("ph":"X","ts":5,"args":7)")), "event 2: \"args\" is no object");
  EXPECT_EQ(complaint(event(R"("ph":"X","ts":5,"name":"ProfilerStep#x")")),
            "event 2: a ProfilerStep without a number");
  EXPECT_EQ(complaint(event(R"("ph":"X","ts":[5])")),
            "event 2: a field of an event has a list for a value");
}

TEST(ReadKineto, KnowsFilesByTheirBegin) {
  const support::TemporaryFolder folder;
  const auto kind = [&](const std::string& text) {
    return kindOf(folder.write("file", text)).value();
  };
  EXPECT_EQ(kind(TraceText().text()), FileKind::kKineto);
  EXPECT_EQ(kind(R"([{"ph":"X"}])"), FileKind::kKineto);
  EXPECT_EQ(kind(R"({"comm_lib_version":"","entries":[]})"), FileKind::kFlightRecorder);
  EXPECT_EQ(kind("\x80\x02}."), FileKind::kFlightRecorder);
  EXPECT_EQ(kind("# notes"), FileKind::kUnknown);
  EXPECT_EQ(kind(R"({"a":1})"), FileKind::kUnknown);
  EXPECT_EQ(kind(""), FileKind::kUnknown);
}

}  // namespace
}  // namespace lockstep::imports
