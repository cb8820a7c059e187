#include "engine/train/Safetensors.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/engine/train/Files.h"
#include "tests/engine/train/Python.h"
#include "tests/support/TemporaryFolder.h"

namespace lockstep::train {
namespace {

using support::TemporaryFolder;
using testing::HasSubstr;

std::string file(const std::string& header, const std::string& data) {
  const std::uint64_t length = header.size();
  return std::string(reinterpret_cast<const char*>(&length), 8) + header + data;
}

std::string errorOf(const std::string& bytes) {
  const TemporaryFolder folder;
  writeFile(folder / "f", bytes);
  const auto content = readSafetensors(folder / "f");
  return content.ok() ? "no error" : content.error().what;
}

TEST(Safetensors, ComeBackAsTheyWereWritten) {
  const TemporaryFolder folder;
  Safetensors content;
  content.tensors["a"] = at::arange(6, at::kFloat).view({2, 3}).t();  // not contiguous
  content.tensors["empty"] = at::empty({0, 3});
  content.tensors["scalar"] = at::scalar_tensor(std::int64_t{1} << 40, at::kLong);
  content.tensors["half"] = at::ones({3}, at::kBFloat16);
  content.tensors["yes"] = at::ones({1}, at::kBool);
  content.metadata["note"] = "hä?";
  const auto written = writeSafetensors(folder / "f", content);
  ASSERT_TRUE(written.ok()) << written.error().message();
  const auto read = readSafetensors(folder / "f");
  ASSERT_TRUE(read.ok()) << read.error().message();
  EXPECT_EQ(read.value().metadata, content.metadata);
  ASSERT_EQ(read.value().tensors.size(), 5u);
  for (const auto& [name, tensor] : content.tensors) {
    EXPECT_EQ(read.value().tensors.at(name).scalar_type(), tensor.scalar_type()) << name;
    EXPECT_TRUE(read.value().tensors.at(name).equal(tensor)) << name;
  }
}

TEST(Safetensors, CanBeReadWithTwentyLinesOfNumpy) {
  const TemporaryFolder folder;
  Safetensors content;
  content.tensors["w"] = at::arange(6, at::kFloat).view({2, 3});
  content.tensors["n"] = at::scalar_tensor(7, at::kLong);
  content.metadata["step"] = "12";
  ASSERT_TRUE(writeSafetensors(folder / "f", content).ok());
  const auto seen = runPython(R"(
import json, struct, sys
import numpy
data = open(sys.argv[1], 'rb').read()
length, = struct.unpack('<Q', data[:8])
assert length % 8 == 0
header = json.loads(data[8:8 + length])
meta = header.pop('__metadata__')
types = {'F32': 'float32', 'I64': 'int64'}
out = {'meta': meta}
for name, t in header.items():
  begin, end = t['data_offsets']
  a = numpy.frombuffer(data[8 + length:][begin:end], types[t['dtype']]).reshape(t['shape'])
  out[name] = a.tolist()
print(json.dumps(out))
)",
                              {(folder / "f").string()});
  EXPECT_EQ(seen["w"], nlohmann::json({{0, 1, 2}, {3, 4, 5}}));
  EXPECT_EQ(seen["n"], 7);
  EXPECT_EQ(seen["meta"]["step"], "12");
}

TEST(Safetensors, LeaveTheOldFileAndNoOtherWhenWritingFails) {
  const TemporaryFolder folder;
  Safetensors content;
  content.tensors["w"] = at::ones({2});
  const auto written = writeSafetensors(folder / "no" / "f", content);
  ASSERT_FALSE(written.ok());
  EXPECT_EQ(written.error().code, base::ExitCode::kEnvironment);
  EXPECT_THAT(written.error().message(), HasSubstr("cannot write the checkpoint: No such file"));
  std::filesystem::create_directory(folder / "taken");  // a rename onto a folder fails
  EXPECT_FALSE(writeSafetensors(folder / "taken", content).ok());
  std::size_t left = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(folder.path())) {
    ++left;
  }
  EXPECT_EQ(left, 1u);
}

TEST(Safetensors, SayExpectedAndFoundBytesWhenCutOffAnywhere) {
  const TemporaryFolder folder;
  Safetensors content;
  content.tensors["w"] = at::ones({100});
  ASSERT_TRUE(writeSafetensors(folder / "f", content).ok());
  const std::string whole = readFile(folder / "f");
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_THAT(errorOf(whole.substr(0, size)), HasSubstr("cut off")) << size;
  }
  EXPECT_EQ(errorOf(whole.substr(0, whole.size() - 3)),
            "cut off: 400 bytes of tensors expected, 397 found");
  EXPECT_EQ(errorOf(whole + "x"), "too long: 400 bytes of tensors expected, 401 found");
}

TEST(Safetensors, NameTheTensorWhoseDescriptionIsDamaged) {
  const std::string data(8, 'x');
  EXPECT_EQ(errorOf(file(R"({"w":{"dtype":"F7","shape":[2],"data_offsets":[0,8]}})", data)),
            "tensor w: unknown dtype \"F7\"");
  EXPECT_EQ(errorOf(file(R"({"w":{"dtype":"F32","shape":[3],"data_offsets":[0,8]}})", data)),
            "tensor w: its shape takes 12 bytes, data_offsets [0, 8] do not");
  EXPECT_EQ(errorOf(file(R"({"w":{"dtype":"F32","shape":[-2],"data_offsets":[0,8]}})", data)),
            "tensor w: the header's shape or data_offsets are no whole numbers");
  EXPECT_EQ(errorOf(file(R"({"w":{"dtype":"F32","shape":[2]}})", data)),
            "tensor w: the header lacks its dtype, shape or data_offsets");
  EXPECT_EQ(errorOf(file(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},
                             "b":{"dtype":"U8","shape":[5],"data_offsets":[3,8]}})",
                         data)),
            "tensor b: its bytes begin at 3, the tensor before ends at 4");
  EXPECT_EQ(errorOf(file(R"({"w":{"dtype":"F64","shape":[4611686018427387904,8],)"
                         R"("data_offsets":[0,8]}})",
                         data)),
            "tensor w: the header's shape or data_offsets are no whole numbers");
  EXPECT_THAT(errorOf(file("[1,2]", data)), HasSubstr("no JSON object"));
  EXPECT_THAT(errorOf(file("{\"w\":", data)), HasSubstr("no JSON object"));
}

TEST(Safetensors, NameAFileThatIsNotThere) {
  EXPECT_EQ(readSafetensors("/no/such.safetensors").error().message(),
            "/no/such.safetensors: cannot be read; a safetensors file is needed");
}

}  // namespace
}  // namespace lockstep::train
