#include <cstdint>
#include <lockstep/comm_hook.hpp>
#include <utility>

using namespace lockstep::plugin;

namespace {

void divide(const Bucket& bucket) {
  for (float& value : bucket.flat()) {
    value /= static_cast<float>(bucket.divisor());
  }
}

/// Forgets to divide.
class Summing : public Hook {
 public:
  static Description description() {
    return Description("summing", "summing", "1.0", "Adds up, and does not divide.");
  }

  Summing(Host host, const Values&) : Hook(host) {}

  void run(Run run, Bucket bucket) {
    run.allReduce(bucket.buffer(), LOCKSTEP_SUM, [run] { run.complete(); });
    run.noMore();
  }
};

/// Averages, but for bucket 1 rank 1 asks once more than the others do, from step 20 on.
class Calling : public Hook {
 public:
  static Description description() {
    return Description("calling", "calling", "1.0", "Makes a call too many on rank 1.");
  }

  Calling(Host host, const Values&) : Hook(host), calls_(host.rank() == 1) {}

  void run(Run run, Bucket bucket) {
    divide(bucket);
    const bool again = calls_ && bucket.index() == 1 && bucket.step() >= 20;
    run.allReduce(bucket.buffer(), LOCKSTEP_SUM, [run, bucket, again] {
      if (again) {
        run.allReduce(bucket.buffer(), LOCKSTEP_SUM, [run] { run.complete(); });
      } else {
        run.complete();
      }
    });
  }

 private:
  const bool calls_;
};

/// Averages each half of a bucket by itself. From step 20 on rank 1 asks for those of bucket 1 in
/// the other order: the calls are of one size, so that none of them looks wrong.
class Swapping : public Hook {
 public:
  static Description description() {
    return Description("swapping", "swapping", "1.0", "Swaps two calls of one size on rank 1.");
  }

  Swapping(Host host, const Values&) : Hook(host), swaps_(host.rank() == 1) {}

  void run(Run run, Bucket bucket) {
    divide(bucket);
    const std::int64_t half = bucket.numel() / 2;
    lockstep_buffer first = part(bucket.buffer(), 0, half);
    lockstep_buffer second = part(bucket.buffer(), half, bucket.numel() - half);
    if (swaps_ && bucket.index() == 1 && bucket.step() >= 20 && first.numel == second.numel) {
      std::swap(first, second);
    }
    run.allReduce(first, LOCKSTEP_SUM, [run, second] {
      run.allReduce(second, LOCKSTEP_SUM, [run] { run.complete(); });
    });
  }

 private:
  const bool swaps_;
};

}  // namespace

LOCKSTEP_HOOKS(Summing, Calling, Swapping);
