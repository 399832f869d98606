// testsuite/unit/proto/golden_test.cpp - bytes of every release mean the same for ever.
//
// golden-*.txt next to this file hold, per release, one message of every type: its number and name,
// its bytes, and what they mean. Those lines never change. Fields that were added since are not in
// them, and keep their defaults.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <set>
#include <sstream>

#include "walk.h"

namespace rota::proto {
namespace {

struct Golden {
  std::string file;
  std::uint16_t number = 0;
  std::string name;
  std::string bytes;
  std::string meaning;
};

std::string directory() {
  const char* top = std::getenv("top_srcdir");
  return std::string(top != nullptr ? top : ".") + "/testsuite/unit/proto";
}

std::vector<Golden> goldens() {
  std::vector<Golden> all;
  for (const auto& entry : std::filesystem::directory_iterator(directory())) {
    const std::string file = entry.path().filename();
    if (!file.starts_with("golden-")) continue;
    std::ifstream in(entry.path());
    for (std::string line; std::getline(in, line);) {
      if (line.empty() || line[0] == '#') continue;
      Golden golden;
      golden.file = file;
      std::istringstream(line) >> golden.number >> golden.name;
      std::string hex;
      std::getline(in, hex);
      golden.bytes = from_hex(hex);
      std::getline(in, golden.meaning);
      all.push_back(std::move(golden));
    }
  }
  return all;
}

/// The end of the value that begins at `at`: an atom, or a whole bracket.
std::size_t value_end(std::string_view text, std::size_t at) {
  int depth = 0;
  for (; at < text.size(); ++at) {
    const char c = text[at];
    if (depth == 0 && (c == ' ' || c == ')' || c == ']')) return at;
    if (c == '(' || c == '[') ++depth;
    if ((c == ')' || c == ']') && --depth == 0) return at + 1;
    if (c == '\'') at = text.find('\'', at + 1);
  }
  return at;
}

std::vector<std::string_view> parts(std::string_view bracket) {
  std::vector<std::string_view> all;
  for (std::size_t at = 1; at + 1 < bracket.size();) {
    const std::size_t end = value_end(bracket, at);
    all.push_back(bracket.substr(at, end - at));
    at = end + 1;
  }
  return all;
}

/// Whether `now` says all that `then` says. A record may have more fields at its end; nothing else
/// may differ.
bool says_the_same(std::string_view then, std::string_view now) {
  const bool record = then.starts_with('(') && now.starts_with('(');
  const bool sequence = then.starts_with('[') && now.starts_with('[');
  if (!record && !sequence) return then == now;
  const auto before = parts(then);
  const auto after = parts(now);
  if (record ? after.size() < before.size() : after.size() != before.size()) return false;
  return std::equal(before.begin(), before.end(), after.begin(), says_the_same);
}

/// What the bytes of one type mean, by number.
std::map<std::uint16_t, std::function<std::string(std::string_view)>> readers() {
  std::map<std::uint16_t, std::function<std::string(std::string_view)>> all;
  for_every_message([&](const auto& message) {
    using Message = std::remove_cvref_t<decltype(message)>;
    all[Message::number] = [](std::string_view bytes) {
      const auto value = decode<Message>(bytes);
      return value ? written(*value) : value.error().message();
    };
  });
  return all;
}

TEST(Golden, BytesOfEveryReleaseMeanTheSameForEver) {
  const auto known = readers();
  const auto all = goldens();
  ASSERT_GE(all.size(), 25u) << "no golden files in " << directory();
  for (const Golden& golden : all) {
    const auto reader = known.find(golden.number);
    ASSERT_NE(reader, known.end()) << golden.file << ": " << golden.name << " is gone";
    const std::string now = reader->second(golden.bytes);
    EXPECT_TRUE(says_the_same(golden.meaning, now))
        << golden.file << ": " << golden.name << "\nmeant " << golden.meaning << "\nnow   " << now;
  }
}

// A new message gets its line in the file of the release that brings it.
TEST(Golden, EveryMessageIsThere) {
  std::set<std::uint16_t> there;
  for (const Golden& golden : goldens()) there.insert(golden.number);
  for_every_message([&](const auto& message) {
    using Message = std::remove_cvref_t<decltype(message)>;
    const Message full = filled<Message>();
    EXPECT_TRUE(there.contains(Message::number))
        << "add to a golden file:\n"
        << Message::number << " " << name_of_type<Message>() << "\n"
        << to_hex(encode(full)) << "\n"
        << written(full);
  });
}

TEST(Golden, TheComparisonItselfSeesDifferences) {
  EXPECT_TRUE(says_the_same("(1 'a' [2 (3)])", "(1 'a' [2 (3)])"));
  EXPECT_TRUE(says_the_same("(1 'a' [2 (3)])", "(1 'a' [2 (3 9)] 'new')"));
  EXPECT_FALSE(says_the_same("(1 'a' [2 (3)])", "(1 'a' [2 (4)])"));
  EXPECT_FALSE(says_the_same("(1 'a' [2 (3)])", "(1 'a')"));
  EXPECT_FALSE(says_the_same("[1]", "[1 2]"));
  EXPECT_FALSE(says_the_same("(1)", "malformed message"));
  EXPECT_FALSE(says_the_same("('a)b')", "('a)c')"));
}

}  // namespace
}  // namespace rota::proto
