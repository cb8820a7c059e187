// Times the kernels of compression beside a plain copy of the same gradients, on one thread.
//
//   bench_kernels [ROUNDS]
//
// A line of JSON for each kernel and each set of instructions that this processor has:
// {"kernel", "set", "bytes", "kernel_ms": [...], "copy_ms": [...]}, a time a round. In each round
// every set's kernel is followed by a copy, or a copy by the kernel in every other, so that what
// else the machine does falls on both alike. Times are of the processor, not of the clock.

#include <time.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <nlohmann/json.hpp>
#include <random>
#include <vector>

#include "engine/kernels/Kernels.h"
#include "plugins/selection/Largest.h"

namespace {

using lockstep::kernels::Kernels;

constexpr std::size_t kBytes = std::size_t{25} << 20;  // a bucket's cap, as DDP has it
constexpr std::size_t kNumbers = kBytes / sizeof(float);
constexpr std::size_t kKept = kNumbers / 100;

/// What the kernels read and write; all of it has been touched.
struct Buffers {
  std::vector<float> gradients = std::vector<float>(kNumbers);
  std::vector<float> numbers = std::vector<float>(kNumbers);
  std::vector<std::uint16_t> halves = std::vector<std::uint16_t>(kNumbers);
  std::vector<std::uint16_t> otherHalves = std::vector<std::uint16_t>(kNumbers);
  std::vector<std::uint8_t> bytes = std::vector<std::uint8_t>(kNumbers);
  std::size_t kept = 0;

  Buffers() {
    std::mt19937 random(1);
    std::normal_distribution<float> normal(0, 1e-3F);
    std::generate(gradients.begin(), gradients.end(), [&] { return normal(random); });
    lockstep::kernels::kernels().toHalf(gradients.data(), otherHalves.data(), kNumbers);
  }
};

void encodeInt8(const Kernels& k, Buffers& b) {
  float least = 0;
  float greatest = 0;
  k.range(b.gradients.data(), kNumbers, &least, &greatest);
  const float scale = (greatest - least) / 255;
  k.quantize(b.gradients.data(), b.bytes.data(), kNumbers, 1 / scale,
             std::nearbyint(-least / scale));
}

/// In blocks with a norm of their own.
void encodeQsgd(const Kernels& k, Buffers& b) {
  constexpr std::size_t kBlock = 512;
  static_assert(kNumbers % kBlock == 0);
  auto* out = reinterpret_cast<std::int8_t*>(b.bytes.data());
  for (std::size_t first = 0; first < kNumbers; first += kBlock) {
    const float* in = b.gradients.data() + first;
    const auto norm = static_cast<float>(std::sqrt(k.dot(in, in, kBlock)));
    k.quantizeAtRandom(in, out + first, kBlock, 127 / norm, 127, static_cast<std::uint32_t>(first));
  }
}

struct Case {
  const char* name;
  void (*run)(const Kernels&, Buffers&);
};

/// What is decoded stands where the case before it has encoded it.
constexpr Case kCases[] = {
    {"fp16_encode",
     [](const Kernels& k, Buffers& b) { k.toHalf(b.gradients.data(), b.halves.data(), kNumbers); }},
    {"fp16_decode",
     [](const Kernels& k, Buffers& b) { k.fromHalf(b.halves.data(), b.numbers.data(), kNumbers); }},
    {"fp16_sum",
     [](const Kernels& k, Buffers& b) {
       const void* const sources[] = {b.halves.data(), b.otherHalves.data()};
       k.sumHalf(sources, 2, b.halves.data(), kNumbers, 1);
     }},
    {"bf16_encode",
     [](const Kernels& k, Buffers& b) {
       k.toBfloat16(b.gradients.data(), b.halves.data(), kNumbers);
     }},
    {"bf16_decode",
     [](const Kernels& k, Buffers& b) {
       k.fromBfloat16(b.halves.data(), b.numbers.data(), kNumbers);
     }},
    {"bf16_sum",
     [](const Kernels& k, Buffers& b) {
       const void* const sources[] = {b.halves.data(), b.otherHalves.data()};
       k.sumBfloat16(sources, 2, b.halves.data(), kNumbers, 1);
     }},
    {"int8_encode", encodeInt8},
    {"int8_decode",
     [](const Kernels& k, Buffers& b) {
       k.addQuantized(b.bytes.data(), b.numbers.data(), kNumbers, 1e-5F, 128);
     }},
    {"qsgd_encode", encodeQsgd},
    {"qsgd_decode",
     [](const Kernels& k, Buffers& b) {
       k.addLevels(reinterpret_cast<const std::int8_t*>(b.bytes.data()), b.numbers.data(), kNumbers,
                   1e-5F);
     }},
    {"sign_pack", [](const Kernels& k,
                     Buffers& b) { k.packSigns(b.gradients.data(), b.bytes.data(), kNumbers); }},
    {"sign_add", [](const Kernels& k,
                    Buffers& b) { k.addSigns(b.bytes.data(), b.numbers.data(), kNumbers, 1e-3F); }},
    {"topk_select",
     [](const Kernels& k, Buffers& b) {
       b.kept = lockstep::plugin::largest(b.gradients, kKept, k).size();
     }},
};

/// Of this thread alone: what else the core does in between is not counted.
double threadMs() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) * 1e-6;
}

template <typename Function>
double millisecondsOf(Function function) {
  const double start = threadMs();
  function();
  return threadMs() - start;
}

void measure(const Case& kernel, const std::vector<const Kernels*>& sets, Buffers& buffers,
             int rounds) {
  std::vector<std::vector<double>> kernelMs(sets.size());
  std::vector<std::vector<double>> copyMs(sets.size());
  const auto copy = [&] { std::memcpy(buffers.numbers.data(), buffers.gradients.data(), kBytes); };
  for (int round = -1; round < rounds; ++round) {  // the first warms up
    for (std::size_t i = 0; i < sets.size(); ++i) {
      double times[2] = {0, 0};
      for (const int turn : {round & 1, ~round & 1}) {
        times[turn] = turn == 0 ? millisecondsOf([&] { kernel.run(*sets[i], buffers); })
                                : millisecondsOf(copy);
      }
      if (round >= 0) {
        kernelMs[i].push_back(times[0]);
        copyMs[i].push_back(times[1]);
      }
    }
  }
  for (std::size_t i = 0; i < sets.size(); ++i) {
    std::cout << nlohmann::json{{"kernel", kernel.name},
                                {"set", sets[i]->name},
                                {"bytes", kBytes},
                                {"kernel_ms", kernelMs[i]},
                                {"copy_ms", copyMs[i]}}
                     .dump()
              << std::endl;
  }
}

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 30;
  if (argc > 2 || rounds < 1) {
    std::fprintf(stderr, "usage: bench_kernels [ROUNDS]   (30 if not given)\n");
    return 2;
  }
  std::vector<const Kernels*> sets;
  for (const auto find : {lockstep::kernels::baselineKernels, lockstep::kernels::avx2Kernels,
                          lockstep::kernels::avx512Kernels}) {
    if (const Kernels* set = find(); set != nullptr) {
      sets.push_back(set);
    }
  }
  Buffers buffers;
  for (const Case& kernel : kCases) {
    measure(kernel, sets, buffers, rounds);
  }
  return 0;
}
