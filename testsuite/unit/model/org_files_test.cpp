// testsuite/unit/model/org_files_test.cpp - tables, etc/projects.yaml and projects.yaml(5) agree.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>

#include "common/format.h"
#include "model/org_keys.h"
#include "model/org_yaml.h"

namespace rota {
namespace {

std::vector<std::string> lines_of(const std::string& path) {
  const char* top = std::getenv("top_srcdir");
  std::ifstream stream(std::string(top != nullptr ? top : ROTA_SRCDIR) + "/" + path);
  EXPECT_TRUE(stream) << "cannot read " << path;
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

template <class T>
std::string section() {
  return format("{}s", name_of(org_kind_of<T>));
}

/// "projects.quota (decimal, default: 0)" for every key.
template <class T>
void append_keys(std::vector<std::string>& all) {
  for (const auto& key : org_keys<T>())
    all.push_back(format("{}.{} ({}, default: {})", section<T>(), key.name, name_of(key.type),
                         key.default_text));
}
std::vector<std::string> all_keys() {
  std::vector<std::string> all;
  append_keys<Department>(all);
  append_keys<Project>(all);
  append_keys<Queue>(all);
  append_keys<UserDefaults>(all);
  return all;
}

/// The default text, read back, is what an item has by itself.
template <class T>
void check_table() {
  std::set<std::string_view> names;
  for (const auto& key : org_keys<T>()) {
    EXPECT_TRUE(names.insert(key.name).second) << key.name;
    EXPECT_FALSE(key.help.empty() || key.help.ends_with('.')) << key.name;
    const T plain{};
    const auto words = key.get(plain);
    EXPECT_EQ(key.is_list() ? "" : words_text(words),
              key.is_list() ? std::string(key.default_text.substr(2)) : key.default_text)
        << key.name;
    T item{};
    EXPECT_TRUE(key.set(item, words)) << key.name;
    EXPECT_EQ(item, plain) << key.name;
  }
}

TEST(OrgTable, DefaultTextsAreTheDefaults) {
  check_table<Department>();
  check_table<Project>();
  check_table<Queue>();
  check_table<UserDefaults>();
}

TEST(OrgExample, HasEveryKeyWithACommentAboveIt) {
  std::string section, before, as_is, uncommented;
  std::set<std::string> found;
  for (const std::string& line : lines_of("etc/projects.yaml")) {
    std::smatch match;
    EXPECT_LE(line.size(), 100u) << line;
    if (std::regex_match(line, match, std::regex("([a-z]+):"))) section = match[1];
    as_is += line + "\n";
    if (std::regex_match(line, match, std::regex("    #([a-z_]+): (.*)"))) {
      uncommented += format("    {}: {}\n", match[1].str(), match[2].str());
      EXPECT_TRUE(before.starts_with("    # ")) << "no comment above: " << line;
      found.insert(section + "." + match[1].str() + ": " + match[2].str());
    } else {
      uncommented += line + "\n";
      if (std::regex_match(line, match, std::regex("    ([a-z_]+): (.*)")))
        found.insert(section + "." + match[1].str());
    }
    before = line;
  }
  for (const std::string& key : all_keys()) {
    const std::string name = key.substr(0, key.find(' '));
    const std::string text = key.substr(key.find("default: ") + 9);
    const std::string value = name + ": " + text.substr(0, text.size() - 1);
    EXPECT_TRUE(found.contains(name) || found.contains(value)) << value;
  }
  const auto org = org_parse(as_is, "etc/projects.yaml");
  ASSERT_TRUE(org) << org.error().detail;
  EXPECT_EQ(org->projects.size(), 5u);
  EXPECT_TRUE(warnings_of(*org).empty());
  const auto same = org_parse(uncommented, "etc/projects.yaml");
  ASSERT_TRUE(same) << same.error().detail;
  EXPECT_EQ(*same, *org);
}

TEST(OrgManual, NamesEveryKeyWithTypeAndDefault) {
  std::vector<std::string> found;
  for (const std::string& line : lines_of("doc/man/projects.yaml.5")) {
    std::smatch match;
    if (std::regex_match(line, match, std::regex("\\.BR ([a-z]+\\.[a-z_]+) \" (\\(.*\\))\"")))
      found.push_back(match[1].str() + " " + match[2].str());
  }
  // A key that departments and projects share is described once, with the projects.
  std::vector<std::string> wanted;
  for (const std::string& key : all_keys())
    if (!key.starts_with("departments.") || key.starts_with("departments.parent"))
      wanted.push_back(key);
  EXPECT_EQ(format("{}", fmt::join(found, "\n")), format("{}", fmt::join(wanted, "\n")));
}

}  // namespace
}  // namespace rota
