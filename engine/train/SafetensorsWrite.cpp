#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <bit>
#include <cerrno>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "engine/base/posix/WriteAll.h"
#include "engine/train/Safetensors.h"
#include "engine/train/SafetensorsDtype.h"

namespace lockstep::train {
namespace {

static_assert(std::endian::native == std::endian::little);

/// A file that is removed again unless it was renamed.
class TemporaryFile {
 public:
  explicit TemporaryFile(std::string path)
      : path_(std::move(path)),
        file_(open(path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666)) {}
  ~TemporaryFile() {
    if (file_.open() && !renamed_) {
      unlink(path_.c_str());
    }
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  [[nodiscard]] bool opened() const { return file_.open(); }

  bool write(const void* data, std::size_t bytes) {
    return posix::writeAll(file_, {static_cast<const char*>(data), bytes});
  }

  bool moveTo(const std::filesystem::path& path) {
    // In this order: a name that leads to data which are not on the disk yet would be worse than
    // the old file after a crash of the machine.
    renamed_ = fsync(file_.get()) == 0 && rename(path_.c_str(), path.c_str()) == 0;
    return renamed_;
  }

 private:
  std::string path_;
  posix::Descriptor file_;
  bool renamed_ = false;
};

std::string draftOf(const std::filesystem::path& path) {
  // Beside it, on the same file system, which a rename cannot leave.
  return fmt::format("{}.{}.tmp", path.string(), getpid());
}

base::Error cannotWrite(const std::filesystem::path& path) {
  return base::systemError(base::ExitCode::kEnvironment, "cannot write the checkpoint",
                           path.string());
}

}  // namespace

base::Status checkWritable(const std::filesystem::path& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) {
    errno = EISDIR;
    return cannotWrite(path);
  }
  // Asked before the training, and not after hours of it.
  return TemporaryFile(draftOf(path)).opened() ? base::Status() : cannotWrite(path);
}

base::Status writeSafetensors(const std::filesystem::path& path, const Safetensors& content) {
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  header["__metadata__"] = content.metadata;
  std::uint64_t offset = 0;
  for (const auto& [name, tensor] : content.tensors) {
    const auto* dtype = findDtype(tensor.scalar_type());
    LOCKSTEP_CHECK(dtype != nullptr, "tensor {} has a dtype safetensors does not know: {}", name,
                   c10::toString(tensor.scalar_type()));
    header[name] = {{"dtype", dtype->name},
                    {"shape", tensor.sizes().vec()},
                    {"data_offsets", {offset, offset + tensor.nbytes()}}};
    offset += tensor.nbytes();
  }
  std::string text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');  // so that the data are aligned
  const std::uint64_t length = text.size();

  TemporaryFile file(draftOf(path));
  if (!file.opened()) {
    return cannotWrite(path);
  }
  bool ok = file.write(&length, sizeof length) && file.write(text.data(), text.size());
  for (const auto& [name, tensor] : content.tensors) {
    // One at a time: a model on a GPU need not fit the host's memory twice.
    const at::Tensor rowMajor = tensor.cpu().contiguous();
    ok = ok && file.write(rowMajor.data_ptr(), rowMajor.nbytes());
  }
  if (!ok || !file.moveTo(path)) {
    return cannotWrite(path);
  }
  return {};
}

}  // namespace lockstep::train
