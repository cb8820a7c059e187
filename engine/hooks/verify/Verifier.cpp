#include "engine/hooks/verify/Verifier.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/hooks/AllreduceHook.h"
#include "engine/hooks/HookError.h"
#include "engine/hooks/plugin/HookRefusal.h"
#include "engine/hooks/plugin/Watch.h"
#include "engine/hooks/plugin/detail/Buffers.h"
#include "engine/hooks/verify/LocalRanks.h"
#include "engine/hooks/verify/Trial.h"
#include "engine/hooks/verify/TrialPhases.h"
#include "engine/hooks/verify/TrialRecord.h"
#include "engine/plugin/PluginLibrary.h"
#include "engine/plugin/VerifyHook.h"

namespace lockstep::hooks {

namespace {

using plugin::Verification;
using process_group::CheckMode;
using Clock = std::chrono::steady_clock;

// More than the longest warm-up of the hooks that come with Lockstep: 100 steps, of onebit.
constexpr std::uint32_t kSaved = 110;  // steps before the state is saved
constexpr std::uint32_t kAfter = 12;   // and after
constexpr std::uint32_t kFew = 3;      // in which a dtype, or a rank without inputs, is tried
/// Above the limit of a call, for who waits for a rank that is in one.
constexpr std::chrono::milliseconds kGrace{1000};

/// Steps in which results are compared with the mean; the computing takes time.
bool comparesWithMean(std::uint32_t step) {
  return step < kFew || (step >= kSaved && step < kSaved + 2);
}

double seconds(std::chrono::milliseconds time) {
  return static_cast<double>(time.count()) / 1000;
}

struct Dtype {
  at::ScalarType type;
  const char* name;
};

/// Those that the hook takes, the one it is tried on first.
std::vector<Dtype> floatingDtypes(const plugin::HookInfo& info) {
  std::vector<Dtype> dtypes;
  for (const Dtype& dtype : {Dtype{at::kFloat, "float32"}, Dtype{at::kDouble, "float64"},
                             Dtype{at::kHalf, "float16"}, Dtype{at::kBFloat16, "bfloat16"}}) {
    if ((info.dtypes & (1U << detail::dtypeNumber(dtype.type))) != 0) {
      dtypes.push_back(dtype);
    }
  }
  return dtypes;
}

class Verifier {
 public:
  Verifier(const VerifierOptions& options, plugin::HookInfo info)
      : options_(options),
        info_(std::move(info)),
        watch_(options.ranks, options.timeLimit + 3 * kGrace,
               [this](int rank, const std::string& doing) {
                 tellStuck(fmt::format("hook '{}', rank {}: {}: it did not come back within {} s",
                                       info_.id, rank, doing, seconds(options_.timeLimit)));
               }),
        whole_(1, plugin::kCallsInAVerification * options.timeLimit,
               [this](int, const std::string& limit) {
                 tellStuck(fmt::format("hook '{}': the verification did not end within {}",
                                       info_.id, limit));
               }) {}

  Verification run() {
    verification_.ranks = options_.ranks;
    const auto dtypes = floatingDtypes(info_);
    if ((info_.devices & (1U << LOCKSTEP_CPU)) == 0 || dtypes.empty()) {
      problem(fmt::format("hook '{}': it takes no {}, so that nothing can be verified", info_.id,
                          dtypes.empty() ? "floating-point gradients" : "tensors on the CPU"));
      return verification_;
    }
    const Watch::Doing all(
        whole_, 0,
        fmt::format("{} s", seconds(plugin::kCallsInAVerification * options_.timeLimit)));
    if (train(dtypes.front()) && goOn(dtypes.front())) {
      for (std::size_t i = 1; i < dtypes.size(); ++i) {
        takeAFewSteps(dtypes[i], options_.ranks, fmt::format(" ({})", dtypes[i].name));
      }
      if ((info_.caps & LOCKSTEP_CAP_JOIN) != 0) {
        takeAFewSteps(dtypes.front(), options_.ranks - 1, " (with a rank without inputs)");
      }
    }
    return verification_;
  }

