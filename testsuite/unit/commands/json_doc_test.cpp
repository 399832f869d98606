// testsuite/unit/commands/json_doc_test.cpp - doc/json.md lists the fields that the commands print.
#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <string>

#include "commands/job_view.h"
#include "commands/node_view.h"
#include "commands/org_view.h"
#include "commands/share_view.h"
#include "sample_jobs.h"

namespace rota::commands {
namespace {

/// The names in the first column of the table below `heading`.
std::set<std::string> documented(const std::string& heading) {
  std::ifstream file(ROTA_SRCDIR "/doc/json.md");
  EXPECT_TRUE(file) << ROTA_SRCDIR "/doc/json.md";
  std::set<std::string> names;
  bool here = false;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("#")) here = line == heading;
    if (here && line.starts_with("| `")) names.insert(line.substr(3, line.find('`', 3) - 3));
  }
  return names;
}

/// The keys of a JSON object whose strings hold no quotes.
std::set<std::string> keys_of(const std::string& json) {
  std::set<std::string> keys;
  for (std::size_t colon = json.find("\":"); colon != std::string::npos;
       colon = json.find("\":", colon + 1)) {
    const std::size_t quote = json.rfind('"', colon - 1);
    keys.insert(json.substr(quote + 1, colon - quote - 1));
  }
  return keys;
}

TEST(JsonDoc, DescribesEveryFieldOfAJob) {
  std::string out;
  JsonWriter json(out);
  write_job(json, running_job());
  EXPECT_EQ(documented("### A job"), keys_of(out));
}

TEST(JsonDoc, DescribesEveryFieldOfANodeAndItsGpus) {
  NodeView node;
  node.identity.name = "n";
  std::string without;
  JsonWriter first(without);
  write_node(first, node);
  EXPECT_EQ(documented("### A node"), keys_of(without));

  node.inventory.gpus.emplace_back();
  std::string with;
  JsonWriter second(with);
  write_node(second, node);
  const std::size_t start = with.find("[{") + 1;
  const std::string gpu = with.substr(start, with.find("}]") + 1 - start);
  EXPECT_EQ(documented("### A GPU"), keys_of(gpu));
}

/// What `write` writes.
template <class Write>
std::string written(Write write) {
  std::string out;
  JsonWriter json(out);
  write(json);
  return out;
}

TEST(JsonDoc, DescribesEveryFieldOfTheOrganisation) {
  EXPECT_EQ(documented("### A project"),
            keys_of(written([](JsonWriter& j) { write_project(j, {}, {}); })));
  EXPECT_EQ(documented("### A department"),
            keys_of(written([](JsonWriter& j) { write_department(j, {}); })));
  EXPECT_EQ(documented("### A queue"), keys_of(written([](JsonWriter& j) { write_queue(j, {}); })));
  EXPECT_EQ(documented("### A user"), keys_of(written([](JsonWriter& j) { write_user(j, {}); })));
  EXPECT_EQ(documented("### A share"), keys_of(written([](JsonWriter& j) { write_share(j, {}); })));
}

}  // namespace
}  // namespace rota::commands
