// testsuite/unit/gpud/inventory_fake_node.h - one simulated node for a test: fake NVML and its
// state.
#pragma once
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "model/gpu.h"

namespace rota::gpud {

inline const std::string fake_library = TEST_FAKEGPU_LIBRARY;
inline const std::string fake_models = TEST_FAKEGPU_MODELS;
inline const std::string fake_tool = TEST_FAKEGPU_TOOL;

/// A folder that is gone after the test.
class TestFolder {
 public:
  TestFolder() {
    std::string pattern = std::filesystem::temp_directory_path() / "rota-inventory-XXXXXX";
    path_ = mkdtemp(pattern.data());
  }
  ~TestFolder() { std::filesystem::remove_all(path_); }
  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;

  std::string path(const std::string& name) const { return path_ / name; }
  /// Writes a file, with the folders above it.
  std::string write(const std::string& name, const std::string& text) const {
    const std::filesystem::path file = path_ / name;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
    return file;
  }

 private:
  std::filesystem::path path_;
};

/// Points the fake NVML at a model, under a node name, with a state of its own; puts the
/// environment back at the end.
class FakeNode {
 public:
  explicit FakeNode(const std::string& model, const std::string& name = "n1") {
    use(fake_models + "/" + model + ".yaml", name);
  }
  /// The model with one text replaced by another.
  FakeNode(const std::string& model, const std::string& from, const std::string& to) {
    std::ifstream file(fake_models + "/" + model + ".yaml");
    std::ostringstream text;
    text << file.rdbuf();
    std::string changed = text.str();
    changed.replace(changed.find(from), from.size(), to);
    use(folder_.write("changed.yaml", changed), "n1");
  }
  ~FakeNode() {
    for (const char* name :
         {"ROTA_FAKEGPU", "ROTA_FAKEGPU_NODE", "ROTA_FAKEGPU_STATE", "ROTA_FAKEGPU_COUNT"}) {
      unsetenv(name);
    }
  }
  FakeNode(const FakeNode&) = delete;
  FakeNode& operator=(const FakeNode&) = delete;

  /// rota-fakegpu with these words, from another process; what it prints.
  std::string tool(const std::string& words) const {
    std::string printed;
    FILE* pipe = popen((fake_tool + " " + words + " 2>&1").c_str(), "re");
    if (pipe == nullptr) return "rota-fakegpu does not start";
    char buffer[512];
    while (std::fgets(buffer, sizeof buffer, pipe) != nullptr) printed += buffer;
    pclose(pipe);
    return printed;
  }
  const TestFolder& folder() const { return folder_; }

 private:
  void use(const std::string& description, const std::string& name) {
    setenv("ROTA_FAKEGPU", description.c_str(), 1);
    setenv("ROTA_FAKEGPU_NODE", name.c_str(), 1);
    setenv("ROTA_FAKEGPU_STATE", folder_.path("state").c_str(), 1);
  }
  TestFolder folder_;
};

/// The distances as a table, one line per GPU.
inline std::string links_text(const std::vector<Gpu>& gpus) {
  std::string text;
  for (const Gpu& gpu : gpus) {
    for (const std::int32_t distance : gpu.links) text += std::to_string(distance) + " ";
    text.back() = '\n';
  }
  return text;
}

/// "3: 20% 4096 MiB 1 process" per GPU; the position stands for the UUID.
inline std::string usage_text(const std::vector<Gpu>& gpus, const std::vector<GpuUsage>& all) {
  std::string text;
  for (const GpuUsage& usage : all) {
    std::size_t i = 0;
    while (i < gpus.size() && gpus[i].uuid != usage.uuid) ++i;
    text += std::to_string(i) + ": " + std::to_string(usage.utilization_percent) + "% " +
            std::to_string(usage.memory_used_bytes >> 20) + " MiB " +
            std::to_string(usage.process_count) + "\n";
  }
  return text;
}

}  // namespace rota::gpud
