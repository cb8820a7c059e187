#include "plugins/casting/CastHook.h"

using namespace lockstep::plugin;

namespace {

class Fp16 : public CastHook {
 public:
  static Description description() {
    return Description("fp16", "fp16", "1.0",
                       "Sends gradients in half precision (10 bits of mantissa): half the bytes. "
                       "Gradients beyond 65504 become infinite.")
        .caps(LOCKSTEP_CAP_SAME_RESULT | LOCKSTEP_CAP_JOIN | LOCKSTEP_CAP_INNER)
        .devices({LOCKSTEP_CPU, LOCKSTEP_CUDA})
        .meanError(5e-3);
  }

  Fp16(Host host, const Values&)
      : CastHook(host, {LOCKSTEP_F16, lockstep::kernels::kernels().toHalf,
                        lockstep::kernels::kernels().fromHalf,
                        lockstep::kernels::kernels().divideHalf}) {}
};

}  // namespace

LOCKSTEP_HOOKS(Fp16);
