#include "tests/golden/GoldenRun.h"

#include "engine/trace/Event.h"
#include "engine/trace/RunFile.h"
#include "engine/trace/UserPhases.h"

namespace lockstep::trace {
namespace {

constexpr std::uint64_t kStepTicks = 1'000'000;  // 0.5 ms by the clock below

// Rank 1 is on another host, whose ticks are nanoseconds and which was started 5.012 ms earlier.
constexpr std::int64_t kOtherHostNs = 5'012'000;

/// Ticks of a rank's host at the moment that the recording host calls `ticks`.
std::uint64_t ticksOf(int rank, std::uint64_t ticks) {
  return rank == 0 ? ticks : 7'000'000'000 + (ticks - 10'000'000) / 2 + kOtherHostNs;
}

std::uint64_t lengthOf(int rank, std::uint64_t ticks) {
  return rank == 0 ? ticks : ticks / 2;
}

/// Says of an event of the recording host's ticks when it was by those of the rank's host.
Event on(int rank, Event event) {
  event.startTicks = ticksOf(rank, event.startTicks);
  event.durationTicks = lengthOf(rank, event.durationTicks);
  return event;
}

Event span(EventKind kind, std::uint64_t start, std::uint64_t duration, std::uint32_t step) {
  Event event;
  event.startTicks = start;
  event.durationTicks = duration;
  event.kind = static_cast<std::uint16_t>(kind);
  event.step = step;
  return event;
}

/// One step: forward, backward with two collectives in flight, optimizer.
void addStep(RunFileWriter& writer, int rank, std::uint32_t step) {
  const std::uint64_t t0 = 10'000'000 + step * kStepTicks;
  const std::int32_t stepTrack = rank * 2;
  const std::int32_t glooTrack = rank * 2 + 1;
  const auto add = [&](std::int32_t track, const Event& event) {
    writer.addEvent(track, on(rank, event));
  };
  add(stepTrack, span(EventKind::kForward, t0, 200'000, step));
  Event ready = span(EventKind::kGradientReady, t0 + 300'000, 0, step);
  ready.bucket = 0;
  ready.value = 1;
  add(stepTrack, ready);
  for (std::uint16_t bucket = 0; bucket < 2; ++bucket) {
    Event collective =
        span(EventKind::kCollective, t0 + 300'000 + bucket * 250'000u, 200'000, step);
    collective.bucket = bucket;
    collective.detail = packOperation(Operation::kAllreduce);
    collective.value = packCollective(2 * step + bucket, bucket == 0 ? 800 : 40);
    add(glooTrack, collective);
  }
  add(stepTrack, span(EventKind::kBackward, t0 + 200'000, 600'000, step));
  add(stepTrack, span(EventKind::kOptimizer, t0 + 800'000, 150'000, step));
  add(stepTrack, span(EventKind::kStep, t0, 980'000, step));
  writer.addMetric(
      MetricRow{0, rank, "loss", step, ticksOf(rank, t0 + 900'000), 2.0 / (step + 1), rank});
}

}  // namespace

base::Status writeGoldenRun(const std::filesystem::path& path) {
  auto created = RunFileWriter::create(path);
  if (!created.ok()) {
    return created.error();
  }
  RunFileWriter& writer = *created.value();
  RunInfo info;
  info.runId = "golden-1.8";
  info.name = "golden";
  info.experimentToml = "[experiment]\nname = \"golden\"\n";
  info.state = RunState::kDiverged;
  info.exitCode = 8;
  info.driftingHook = "post_local_sgd";
  info.divergence = {2, 1, "fc.bias", "the gradient of fc.bias of rank 1 holds NaN at step 2"};
  info.startedAt = "2024-05-06T07:08:09Z";
  info.finishedAt = "2024-05-06T07:08:10Z";
  info.supervisorPid = 4242;
  info.supervisorStart = "boot/1";
  info.hostName = "golden-host";
  info.worldSize = 2;
  info.plannedSteps = 3;
  info.environment = {{"libtorch", "1.13.1"},
                      {kDetail, "steps"},
                      {kLeftOut, "steps have their phases, buckets and collectives"}};
  writer.setInfo(info);
  writer.addHost({0, "golden-host", "", "tsc"});
  writer.addHost({1, "other-host", "192.0.2.7", "monotonic"});
  writer.addClock({10'000'000, 7'000'000'000, 0.5});
  writer.addClock(1, {7'000'000'000, 7'000'000'000, 1}, {5'000'000, 250'000});
  writer.addClock(1, {7'000'000'000, 7'000'000'000, 1}, {kOtherHostNs, 31'000});
  writer.setParameters(
      {{{"fc.weight", {10, 20}, "float32", 200, 800}, {"fc.bias", {10}, "float32", 10, 40}}});
  writer.addLayout({0, 0, "construction", {{{1, 0}, {0, 64}, 864, 1 << 20, "float32"}}});
  writer.addLayout({1,
                    1,
                    "rebuild",
                    {{{0}, {0}, 800, 1 << 20, "float32"}, {{1}, {0}, 40, 25 << 20, "float32"}}});
  const std::uint64_t tokenise = userPhaseNumber("tokenise");
  for (int rank = 0; rank < 2; ++rank) {
    RankInfo facts;
    facts.rank = rank;
    facts.pid = 5000 + rank;
    facts.state = "finished";
    facts.exitCode = 0;
    facts.parameterHash = "00112233445566aa";
    facts.wireBytes = 2'520;
    facts.wireMessages = 6;
    facts.eventsDropped = static_cast<std::uint64_t>(rank) * 3;
    facts.environment = {{"threads", "1"},
                         {kUserPhasePrefix + std::to_string(tokenise), "tokenise"}};
    facts.host = rank;
    writer.setRank(facts);
    writer.addTrack({rank * 2, rank, "step"});
    writer.addTrack({rank * 2 + 1, rank, "gloo 0"});
  }
  for (std::uint32_t step = 0; step < 3; ++step) {
    addStep(writer, 0, step);
    addStep(writer, 1, step);
  }
  Event phase = span(EventKind::kUserPhase, 12'010'000, 80'000, 2);
  phase.value = tokenise;
  writer.addEvent(2, on(1, phase));
  Event shaped = span(EventKind::kShaped, 12'760'000, 40'000, 2);
  shaped.bucket = 1;
  shaped.detail = packOperation(Operation::kAllreduce);
  shaped.value = packCollective(5, 40);
  writer.addEvent(3, on(1, shaped));
  Event offCore = span(EventKind::kOffCore, 12'200'000, 300'000, 2);
  offCore.value = 90'000;
  writer.addEvent(2, on(1, offCore));
  Event fault = span(EventKind::kFault, 12'100'000, 0, 2);
  fault.detail = static_cast<std::uint16_t>(FaultKind::kFlipBit);
  fault.value = 1 << 8 | 30;
  writer.addEvent(2, on(1, fault));
  Event gap = span(EventKind::kGap, 12'990'000, 5'000, 2);
  gap.value = 3;
  writer.addEvent(2, on(1, gap));
  for (int rank = 0; rank < 2; ++rank) {
    const auto own = static_cast<std::uint64_t>(rank);
    writer.addFingerprint(rank, {2, {0xFEDC'BA98'7654'3210, own}, {1.5, 2.5}, {0.25, -4}});
    writer.addGradients(rank, {2, {{0, 3, 2, 0, 0, {}, {{2.5, 0xFEDC}}}, {1, 4, 1.5, own, 0, {}}}});
  }
  for (int rank = 0; rank < 2; ++rank) {
    // Of a host whose ticks are twice as long twice as few.
    const std::uint64_t each = rank == 0 ? 2 : 1;
    writer.addStepSums({{each * 100'000, each * 300'000, each * 75'000, each * 200'000,
                         each * 400'000, 0, 0, 0, each * 10'000},
                        0,
                        rank,
                        1,
                        KeptDetail::kPhases,
                        0});
  }
  for (std::uint32_t step = 3; step < 5; ++step) {
    const std::uint64_t more = 64 * (step - 3);
    writer.addSummedStep(
        0, span(EventKind::kStep, 10'000'000 + step * kStepTicks, 980'032, step),
        {{199'680, 600'064 + more, 149'760, 399'360, 800'000 + more, 299'520, 0, 299'520, 299'520},
         0,
         0,
         step,
         KeptDetail::kSums,
         0});
  }
  writer.writeSummedSteps();
  writer.addMetric(MetricRow{0, 0, "test_accuracy", 2, 13'000'000, 0.75});
  writer.addLog({0, -1, 9'000'000, "two ranks started"});
  writer.addProblem({0, "warning", 1, 2, "3 events were dropped"});
  return writer.finish();
}

}  // namespace lockstep::trace
