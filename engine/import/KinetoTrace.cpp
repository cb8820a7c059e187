#include "engine/import/KinetoTrace.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>

#include "engine/base/Try.h"
#include "engine/import/ByteSource.h"

namespace lockstep::imports {
namespace {

struct Dtype {
  std::string_view name;
  std::uint64_t bytes;
  std::array<std::string_view, 4> others;  // as c10d, the profiler and C++ call it
};
constexpr Dtype kDtypes[] = {
    {"float32", 4, {"Float", "float", "float32", ""}},
    {"float64", 8, {"Double", "double", "float64", ""}},
    {"float16", 2, {"Half", "c10::Half", "float16", "half"}},
    {"bfloat16", 2, {"BFloat16", "c10::BFloat16", "bfloat16", ""}},
    {"int64", 8, {"Long", "long int", "int64", "long"}},
    {"int32", 4, {"Int", "int", "int32", ""}},
    {"int16", 2, {"Short", "short int", "int16", "short"}},
    {"uint8", 1, {"Byte", "unsigned char", "uint8", ""}},
    {"int8", 1, {"Char", "signed char", "int8", ""}},
    {"bool", 1, {"Bool", "bool", "", ""}},
};

struct Named {
  std::string_view name;  // lower case, without underscores, "base", "coalesced", "tensor"
  trace::Operation operation;
};
constexpr Named kOperations[] = {
    {"allreduce", trace::Operation::kAllreduce},
    {"allgather", trace::Operation::kAllgather},
    {"allgatherinto", trace::Operation::kAllgather},
    {"reducescatter", trace::Operation::kReduceScatter},
    {"broadcast", trace::Operation::kBroadcast},
    {"reduce", trace::Operation::kReduce},
    {"gather", trace::Operation::kGather},
    {"scatter", trace::Operation::kScatter},
    {"alltoall", trace::Operation::kAlltoall},
    {"alltoallv", trace::Operation::kAlltoall},
    {"alltoallsingle", trace::Operation::kAlltoall},
    {"send", trace::Operation::kSend},
    {"recv", trace::Operation::kRecv},
    {"recvanysource", trace::Operation::kRecv},
    {"barrier", trace::Operation::kBarrier},
};

void drop(std::string& text, std::string_view part) {
  if (const auto at = text.find(part); at != std::string::npos) {
    text.erase(at, part.size());
  }
}

}  // namespace

std::string dtypeNamed(const std::string& name) {
  for (const Dtype& dtype : kDtypes) {
    if (!name.empty() &&
        std::find(dtype.others.begin(), dtype.others.end(), name) != dtype.others.end()) {
      return std::string(dtype.name);
    }
  }
  return {};
}

std::uint64_t dtypeBytes(const std::string& name) {
  for (const Dtype& dtype : kDtypes) {
    if (dtype.name == name) {
      return dtype.bytes;
    }
  }
  return 0;
}

trace::Operation operationNamed(std::string name) {
  std::string plain;
  for (const char c : name) {
    if (c != '_') {
      plain += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    }
  }
  // "_allgather_base_", "allreduce_coalesced_", "all_gather_into_tensor" mean the operation
  // without.
  for (const std::string_view part : {"base", "coalesced", "tensor"}) {
    drop(plain, part);
  }
  for (const Named& named : kOperations) {
    if (named.name == plain) {
      return named.operation;
    }
  }
  return trace::Operation::kNone;
}

void CallFacts::complete(const CallFacts& other) {
  operation = operation == trace::Operation::kNone ? other.operation : operation;
  elements = elements == 0 ? other.elements : elements;
  dtype = dtype.empty() ? other.dtype : dtype;
  if (group.empty()) {
    group = other.group;
    isDefault = other.isDefault;
  }
  sequence = sequence ? sequence : other.sequence;
  bucket = bucket ? bucket : other.bucket;
}

bool KinetoTrace::tellsTheTime() const {
  // Ten years after 1970 no profiler was running; what counts from a start is below that.
  constexpr std::int64_t kLongAgo = 315'000'000'000'000'000;
  return !isExport && firstNs + epochNs() > kLongAgo;
}

base::Result<FileKind> kindOf(const std::filesystem::path& path) {
  auto source = LOCKSTEP_TRY(ByteSource::open(path));
  std::string head(1 << 16, '\0');
  std::size_t size = 0;
  while (size < head.size()) {
    const std::size_t got = source->read(head.data() + size, head.size() - size);
    if (got == 0) {
      break;
    }
    size += got;
  }
  if (base::Status status = source->status(); !status.ok() && size == 0) {
    return status.error();
  }
  head.resize(size);
  const std::size_t first = head.find_first_not_of(" \t\r\n");
  if (first == std::string::npos) {
    return FileKind::kUnknown;
  }
  const auto holds = [&](std::string_view text) { return head.find(text) != std::string::npos; };
  constexpr unsigned char kPickleProtocol = 0x80;
  if (static_cast<unsigned char>(head[0]) == kPickleProtocol) {
    return FileKind::kFlightRecorder;
  }
  // A list: what builds without Kineto write, of events alone.
  if (head[first] == '[') {
    return holds("\"ph\"") ? FileKind::kKineto : FileKind::kUnknown;
  }
  if (head[first] != '{') {
    return FileKind::kUnknown;
  }
  // Before the others, whose words may stand in any JSON.
  if (holds("\"inspector_output_format_version\"")) {
    return FileKind::kNcclInspector;
  }
  if (holds("\"traceEvents\"") || holds("\"schemaVersion\"")) {
    return FileKind::kKineto;
  }
  return holds("\"comm_lib_version\"") || holds("\"nccl_version\"") || holds("\"pg_status\"") ||
                 holds("\"collective_seq_id\"")
             ? FileKind::kFlightRecorder
             : FileKind::kUnknown;
}

}  // namespace lockstep::imports