 private:
  void problem(std::string text) { verification_.problems.push_back(std::move(text)); }

  void tellStuck(std::string text) const {
    Verification stuck;
    stuck.ranks = options_.ranks;
    stuck.problems.push_back(std::move(text));
    options_.stuck(stuck);
  }

  using Body = std::function<void(Trial&, LocalRank&, RankRecord&)>;

  /// Runs `body` on all ranks. Returns what they recorded. When a rank failed, returns nothing and
  /// adds a problem, with `how` at the end of its sentence.
  std::optional<TrialRecord> onRanks(const Dtype& dtype, CheckMode check, const std::string& how,
                                     const Body& body, trace::Tracer* tracerOfRank0 = nullptr) {
    TrialRecord record(options_.ranks);
    LocalRanksOptions options;
    options.world = options_.ranks;
    options.choice = {options_.hook};
    options.timeout = options_.timeLimit;
    options.hookTimeout = options_.timeLimit + kGrace;
    options.check = check;
    options.tracerOfRank0 = tracerOfRank0;
    // The hook is made before there is a Trial that would watch: ended when the body begins.
    options.beforeHook = [this](int rank) { watch_.begin(rank, "create"); };
    const auto errors = runLocalRanks(options, [&](LocalRank& rank) {
      watch_.end(rank.rank);
      Trial trial(rank, watch_, {info_.id, dtype.type, options_.timeLimit + kGrace});
      body(trial, rank, record.of(rank.rank));
      rank.group->barrier()->wait();  // nobody needs the others' hooks any more
      if (!rank.hook->close()) {
        throw HookError("destroy: it did not come back within 1 s");
      }
    });
    return noteFailure(errors, how) ? std::nullopt : std::optional(std::move(record));
  }

  /// Of several ranks that failed the one that is nearest to the cause counts.
  bool noteFailure(const std::vector<std::exception_ptr>& errors, const std::string& how) {
    std::optional<TrialFailure> first;
    for (std::size_t rank = 0; rank < errors.size(); ++rank) {
      watch_.end(static_cast<int>(rank));
      if (errors[rank] == nullptr) {
        continue;
      }
      try {
        std::rethrow_exception(errors[rank]);
      } catch (const HookRefusal& refusal) {
        verification_.refusal = refusal.reason();
        return true;
      } catch (...) {
        const auto failure =
            TrialFailure::of(std::current_exception(), info_.id, static_cast<int>(rank), "");
        if (!first || failure.cause < first->cause) {
          first.emplace(failure);
        }
      }
    }
    if (first) {
      problem(first->what() + how);
    }
    return first.has_value();
  }

  /// Takes a step and compares the results with the mean over the first `active` ranks.
  static void step(Trial& trial, const LocalRank& rank, RankRecord& record, std::uint32_t number,
                   bool compare, int active) {
    const Trial::Step outcome = trial.step(number, active);
    if (rank.rank >= active) {
      return;  // the result of a rank without inputs is dropped
    }
    record.keep(number, outcome.results);
    for (std::size_t i = 0; compare && i < outcome.results.size(); ++i) {
      const auto& ids = TrialModel::buckets(Trial::layoutOf(number)).at(i);
      record.compare({number, i, rank.rank}, outcome.results[i],
                     trial.model().mean(ids, active, number));
    }
  }

  /// Trains, saves, trains on.
  bool train(const Dtype& dtype) {
    auto record =
        onRanks(dtype, CheckMode::kAlways, "", [&](Trial& trial, LocalRank& rank, RankRecord& own) {
          for (std::uint32_t number = 0; number < kSaved + kAfter; ++number) {
            if (number == kSaved) {
              own.state = trial.save(kSaved - 1);
              own.saved = trial.model().copies();
            }
            step(trial, rank, own, number, comparesWithMean(number), rank.world);
          }
          own.trained = trial.model().copies();
          trial.endOfRun(kSaved + kAfter);
          own.ended = trial.model().copies();
          own.optimizer = trial.optimizer();
          own.ownsUpdate = rank.hook->ownsUpdate();
        });
    if (!record) {
      return false;
    }
    first_ = std::move(*record);
    const RankRecord& rank0 = first_.of(0);
    verification_.optimizer = rank0.optimizer;
    verification_.ownsUpdate = rank0.ownsUpdate;
    verification_.stateBytes =
        rank0.state.empty() ? -1 : static_cast<std::int64_t>(rank0.state.size());
    verification_.gradientsSame = !first_.differenceBetweenRanks();
    verification_.parametersSame = !first_.parametersBetweenRanks(&RankRecord::ended);
    // A hook without a state has no history: its promise is of every step.
    const MeanError worst = first_.farthestFromMean(rank0.state.empty());
    verification_.meanError = worst.error;
    judgeSame(first_, "");
    judgeMean(worst, "");
    return true;
  }

