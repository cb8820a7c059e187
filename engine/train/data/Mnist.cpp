#include "engine/train/data/ReadDatasets.h"

#include <ATen/Functions.h>
#include <fmt/format.h>

#include "engine/base/Try.h"
#include "engine/train/data/Idx.h"

namespace lockstep::train {
namespace {

namespace fs = std::filesystem;

class PictureDataset : public Dataset {
 public:
  /// pictures: uint8 [N, H, W]; labels: int64 [N].
  PictureDataset(at::Tensor pictures, at::Tensor labels, std::int64_t classes)
      : pictures_(std::move(pictures)), labels_(std::move(labels)) {
    shape_.sample = {1, pictures_.size(1), pictures_.size(2)};
    shape_.classes = classes;
  }

  std::int64_t size() const override { return pictures_.size(0); }
  const DataShape& shape() const override { return shape_; }

  Batch batch(at::IntArrayRef indices) const override {
    const at::Tensor rows = at::tensor(indices, at::kLong);
    // The operations of torchvision's ToTensor and Normalize, in their order.
    at::Tensor input = pictures_.index_select(0, rows).unsqueeze(1).to(at::kFloat).div_(255);
    input.sub_(0.1307f).div_(0.3081f);
    return {std::move(input), labels_.index_select(0, rows)};
  }

 private:
  at::Tensor pictures_;
  at::Tensor labels_;
  DataShape shape_;
};

base::Result<at::Tensor> readPart(const fs::path& folder, const std::string& name, int dimensions) {
  const fs::path plain = folder / name;
  const fs::path packed = folder / (name + ".gz");
  std::error_code ignored;
  if (fs::exists(plain, ignored)) {
    return readIdx(plain, dimensions);
  }
  if (fs::exists(packed, ignored)) {
    return readIdx(packed, dimensions);
  }
  return base::Error{base::ExitCode::kBadInput,
                     "data.folder: has neither " + name + " nor " + name + ".gz", folder.string()};
}

struct Part {
  at::Tensor pictures;
  at::Tensor labels;
};

base::Result<Part> readPair(const fs::path& folder, const std::string& prefix) {
  auto pictures = LOCKSTEP_TRY(readPart(folder, prefix + "-images-idx3-ubyte", 3));
  const auto labels = LOCKSTEP_TRY(readPart(folder, prefix + "-labels-idx1-ubyte", 1));
  if (pictures.size(0) != labels.size(0)) {
    return base::Error{base::ExitCode::kBadInput,
                       fmt::format("data.folder: {} {} pictures, but {} labels", pictures.size(0),
                                   prefix, labels.size(0)),
                       folder.string()};
  }
  return Part{std::move(pictures), labels.to(at::kLong)};
}

}  // namespace

base::Result<Datasets> readMnist(const fs::path& folder) {
  std::error_code ignored;
  if (!fs::is_directory(folder, ignored)) {
    return base::Error{base::ExitCode::kBadInput, "data.folder: no such folder", folder.string()};
  }
  const Part train = LOCKSTEP_TRY(readPair(folder, "train"));
  const Part test = LOCKSTEP_TRY(readPair(folder, "t10k"));
  if (train.pictures.sizes().slice(1) != test.pictures.sizes().slice(1)) {
    return base::Error{base::ExitCode::kBadInput,
                       fmt::format("data.folder: training pictures are {}x{}, test pictures {}x{}",
                                   train.pictures.size(1), train.pictures.size(2),
                                   test.pictures.size(1), test.pictures.size(2)),
                       folder.string()};
  }
  const std::int64_t classes =
      1 + std::max(train.labels.max().item<std::int64_t>(), test.labels.max().item<std::int64_t>());
  Datasets sets;
  sets.train = std::make_shared<PictureDataset>(train.pictures, train.labels, classes);
  sets.test = std::make_shared<PictureDataset>(test.pictures, test.labels, classes);
  return sets;
}

}  // namespace lockstep::train
