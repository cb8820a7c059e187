#include "engine/import/Pickle.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace lockstep::imports {
namespace {

using nlohmann::json;
using testing::HasSubstr;

base::Result<json> read(const std::string& bytes) {
  return readPickle(bytes, "dump.pickle");
}

std::string refusalOf(const std::string& bytes) {
  const auto result = read(bytes);
  return result.ok() ? "" : result.error().message();
}

const std::string kProtocol2("\x80\x02", 2);

TEST(Pickle, GivesWhatTorchWrites) {
  // {"entries": [(1, 300, -2, 2**40, True, None, 0.5)]}, with marks, memo and long numbers.
  const std::string bytes = kProtocol2 + "}q" + std::string("\0", 1) + "(X" +
                            std::string("\x07\0\0\0", 4) + "entries](" + "(K\x01M" +
                            std::string("\x2C\x01", 2) + "J" +
                            std::string("\xFE\xFF\xFF\xFF", 4) + "\x8A" +
                            std::string("\x06\0\0\0\0\0\x01", 7) + "\x88NG" +
                            std::string("\x3F\xE0\0\0\0\0\0\0", 8) + "teu.";
  const auto made = read(bytes);
  ASSERT_TRUE(made.ok()) << made.error().message();
  EXPECT_EQ(made.value().dump(), R"({"entries":[[1,300,-2,1099511627776,true,null,0.5]]})");
}

TEST(Pickle, AListThatIsRepeatedIsTheOneThatWasFilled) {
  // a = []; [a, a], and then a gets 7.
  const auto made = read(kProtocol2 + "]q\x01" + "0](h\x01h\x01" + "eh\x01K\x07" + "a0.");
  ASSERT_TRUE(made.ok()) << made.error().message();
  EXPECT_EQ(made.value().dump(), "[[7],[7]]");
}

TEST(Pickle, KeysThatAreNumbersBecomeText) {
  EXPECT_EQ(read(kProtocol2 + "}K\x05Ns.").value().dump(), R"({"5":null})");
}

TEST(Pickle, WhatWouldCallSomethingIsRefusedByItsName) {
  EXPECT_EQ(refusalOf(kProtocol2 + "cos\nsystem\n(X" + std::string("\x04\0\0\0", 4) + "truetR."),
            "dump.pickle: is no pickle that can be read: opcode GLOBAL, which data needs not, is "
            "not read at byte 2");
  for (const auto& [bytes, name] : std::vector<std::pair<std::string, std::string>>{
           {"R", "REDUCE"}, {"b", "BUILD"}, {"i", "INST"}, {"o", "OBJ"}, {"\x81", "NEWOBJ"},
           {"\x92", "NEWOBJ_EX"}, {"\x93", "STACK_GLOBAL"}, {"\x82", "EXT1"}, {"Q", "BINPERSID"},
           {"P", "PERSID"}}) {
    EXPECT_THAT(refusalOf(kProtocol2 + "N" + bytes + "."), HasSubstr("opcode " + name));
  }
}

TEST(Pickle, WhatIsCutOffOrMadeUpIsRefused) {
  EXPECT_THAT(refusalOf(""), HasSubstr("it is cut off at byte 0"));
  EXPECT_THAT(refusalOf(kProtocol2 + "X" + std::string("\xFF\xFF\xFF\x7F", 4) + "a"),
              HasSubstr("cut off"));
  EXPECT_THAT(refusalOf(kProtocol2 + "."), HasSubstr("other than one value"));
  EXPECT_THAT(refusalOf(kProtocol2 + "e."), HasSubstr("a mark is missing"));
  EXPECT_THAT(refusalOf(kProtocol2 + "N(a."), HasSubstr("a value is missing"));
  EXPECT_THAT(refusalOf(kProtocol2 + "NNa."), HasSubstr("no list to add to"));
  EXPECT_THAT(refusalOf(kProtocol2 + "}(Nu."), HasSubstr("a key without a value"));
  EXPECT_THAT(refusalOf(kProtocol2 + "h\x03."), HasSubstr("repeats what it has not remembered"));
  EXPECT_THAT(refusalOf(kProtocol2 + "}]Ns."), HasSubstr("neither text nor number"));
  EXPECT_THAT(refusalOf("\x80\x09N."), HasSubstr("protocol 9"));
  EXPECT_THAT(refusalOf(kProtocol2 + "\x8A\x09" + std::string(9, '\x01') + "."),
              HasSubstr("more than 64 bits"));
  EXPECT_THAT(refusalOf(kProtocol2 + "\x01."), HasSubstr("no opcode 0x01"));
}

TEST(Pickle, ValuesThatHoldThemselvesOrEachOtherTooDeepAreRefused) {
  EXPECT_THAT(refusalOf(kProtocol2 + "]q\x01h\x01" + "a."), HasSubstr("too deep"));
  std::string nested = kProtocol2;
  for (int i = 0; i < 200'000; ++i) {
    nested += "](";
  }
  nested += "N";
  for (int i = 0; i < 200'000; ++i) {
    nested += "e";
  }
  EXPECT_THAT(refusalOf(nested + "."), HasSubstr("too deep"));
}

TEST(Pickle, WhatRepeatsItselfWithoutEndIsRefused) {
  // Each list holds the one before twice: 2^40 values in 200 bytes. All but the last are popped.
  std::string bytes = kProtocol2 + "]q" + std::string("\0", 1);
  for (char i = 0; i < 40; ++i) {
    bytes += "0](h";
    bytes += i;
    bytes += "h";
    bytes += i;
    bytes += "eq";
    bytes += static_cast<char>(i + 1);
  }
  EXPECT_THAT(refusalOf(bytes + "."), HasSubstr("repeats its values too often"));
}

}  // namespace
}  // namespace lockstep::imports