  /// Of those in the steps after the state was saved.
  static std::vector<std::uint64_t> bytesOfBuckets(const Dtype& dtype) {
    const TrialModel model(dtype.type);
    std::vector<std::uint64_t> bytes;
    for (const auto& bucket : TrialModel::buckets(Trial::layoutOf(kSaved))) {
      const auto lengths = model.places(bucket).lengths;
      const auto elements = std::accumulate(lengths.begin(), lengths.end(), std::int64_t{0});
      bytes.push_back(static_cast<std::uint64_t>(elements) * c10::elementSize(dtype.type));
    }
    return bytes;
  }

  /// Loads the saved state into new hooks and takes the steps after it once more; `timed`: beside
  /// allreduces of the same, with what rank 0's hook does recorded there.
  std::optional<TrialRecord> again(const Dtype& dtype, trace::Tracer* timed) {
    const auto steps = [&](Trial& trial, LocalRank& rank, RankRecord& own) {
      const RankRecord& before = first_.of(rank.rank);
      trial.model().setTo(before.saved);
      if (!before.state.empty()) {
        trial.load(before.state, kSaved);
      }
      const auto sent = rank.sentBytes();
      for (std::uint32_t number = kSaved; number < kSaved + kAfter; ++number) {
        rank.group->barrier()->wait();  // what one rank is late is not the hook's time
        const Trial::Step outcome = trial.step(number, rank.world);
        own.keep(number, outcome.results);
        own.stepTimes.push_back(outcome.inHook);
        if (timed != nullptr) {
          own.allreduceTimes.push_back(allreduce(trial, rank, number));
        }
      }
      own.sentBytes = (rank.sentBytes() - sent) / kAfter;
      own.trained = trial.model().copies();
      trial.endOfRun(kSaved + kAfter);
    };
    return onRanks(dtype, CheckMode::kOff, "", steps, timed);
  }

  /// The engine's own allreduce of the same buckets.
  static std::chrono::nanoseconds allreduce(Trial& trial, LocalRank& rank, std::uint32_t step) {
    AllreduceHook hook(rank.group, nullptr);
    const auto& layout = TrialModel::buckets(Trial::layoutOf(step));
    std::vector<GradBucket> buckets;
    for (std::size_t i = 0; i < layout.size(); ++i) {
      buckets.push_back(
          trial.bucket(i, step, trial.model().gradients(layout[i], rank.rank, step), {}));
    }
    rank.group->barrier()->wait();
    const auto begin = Clock::now();
    std::vector<base::Future<at::Tensor>> futures;
    for (GradBucket& bucket : buckets) {
      futures.push_back(hook.run(bucket));
    }
    for (const auto& future : futures) {
      if (!future.waitFor(rank.group->timeout() + kGrace)) {
        throw HookError("the engine's own allreduce did not end");
      }
      (void)future.value();
    }
    return Clock::now() - begin;
  }

