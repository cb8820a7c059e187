#include <lockstep/comm_hook.hpp>

using namespace lockstep::plugin;

namespace {

class Noop : public Hook {
 public:
  static Description description() {
    return Description("noop", "no communication", "1.0",
                       "Communicates nothing: each rank keeps its own gradients, and the replicas "
                       "drift apart. Its step time is the bound that no hook can beat.")
        .caps(LOCKSTEP_CAP_LOCAL_RESULT | LOCKSTEP_CAP_JOIN)
        .dtypes({LOCKSTEP_F32, LOCKSTEP_F64, LOCKSTEP_F16, LOCKSTEP_BF16})
        .devices({LOCKSTEP_CPU, LOCKSTEP_CUDA});
  }

  Noop(Host host, const Values&) : Hook(host) {}

  [[nodiscard]] bool replicasDrift() const noexcept { return true; }

  void run(Run run, Bucket) { run.complete(); }
};

}  // namespace

LOCKSTEP_HOOKS(Noop);
