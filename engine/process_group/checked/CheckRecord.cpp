#include "engine/process_group/checked/CheckRecord.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <numeric>
#include <utility>

#include "engine/base/NumberText.h"
#include "engine/process_group/Majority.h"
#include "engine/process_group/Mismatch.h"

namespace lockstep::process_group::checked {
namespace {

std::uint64_t pairHash(int from, int to, std::uint64_t bytes) {
  return mix(mix(static_cast<std::uint64_t>(from) << 32 | static_cast<std::uint32_t>(to), bytes),
             1);
}

std::string bucketText(std::uint32_t bucket) {
  return bucket == trace::kNoBucket ? "none" : fmt::format("{}", bucket);
}

// What is compared, and shown where it can be.
std::string value(Field field, const CheckRecord& record) {
  switch (field) {
    case Field::kVersion: return fmt::format("{}", record.version);
    case Field::kSequence: return fmt::format("{}", record.sequence);
    case Field::kOperation:
      return std::string(trace::name(static_cast<trace::Operation>(record.operation)));
    case Field::kReduce: return std::string(name(static_cast<ReduceOp>(record.reduce)));
    case Field::kRoot: return fmt::format("rank {}", record.root);
    case Field::kBucket: return bucketText(record.bucket);
    case Field::kTensorCount: return fmt::format("{}", record.tensors);
    case Field::kDtype: return dtypeName(static_cast<c10::ScalarType>(record.dtype));
    case Field::kElements: return fmt::format("{}", record.elements);
    case Field::kDtypes: return fmt::format("{:x}", record.layout);
    case Field::kShape: return fmt::format("{:x}", record.shapes);
    case Field::kSplits:
    case Field::kNone: break;
  }
  return {};
}

std::string_view title(Field field) {
  switch (field) {
    case Field::kVersion: return "the version of the check";
    case Field::kSequence: return "the sequence number";
    case Field::kOperation: return "the operation";
    case Field::kReduce: return "the reduce operation";
    case Field::kRoot: return "the root";
    case Field::kBucket: return "the bucket";
    case Field::kTensorCount: return "the number of tensors";
    case Field::kDtype: return "the dtype";
    case Field::kElements: return "the number of elements";
    case Field::kDtypes: return "the list of dtypes";
    case Field::kShape: return "the shape";
    case Field::kSplits: return "the split sizes";
    case Field::kNone: break;
  }
  return "nothing";
}

bool differs(Field field, const std::vector<CheckRecord>& records) {
  if (field == Field::kSplits) {
    // Not equal on all ranks: what one sends another expects. So sums are compared: each pair's
    // hash is added by the sender and taken off by the receiver.
    return std::accumulate(records.begin(), records.end(), std::uint64_t{0},
                           [](std::uint64_t sum, const CheckRecord& record) {
                             return sum + record.splits;
                           }) != 0;
  }
  return std::any_of(records.begin(), records.end(), [&](const CheckRecord& record) {
    return value(field, record) != value(field, records.front());
  });
}

// Which of two parts of a call's split list, "4, 6 | 5, 5".
std::vector<std::uint64_t> splitList(const std::string& text, bool expected) {
  const std::size_t bar = text.find('|');
  if (bar == std::string::npos) {
    return {};
  }
  std::vector<std::uint64_t> numbers;
  const std::string part = expected ? text.substr(bar + 1) : text.substr(0, bar);
  for (std::size_t begin = 0; begin < part.size();) {
    const std::size_t comma = std::min(part.find(',', begin), part.size());
    numbers.push_back(std::strtoull(part.c_str() + begin, nullptr, 10));
    begin = comma + 1;
  }
  return numbers;
}

// "sum on ranks 0, 2 and max on rank 1": ranks with one value together, in the order of their
// first, each value as the first of them shows it.
std::string byValue(const std::vector<std::string>& values, const std::vector<std::string>& shown) {
  std::vector<std::vector<std::size_t>> groups;
  for (std::size_t rank = 0; rank < values.size(); ++rank) {
    const auto found = std::find_if(groups.begin(), groups.end(), [&](const auto& group) {
      return values[group.front()] == values[rank];
    });
    (found == groups.end() ? groups.emplace_back() : *found).push_back(rank);
  }
  std::string text;
  for (const auto& ranks : groups) {
    text += fmt::format("{}{} on {}", text.empty() ? "" : " and ", shown[ranks.front()],
                        base::ranksText({ranks.begin(), ranks.end()}));
  }
  return text;
}

struct Pair {
  int sender = -1;
  int receiver = -1;
  std::uint64_t sent = 0;
  std::uint64_t expected = 0;
};

// The first two ranks that do not agree; no sender when the lists were cut before them.
Pair differingPair(const std::vector<std::string>& details) {
  const auto ranks = static_cast<int>(details.size());
  for (int sender = 0; sender < ranks; ++sender) {
    const auto sent = splitList(details[static_cast<std::size_t>(sender)], false);
    for (int receiver = 0; receiver < ranks; ++receiver) {
      const auto expected = splitList(details[static_cast<std::size_t>(receiver)], true);
      const auto to = static_cast<std::size_t>(receiver);
      const auto from = static_cast<std::size_t>(sender);
      if (to < sent.size() && from < expected.size() && sent[to] != expected[from]) {
        return {sender, receiver, sent[to], expected[from]};
      }
    }
  }
  return {};
}

}  // namespace

CheckRecord makeRecord(const Call& call, int rank) {
  CheckRecord record;
  record.operation = static_cast<std::uint8_t>(call.operation);
  record.reduce = reduces(call.operation) ? static_cast<std::uint8_t>(call.reduce) : 0;
  record.dtype = static_cast<std::int8_t>(call.dtype);
  record.root = call.root;
  record.bucket = call.options.bucket;
  record.tensors = call.tensors;
  record.step = call.options.step;
  record.sequence = call.sequence;
  if (call.operation != trace::Operation::kAlltoall) {
    // Sizes of an alltoall differ between ranks by right; only pairs must agree.
    record.elements = call.elements;
    record.layout = call.layout;
    record.shapes = call.shapes;
    return record;
  }
  for (std::size_t other = 0; other < call.bytesTo.size(); ++other) {
    const int peer = static_cast<int>(other);
    record.splits += pairHash(rank, peer, call.bytesTo[other]);
    record.splits -= pairHash(peer, rank, call.bytesFrom[other]);
  }
  return record;
}

Field firstDifference(const std::vector<CheckRecord>& records) {
  // From the general to the special: of a call with another operation nothing else is worth saying.
  for (const Field field :
       {Field::kVersion, Field::kSequence, Field::kOperation, Field::kReduce, Field::kRoot,
        Field::kBucket, Field::kTensorCount, Field::kDtype, Field::kElements, Field::kDtypes,
        Field::kShape, Field::kSplits}) {
    if (differs(field, records)) {
      return field;
    }
  }
  return Field::kNone;
}

bool needsDetails(Field field) {
  switch (field) {
    case Field::kNone:
    case Field::kVersion:
    case Field::kSequence:
    case Field::kReduce:
    case Field::kRoot:
      return false;
    default:
      return true;
  }
}

std::string details(Field field, const Call& call, const std::vector<at::Tensor>& tensors,
                    std::size_t limit) {
  std::string text;
  if (field == Field::kSplits) {
    text = fmt::format("{} | {}", fmt::join(call.bytesTo, ", "), fmt::join(call.bytesFrom, ", "));
  } else {
    text = tensors.empty() ? "none" : "";
    // No further than fits.
    for (std::size_t i = 0; i < tensors.size() && text.size() <= limit; ++i) {
      const at::Tensor& tensor = tensors[i];
      text += fmt::format("{}{} [{}]", i == 0 ? "" : ", ", dtypeName(tensor.scalar_type()),
                          fmt::join(tensor.sizes(), ", "));
      // Once for all that follow each other on it.
      if (i + 1 == tensors.size() || tensors[i + 1].device() != tensor.device()) {
        text += fmt::format(" ({})", tensor.device().str());
      }
    }
  }
  if (text.size() > limit) {
    text.resize(limit - 3);
    text += "...";
  }
  return text;
}

std::string describeDifference(Field field, const std::vector<CheckRecord>& records,
                               const std::vector<std::string>& details) {
  if (field == Field::kSplits) {
    const Pair pair = differingPair(details);
    if (pair.sender < 0) {
      return std::string(kNotTheSameCall) + "the split sizes of two ranks do not fit";
    }
    return unlikePartsText(pair.sender, pair.sent, pair.receiver, pair.expected);
  }
  std::vector<std::string> values;
  for (const CheckRecord& record : records) {
    values.push_back(value(field, record));
  }
  // Records have hashes of these, which say nothing; words were gathered in their place.
  if (field == Field::kDtypes || field == Field::kShape) {  // hashes in the records
    return fmt::format("{}{} is {}", kNotTheSameCall, title(field), byValue(values, details));
  }
  std::string text =
      fmt::format("{}{} is {}", kNotTheSameCall, title(field), byValue(values, values));
  // Where all wrote the same words there is nothing to add.
  if (needsDetails(field) &&
      std::adjacent_find(details.begin(), details.end(), std::not_equal_to<>()) != details.end()) {
    text += "; the tensors are " + byValue(details, details);
  }
  return text;
}

std::vector<int> differingRanks(Field field, const std::vector<CheckRecord>& records,
                                const std::vector<std::string>& details) {
  if (field == Field::kSplits) {
    const Pair pair = differingPair(details);
    return pair.sender < 0 ? std::vector<int>{}
                           : std::vector{std::min(pair.sender, pair.receiver),
                                         std::max(pair.sender, pair.receiver)};
  }
  std::vector<std::pair<int, std::uint64_t>> values;
  for (std::size_t rank = 0; rank < records.size(); ++rank) {
    // Votes are numbers; values with one text are one.
    values.emplace_back(static_cast<int>(rank),
                        std::hash<std::string>()(value(field, records[rank])));
  }
  return outvoted(values, static_cast<int>(records.size()));
}

int differingPeer(Field field, const std::vector<CheckRecord>& records,
                  const std::vector<std::string>& details, int rank) {
  if (field == Field::kSplits) {
    const Pair pair = differingPair(details);
    return pair.sender == rank ? pair.receiver : pair.sender;
  }
  const std::string mine = value(field, records[static_cast<std::size_t>(rank)]);
  for (std::size_t other = 0; other < records.size(); ++other) {
    if (value(field, records[other]) != mine) {
      return static_cast<int>(other);
    }
  }
  return -1;
}

}  // namespace lockstep::process_group::checked