  bool goOn(const Dtype& dtype) {
    TrialPhases phases;
    const auto second = again(dtype, &phases.tracer());
    if (!second) {
      return false;
    }
    const auto bytes = bytesOfBuckets(dtype);
    phases.tell(kSaved, kSaved + kAfter, bytes, verification_);
    verification_.gradientBytes = std::accumulate(bytes.begin(), bytes.end(), std::uint64_t{0});
    verification_.elements = verification_.gradientBytes / c10::elementSize(dtype.type);
    verification_.stepMs = second->medianMs(&RankRecord::stepTimes);
    verification_.allreduceMs = second->medianMs(&RankRecord::allreduceTimes);
    verification_.sentBytes = second->mostSent();
    const auto difference = first_.differenceFrom(*second, kSaved);
    if (!difference) {
      return true;
    }
    // A third time tells whether a hook differs from run to run by itself: then nothing can be said
    // of its state.
    const auto third = again(dtype, nullptr);
    if (!third) {
      return false;
    }
    if (second->differenceFrom(*third, kSaved)) {
      verification_.notes.push_back(
          fmt::format("hook '{}': its results differ from run to run, so that it cannot be told "
                      "whether its state is complete",
                      info_.id));
    } else if (verification_.stateBytes < 0) {
      problem(
          fmt::format("hook '{}', {}: a new hook gives another result than the one that had "
                      "been trained with: it keeps something from step to step, and has no "
                      "state to save",
                      info_.id, *difference));
    } else {
      problem(
          fmt::format("hook '{}', {}: a new hook that was loaded with the state of step {} "
                      "gives another result than the one that went on: its state does not "
                      "hold all that it keeps",
                      info_.id, *difference, kSaved - 1));
    }
    return true;
  }

  /// In another dtype, or with fewer active ranks; `how` says so in sentences.
  void takeAFewSteps(const Dtype& dtype, int active, const std::string& how) {
    const auto record = onRanks(dtype, CheckMode::kAlways, how,
                                [&](Trial& trial, LocalRank& rank, RankRecord& own) {
                                  for (std::uint32_t number = 0; number < kFew; ++number) {
                                    step(trial, rank, own, number, number == 0, active);
                                  }
                                  trial.endOfRun(kFew);
                                });
    if (record) {
      judgeSame(*record, how);
      const bool half = dtype.type == at::kHalf || dtype.type == at::kBFloat16;
      if (!half) {  // which round more than a promise for others allows for
        judgeMean(record->farthestFromMean(false), how);
      }
    }
  }

  void judgeSame(const TrialRecord& record, const std::string& how) {
    if ((info_.caps & LOCKSTEP_CAP_SAME_RESULT) == 0) {
      return;
    }
    if (const auto place = record.differenceBetweenRanks()) {
      problem(
          fmt::format("hook '{}', {}: its result is not that of rank 0, and it says that all "
                      "ranks end with the same{}",
                      info_.id, *place, how));
    } else if (const auto parameter = record.parametersBetweenRanks(&RankRecord::ended)) {
      problem(
          fmt::format("hook '{}', {}: after the end of the run it is not that of rank 0, and "
                      "the hook says that all ranks end with the same{}",
                      info_.id, *parameter, how));
    }
  }

  void judgeMean(const MeanError& worst, const std::string& how) {
    if (info_.meanError >= 0 && worst.error > info_.meanError) {
      problem(
          fmt::format("hook '{}', rank {}: {}: its result is {:.2g} away from the mean, in "
                      "units of the mean's root mean square, and it promises {:.2g}{}",
                      info_.id, worst.at.rank, Trial::placeOf(worst.at.bucket, worst.at.step),
                      worst.error, info_.meanError, how));
    }
  }

  const VerifierOptions& options_;
  const plugin::HookInfo info_;
  Verification verification_;
  TrialRecord first_{0};
  Watch watch_;
  Watch whole_;  // of one "rank": all that is done
};

}  // namespace

Verification verify(const VerifierOptions& options) {
  const auto failed = [&](std::string text) {
    Verification verification;
    verification.ranks = options.ranks;
    verification.problems.push_back(std::move(text));
    return verification;
  };
  const auto library = plugin::PluginLibrary::open(options.hook.library);
  if (!library.ok()) {
    return failed(library.error().message());
  }
  const plugin::HookInfo* info = library.value()->find(options.hook.id);
  if (info == nullptr) {
    return failed(fmt::format("{} has no hook '{}'", options.hook.library, options.hook.id));
  }
  return Verifier(options, *info).run();
}

}  // namespace lockstep::hooks
