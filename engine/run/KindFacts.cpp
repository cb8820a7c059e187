#include "engine/run/KindFacts.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include "engine/trace/Event.h"

namespace lockstep::run {
namespace {

using Kind = trace::EventKind;
using Lane = LaneRole;
using Is = ValueIs;

constexpr std::uint8_t kNestedOperators = 12;  // that a device's own spans leave room for

// Below what a lane is about stand what other threads do, what was done on purpose, and the links
// that collectives travel on.
constexpr KindFacts kFacts[] = {
    {Kind::kStartup, Lane::kPhases, 1, Is::kOfItsOwn, kOfScript | kPhase | kApart},
    {Kind::kStep, Lane::kPhases, 0, Is::kOfItsOwn, kAnalysed | kOfScript},
    {Kind::kData, Lane::kPhases, 1, Is::kOfItsOwn, kAnalysed | kOfScript | kPhase},
    {Kind::kForward, Lane::kPhases, 1, Is::kOfItsOwn,
     kAnalysed | kWork | kByDevice | kOfScript | kPhase},
    {Kind::kBackward, Lane::kPhases, 1, Is::kOfItsOwn,
     kAnalysed | kWork | kByDevice | kOfScript | kPhase},
    {Kind::kOptimizer, Lane::kPhases, 1, Is::kOfItsOwn,
     kAnalysed | kWork | kByDevice | kOfScript | kPhase},
    {Kind::kEvaluate, Lane::kPhases, 1, Is::kOfItsOwn, kAnalysed | kOfScript | kPhase | kApart},
    {Kind::kCheckpoint, Lane::kPhases, 1, Is::kOfItsOwn, kAnalysed | kOfScript | kPhase | kApart},
    {Kind::kBroadcastBuffers, Lane::kPhases, 2, Is::kOfItsOwn, kAnalysed | kService},
    {Kind::kRebuildBuckets, Lane::kPhases, 2, Is::kOfItsOwn, kAnalysed | kService | kApart},
    {Kind::kSearchUnused, Lane::kPhases, 2, Is::kOfItsOwn, kAnalysed | kService},
    {Kind::kJoinShadow, Lane::kPhases, 1, Is::kOfItsOwn, kWaits | kPhase},
    {Kind::kSyncBatchNorm, Lane::kPhases, 2, Is::kBytes, kAnalysed | kService},
    {Kind::kZeroBroadcast, Lane::kPhases, 2, Is::kBytes, kAnalysed | kService},
    {Kind::kScatter, Lane::kPhases, 2, Is::kBytes, kAnalysed | kInFlight | kService | kCopies},
    {Kind::kReplicate, Lane::kPhases, 2, Is::kBytes, kAnalysed | kInFlight | kService | kCopies},
    // and below it, by device: RunModel.cpp
    {Kind::kParallelApply, Lane::kPhases, kOwnRow + 1, Is::kOfItsOwn, kFine},
    {Kind::kGather, Lane::kPhases, 2, Is::kBytes, kAnalysed | kInFlight | kService | kCopies},
    {Kind::kReduceGradients, Lane::kPhases, 2, Is::kBytes,
     kAnalysed | kInFlight | kService | kCopies},
    {Kind::kFingerprint, Lane::kPhases, 1, Is::kBytes, kAnalysed},
    {Kind::kOffCore, Lane::kPhases, kOwnRow, Is::kOfItsOwn, kAnalysed | kAsync | kFine},
    {Kind::kGradientReady, Lane::kGradients, 0, Is::kParameter, kAnalysed | kInstant | kFine},
    {Kind::kCopyIn, Lane::kGradients, 2, Is::kParameter, kAnalysed | kService | kCopies | kFine},
    {Kind::kBucketReady, Lane::kGradients, 1, Is::kBytes, kAnalysed | kInstant},
    {Kind::kBucketLaunched, Lane::kGradients, 1, Is::kBytes, kAnalysed | kInstant},
    {Kind::kWait, Lane::kGradients, 3, Is::kOfItsOwn,
     kAnalysed | kService | kByDevice | kWaits | kFine},
    {Kind::kCopyOut, Lane::kGradients, 3, Is::kBytes, kAnalysed | kService | kByDevice | kFine},
    {Kind::kFinalize, Lane::kGradients, 2, Is::kOfItsOwn, kAnalysed | kService | kByDevice},
    // lest they vanish among the marks of ready gradients
    {Kind::kMarkedUnused, Lane::kGradients, kOwnRow + 1, Is::kParameter,
     kAnalysed | kInstant | kFine},
    // a copy-out waits for it
    {Kind::kUsedMap, Lane::kGradients, kOwnRow, Is::kOfItsOwn, kAnalysed | kService | kWaits},
    {Kind::kBucketOptimizer, Lane::kGradients, kOwnRow, Is::kBytes, kAnalysed | kAside | kFine},
    // of a bucket that came back it lies in kFinalize
    {Kind::kGradientCheck, Lane::kGradients, 3, Is::kParameter, kAnalysed | kService | kFine},
    {Kind::kUserPhase, Lane::kPhases, 1, Is::kOfItsOwn, kOfScript | kFine},
    {Kind::kHookEncode, Lane::kHook, 0, Is::kBytes, kAnalysed | kService | kHookPhase},
    // around a step it is service, too: countedAs
    {Kind::kHookCommunicate, Lane::kHook, 0, Is::kOfItsOwn, kAnalysed | kAsync | kHookPhase},
    {Kind::kHookDecode, Lane::kHook, 0, Is::kBytes, kAnalysed | kService | kHookPhase},
    {Kind::kCollectiveQueued, Lane::kCommunication, 0, Is::kCollective,
     kAnalysed | kInstant | kOfCall},
    {Kind::kCollective, Lane::kCommunication, 1, Is::kCollective,
     kAnalysed | kInFlight | kAsync | kOfCall | kCall},
    {Kind::kChecked, Lane::kCommunication, kOwnRow, Is::kCollective,
     kAnalysed | kInFlight | kOfCall | kCall},
    {Kind::kShaped, Lane::kCommunication, kOwnRow + 1, Is::kCollective,
     kAnalysed | kInFlight | kAsync | kOfCall | kCall},
    {Kind::kNcclCall, Lane::kCommunication, kOwnRow + 2, Is::kCollective, kFine},
    {Kind::kNcclKernel, Lane::kCommunication, kOwnRow + 1, Is::kCollective, kAsync | kFine},
    {Kind::kOperator, Lane::kPhases, kOwnRow, Is::kOfItsOwn, kFine},
    {Kind::kDeviceKernel, Lane::kPhases, kOwnRow + kNestedOperators, Is::kOfItsOwn, kFine},
    {Kind::kDeviceCopy, Lane::kPhases, kOwnRow + kNestedOperators, Is::kOfItsOwn, kFine},
    {Kind::kKernels, Lane::kPhases, 1, Is::kOfItsOwn, kAnalysed | kAsync | kFine},
    {Kind::kLoss, Lane::kPhases, 1, Is::kOfItsOwn, 0},
    {Kind::kCounter, Lane::kPhases, 1, Is::kOfItsOwn, 0},
    {Kind::kGap, Lane::kPhases, 1, Is::kOfItsOwn, kAnalysed | kOfScript | kApart},
    {Kind::kFault, Lane::kPhases, kOwnRow, Is::kOfItsOwn, kAnalysed | kOfScript | kApart},
};

constexpr std::size_t kKinds = 128;

constexpr std::array<KindFacts, kKinds> kByKind = [] {
  std::array<KindFacts, kKinds> all{};
  for (const KindFacts& facts : kFacts) {
    all[static_cast<std::size_t>(facts.kind)] = facts;
  }
  return all;
}();

}  // namespace

const KindFacts& factsOf(Kind kind) {
  return kByKind[std::min(static_cast<std::size_t>(kind), kKinds - 1)];
}

double partOf(Kind kind, std::uint64_t value, double durationNs) {
  return kind == Kind::kOffCore && durationNs > 0
             ? std::clamp(static_cast<double>(value) / durationNs, 0.0, 1.0)
             : 1;
}

}  // namespace lockstep::run
