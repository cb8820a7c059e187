#include "tests/ui/views/divergence/DivergentRun.h"

#include "engine/trace/Event.h"
#include "tests/ui/model/DemoRun.h"

namespace lockstep::ui::test {
namespace {

void addSamples(trace::RunFileWriter& file, std::uint32_t steps, std::size_t parameters,
                bool faulty) {
  for (std::uint32_t step = 0; step <= steps; step += 10) {
    for (int rank = 0; rank < 2; ++rank) {
      trace::FingerprintMessage fingerprint;
      fingerprint.step = step;
      const bool flipped = faulty && rank == 1 && step >= kFlippedStep;
      for (std::size_t parameter = 0; parameter < parameters; ++parameter) {
        const bool bad = flipped && (parameter == kFlippedParameter || step > kFlippedStep);
        fingerprint.hashes.push_back(1000 * step + parameter + (bad ? 500 : 0));
        fingerprint.norms.push_back(bad ? 3.0 : 2.0);
      }
      fingerprint.sketch.assign(16, flipped ? 0.5 : 0.25);
      file.addFingerprint(rank, fingerprint);
      trace::GradientsMessage gradients;
      gradients.step = step;
      trace::GradientsMessage::Bucket bucket;
      bucket.norm = 0.5 + rank;
      bucket.largest = 0.1;
      if (faulty && rank == 1 && step == kNanStep) {
        bucket.nans = 3;
        bucket.parameter = 17;
      }
      gradients.buckets.push_back(bucket);
      file.addGradients(rank, gradients);
    }
  }
}

}  // namespace

base::Status writeDivergentRun(const std::filesystem::path& path, bool faulty) {
  DemoOptions options;
  trace::RunUpdate run = demoRun(options);
  for (trace::SpanRow& span : run.spans) {
    const bool call = span.kind == trace::EventKind::kCollective ||
                      span.kind == trace::EventKind::kCollectiveQueued;
    if (faulty && call && span.track >= 3 && span.step == kMismatchStep && span.bucket == 2) {
      span.detail = trace::packOperation(trace::Operation::kBroadcast);
    }
  }
  return writeRun(path, run, [&](trace::RunFileWriter& file) {
    addSamples(file, options.steps, run.parameters->size(), faulty);
  });
}

}  // namespace lockstep::ui::test
