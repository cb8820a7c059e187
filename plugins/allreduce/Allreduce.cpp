#include "engine/kernels/Kernels.h"
#include "plugins/averaging/Mean.h"

using namespace lockstep::plugin;

namespace {

class Allreduce : public Hook {
 public:
  static Description description() {
    return Description("allreduce", "allreduce", "1.0",
                       "Averages each bucket over all ranks, exactly: divides, then sums.")
        .caps(LOCKSTEP_CAP_SAME_RESULT | LOCKSTEP_CAP_JOIN)
        .dtypes({LOCKSTEP_F32, LOCKSTEP_F64, LOCKSTEP_F16, LOCKSTEP_BF16})
        .devices({LOCKSTEP_CPU, LOCKSTEP_CUDA})
        .meanError(1e-6);
  }

  Allreduce(Host host, const Values&) : Hook(host) {}

  void run(Run run, Bucket bucket) {
    // Before the sum, since that of half-precision gradients over many ranks could pass what the
    // type holds, though their mean does not.
    if (bucket.onDevice()) {
      Math(host()).divide(bucket.buffer(), bucket.divisor());
    } else {
      divide(bucket);
    }
    run.allReduce(bucket.buffer(), LOCKSTEP_SUM, [run] { run.complete(); });
    run.noMore();
  }

 private:
  static void divide(const Bucket& bucket) {
    const auto& kernels = lockstep::kernels::kernels();
    switch (bucket.buffer().dtype) {
      case LOCKSTEP_F64:
        lockstep::plugin::divide(bucket.flat<double>(), bucket.divisor());
        break;
      case LOCKSTEP_F16:
        divideHalf(kernels.divideHalf, bucket);
        break;
      case LOCKSTEP_BF16:
        divideHalf(kernels.divideBfloat16, bucket);
        break;
      default:
        lockstep::plugin::divide(bucket.flat<float>(), bucket.divisor());
    }
  }
  static void divideHalf(void (*function)(std::uint16_t*, float, std::size_t), Bucket bucket) {
    const auto values = bucket.flat<std::uint16_t>();
    function(values.data(), static_cast<float>(bucket.divisor()), values.size());
  }
};

}  // namespace

LOCKSTEP_HOOKS(Allreduce);
