#include "engine/import/Pickle.h"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <cstdint>
#include <string_view>
#include <unordered_map>

#include "engine/import/PickleStack.h"

namespace lockstep::imports {
namespace {

using base::Error;
using base::ExitCode;

/// The names of pickletools, for what is refused; empty: no opcode at all. Those up to BINPERSID
/// may call something; the others are of old protocols, or build what no dump has.
std::string nameOf(unsigned char opcode) {
  static const std::unordered_map<unsigned char, std::string> kNames = {{'c', "GLOBAL"},
                                                                        {'R', "REDUCE"},
                                                                        {'b', "BUILD"},
                                                                        {'i', "INST"},
                                                                        {'o', "OBJ"},
                                                                        {0x81, "NEWOBJ"},
                                                                        {0x92, "NEWOBJ_EX"},
                                                                        {0x93, "STACK_GLOBAL"},
                                                                        {0x82, "EXT1"},
                                                                        {0x83, "EXT2"},
                                                                        {0x84, "EXT4"},
                                                                        {'P', "PERSID"},
                                                                        {'Q', "BINPERSID"},
                                                                        {0x97, "NEXT_BUFFER"},
                                                                        {0x98, "READONLY_BUFFER"},
                                                                        {0x8F, "EMPTY_SET"},
                                                                        {0x90, "ADDITEMS"},
                                                                        {0x91, "FROZENSET"},
                                                                        {0x96, "BYTEARRAY8"},
                                                                        {'I', "INT"},
                                                                        {'L', "LONG"},
                                                                        {'F', "FLOAT"},
                                                                        {'S', "STRING"},
                                                                        {'V', "UNICODE"},
                                                                        {'T', "BINSTRING"},
                                                                        {'U', "SHORT_BINSTRING"},
                                                                        {'d', "DICT"},
                                                                        {'l', "LIST"},
                                                                        {'g', "GET"},
                                                                        {'p', "PUT"}};
  const auto found = kNames.find(opcode);
  return found == kNames.end() ? "" : found->second;
}

class Reader {
 public:
  explicit Reader(std::span<const char> bytes) : bytes_(bytes) {}

  base::Result<nlohmann::json> read(const std::string& where) {
    while (stack_.problem().empty() && !stopped_) {
      opcodeAt_ = at_;
      // At the end of the bytes this refuses, and the loop ends: a pickle ends with STOP.
      const auto opcode = static_cast<unsigned char>(number<std::uint8_t>());
      if (stack_.problem().empty()) {
        step(opcode);
      }
    }
    nlohmann::json made = stack_.build();
    if (!stack_.problem().empty()) {
      return Error{
          ExitCode::kBadInput,
          fmt::format("is no pickle that can be read: {} at byte {}", stack_.problem(), opcodeAt_),
          where};
    }
    return made;
  }

 private:
  std::string_view take(std::uint64_t size) {
    if (size > bytes_.size() - at_) {
      stack_.refuse("it is cut off");
      at_ = bytes_.size();
      return {};
    }
    const std::string_view text(bytes_.data() + at_, static_cast<std::size_t>(size));
    at_ += static_cast<std::size_t>(size);
    return text;
  }

  template <typename Number>
  Number number() {
    const std::string_view text = take(sizeof(Number));
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
      value |= static_cast<std::uint64_t>(static_cast<unsigned char>(text[i])) << (8 * i);
    }
    return static_cast<Number>(value);
  }

  void push(const auto& value) { stack_.push(nlohmann::json(value)); }
  void text(std::uint64_t size) { push(std::string(take(size))); }
  void blob(std::uint64_t size) {
    const std::string_view bytes = take(size);
    stack_.push(nlohmann::json::binary({bytes.begin(), bytes.end()}));
  }

  void longNumber(std::uint64_t size) {
    const std::string_view digits = take(size);
    // Two's complement of any length, the lowest byte first. Sequence numbers and times fit.
    if (digits.size() > sizeof(std::int64_t)) {
      stack_.refuse("a number has more than 64 bits");
      return;
    }
    // The sign fills the bytes that are not written.
    std::uint64_t value = !digits.empty() && (digits.back() & 0x80) != 0 ? ~std::uint64_t{0} : 0;
    for (std::size_t i = 0; i < digits.size(); ++i) {
      value &= ~(std::uint64_t{0xFF} << (8 * i));
      value |= static_cast<std::uint64_t>(static_cast<unsigned char>(digits[i])) << (8 * i);
    }
    stack_.push(nlohmann::json(static_cast<std::int64_t>(value)));
  }

