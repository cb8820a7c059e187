#include <lockstep/comm_hook.hpp>

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

}  // namespace

LOCKSTEP_HOOKS(Summing, Calling);
