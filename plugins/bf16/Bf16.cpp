#include "plugins/casting/CastHook.h"

using namespace lockstep::plugin;

namespace {

class Bf16 : public CastHook {
 public:
  static Description description() {
    return Description("bf16", "bf16", "1.0",
                       "Sends gradients as bfloat16 (7 bits of mantissa, the range of fp32): half "
                       "the bytes.")
        .caps(LOCKSTEP_CAP_SAME_RESULT | LOCKSTEP_CAP_JOIN | LOCKSTEP_CAP_INNER)
        .devices({LOCKSTEP_CPU, LOCKSTEP_CUDA})
        .meanError(4e-2);
  }

  Bf16(Host host, const Values&)
      : CastHook(host, {LOCKSTEP_BF16, lockstep::kernels::kernels().toBfloat16,
                        lockstep::kernels::kernels().fromBfloat16,
                        lockstep::kernels::kernels().divideBfloat16}) {}
};

}  // namespace

LOCKSTEP_HOOKS(Bf16);