  /// BINFLOAT: the high byte first.
  double real() {
    std::uint64_t bits = 0;
    for (const char c : take(sizeof(double))) {
      bits = bits << 8 | static_cast<unsigned char>(c);
    }
    return std::bit_cast<double>(bits);
  }

  void checkProtocol() {
    if (const auto protocol = number<std::uint8_t>(); protocol < 2 || protocol > 5) {
      stack_.refuse(fmt::format("protocol {}", protocol));
    }
  }

  struct Step {
    unsigned char opcode;
    void (*take)(Reader&);
  };
  using u8 = std::uint8_t;
  using u16 = std::uint16_t;
  using u32 = std::uint32_t;
  using u64 = std::uint64_t;

  void step(unsigned char opcode) {
    static constexpr Step kSteps[] = {
        {0x80, [](Reader& r) { r.checkProtocol(); }},
        {0x95, [](Reader& r) { r.number<u64>(); }},  // FRAME: how much may be read at once
        {'.', [](Reader& r) { r.stopped_ = true; }},
        {'0', [](Reader& r) { r.stack_.drop(); }},
        {'1', [](Reader& r) { r.stack_.dropToMark(); }},
        {'2', [](Reader& r) { r.stack_.duplicate(); }},
        {'(', [](Reader& r) { r.stack_.mark(); }},
        {'N', [](Reader& r) { r.push(nullptr); }},
        {0x88, [](Reader& r) { r.push(true); }},
        {0x89, [](Reader& r) { r.push(false); }},
        {'J', [](Reader& r) { r.push(r.number<std::int32_t>()); }},  // BININT
        {'K', [](Reader& r) { r.push(r.number<u8>()); }},
        {'M', [](Reader& r) { r.push(r.number<u16>()); }},
        {0x8A, [](Reader& r) { r.longNumber(r.number<u8>()); }},
        {0x8B, [](Reader& r) { r.longNumber(r.number<u32>()); }},
        {'G', [](Reader& r) { r.push(r.real()); }},
        {'X', [](Reader& r) { r.text(r.number<u32>()); }},
        {0x8C, [](Reader& r) { r.text(r.number<u8>()); }},
        {0x8D, [](Reader& r) { r.text(r.number<u64>()); }},
        {'B', [](Reader& r) { r.blob(r.number<u32>()); }},
        {'C', [](Reader& r) { r.blob(r.number<u8>()); }},
        {0x8E, [](Reader& r) { r.blob(r.number<u64>()); }},
        {']', [](Reader& r) { r.stack_.pushList(); }},
        {'}', [](Reader& r) { r.stack_.pushDict(); }},
        {')', [](Reader& r) { r.stack_.tuple(0); }},
        {0x85, [](Reader& r) { r.stack_.tuple(1); }},
        {0x86, [](Reader& r) { r.stack_.tuple(2); }},
        {0x87, [](Reader& r) { r.stack_.tuple(3); }},
        {'t', [](Reader& r) { r.stack_.tupleToMark(); }},
        {'a', [](Reader& r) { r.stack_.append(); }},
        {'e', [](Reader& r) { r.stack_.appendToMark(); }},
        {'s', [](Reader& r) { r.stack_.setItem(); }},
        {'u', [](Reader& r) { r.stack_.setItems(); }},
        {'q', [](Reader& r) { r.stack_.remember(r.number<u8>()); }},
        {'r', [](Reader& r) { r.stack_.remember(r.number<u32>()); }},
        {0x94, [](Reader& r) { r.stack_.rememberNext(); }},  // MEMOIZE
        {'h', [](Reader& r) { r.stack_.recall(r.number<u8>()); }},
        {'j', [](Reader& r) { r.stack_.recall(r.number<u32>()); }},
    };
    static const std::array<Step, 256> byOpcode = [] {
      std::array<Step, 256> all{};
      for (const Step& one : kSteps) {
        all[one.opcode] = one;
      }
      return all;
    }();
    if (byOpcode[opcode].take != nullptr) {
      byOpcode[opcode].take(*this);
    } else {
      stack_.refuse(
          nameOf(opcode).empty()
              ? fmt::format("no opcode {:#04x}", static_cast<unsigned>(opcode))
              : fmt::format("opcode {}, which data needs not, is not read", nameOf(opcode)));
    }
  }

  std::span<const char> bytes_;
  std::size_t at_ = 0;
  std::size_t opcodeAt_ = 0;
  bool stopped_ = false;
  PickleStack stack_;
};

}  // namespace

base::Result<nlohmann::json> readPickle(std::span<const char> bytes, const std::string& where) {
  return Reader(bytes).read(where);
}

}  // namespace lockstep::imports
