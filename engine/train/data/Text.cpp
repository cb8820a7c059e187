#include "engine/train/data/ReadDatasets.h"

#include <ATen/Functions.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "engine/base/Try.h"
#include "engine/train/data/MaybeGzip.h"

namespace lockstep::train {
namespace {

constexpr std::size_t kLargestText = std::size_t{1} << 30;

class TextDataset : public Dataset {
 public:
  TextDataset(std::vector<std::uint8_t> tokens, std::int64_t context, std::int64_t vocabulary)
      : tokens_(std::move(tokens)), context_(context) {
    shape_.sample = {context};
    shape_.dtype = c10::kLong;
    shape_.classes = vocabulary;
  }

  std::int64_t size() const override {
    // One character less: the target of the last one needs a next.
    return (static_cast<std::int64_t>(tokens_.size()) - 1) / context_;
  }
  const DataShape& shape() const override { return shape_; }

  Batch batch(at::IntArrayRef indices) const override {
    const auto count = static_cast<std::int64_t>(indices.size());
    Batch batch{at::empty({count, context_}, at::kLong), at::empty({count, context_}, at::kLong)};
    auto* input = batch.input.data_ptr<std::int64_t>();
    auto* target = batch.target.data_ptr<std::int64_t>();
    for (const std::int64_t index : indices) {
      const std::uint8_t* from = tokens_.data() + index * context_;
      input = std::copy(from, from + context_, input);
      target = std::copy(from + 1, from + context_ + 1, target);
    }
    return batch;
  }

 private:
  std::vector<std::uint8_t> tokens_;
  std::int64_t context_;
  DataShape shape_;
};

}  // namespace

base::Result<Datasets> readText(const std::filesystem::path& file, std::int64_t context) {
  auto stream = MaybeGzip::open(file);
  if (!stream.ok()) {
    return stream.error().within("data.file");
  }
  const auto text = LOCKSTEP_TRY(stream.value().read(kLargestText));
  return textDatasets(text, context, file.string());
}

base::Result<Datasets> textDatasets(std::string_view text, std::int64_t context,
                                    const std::string& name) {
  // Two passes: the vocabulary is sorted, so that one text gives the same numbers everywhere.
  std::array<bool, 256> occurs{};
  for (const char c : text) {
    occurs[static_cast<std::uint8_t>(c)] = true;
  }
  std::array<std::uint8_t, 256> token{};
  std::int64_t vocabulary = 0;
  for (std::size_t c = 0; c < 256; ++c) {
    token[c] = static_cast<std::uint8_t>(vocabulary);
    vocabulary += occurs[c] ? 1 : 0;
  }
  const std::size_t testLength = text.size() / 10;
  if (static_cast<std::int64_t>(testLength) < context + 1) {
    return base::Error{
        base::ExitCode::kBadInput,
        fmt::format("data.file: {} characters; with model.context {} at least {} are "
                    "needed",
                    text.size(), context, 10 * (context + 1)),
        name};
  }
  std::vector<std::uint8_t> tokens(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    tokens[i] = token[static_cast<std::uint8_t>(text[i])];
  }
  const auto split = tokens.end() - static_cast<std::ptrdiff_t>(testLength);
  Datasets sets;
  sets.test = std::make_shared<TextDataset>(std::vector<std::uint8_t>(split, tokens.end()), context,
                                            vocabulary);
  tokens.erase(split, tokens.end());
  sets.train = std::make_shared<TextDataset>(std::move(tokens), context, vocabulary);
  return sets;
}

}  // namespace lockstep::train
