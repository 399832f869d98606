// testsuite/unit/common/config_files_test.cpp - table, etc/rota.yaml and rota.yaml(5) say the same.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <vector>

#include "common/config.h"
#include "common/config_table.h"
#include "common/units.h"

namespace rota {
namespace {

std::string source_file(const std::string& path) {
  const char* top = std::getenv("top_srcdir");
  const std::string file = std::string(top != nullptr ? top : ROTA_SRCDIR) + "/" + path;
  std::ifstream stream(file);
  EXPECT_TRUE(stream) << "cannot read " << file;
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

/// Every member, for comparing two of them.
std::string as_text(const Config& c) {
  std::ostringstream text;
  text << c.cluster_name << '|' << c.controller_address << '|' << c.controller_listen << '|'
       << c.controller_user << '|' << c.controller_state_dir << '|' << c.controller_sessions_max
       << '|' << c.controller_half_open_max << '|' << c.munge_socket << '|'
       << c.nodes_heartbeat.count() << '|' << c.nodes_lost_after.count() << '|'
       << c.nodes_fence_after.count() << '|' << c.jobs_kill_wait.count() << '|'
       << c.jobs_restarts_max << '|' << c.jobs_launch_backoff.count() << '|' << c.jobs_count_max
       << '|' << c.jobs_ended_kept << '|' << c.jobs_time_limit_default.count() << '|'
       << c.jobs_time_limit_max.count() << '|' << c.jobs_root_allowed << '|'
       << c.jobs_slurm_environment << '|' << c.jobs_template_dir << '|'
       << c.jobs_idle_window.count() << '|' << c.jobs_interactive_idle_limit.count() << '|'
       << c.jobs_train_idle_limit.count() << '|' << c.scheduler_reservations << '|'
       << c.scheduler_limit_assumed.count() << '|' << c.scheduler_min_runtime_reclaim.count() << '|'
       << c.scheduler_min_runtime_preempt.count() << '|' << c.scheduler_preemption_delay.count()
       << '|' << c.scheduler_consolidate_max << '|' << c.scheduler_packing << '|'
       << c.scheduler_history_weight << '|' << c.scheduler_history_window.count() << '|'
       << c.scheduler_history_half_life.count() << '|' << c.node_name << '|' << c.node_listen << '|'
       << c.node_address << '|' << c.node_spool_dir << '|' << c.node_nvml << '|' << c.node_cgroup
       << '|' << c.node_cgroup_parent << '|' << c.node_close_gpus << '|'
       << c.node_burst_grace.count() << '|' << c.node_session_linger.count() << '|'
       << c.node_unkillable_after.count() << '|' << c.node_bind_memory << '|' << c.node_dcgm_dir
       << '|' << c.node_jobstats_dir << '|' << c.node_mig_hold.count() << '|'
       << c.node_mig_strangers << '|' << c.node_mps_control << '|' << c.node_container_runtime
       << '|' << c.node_container_gpus << '|' << c.node_container_network << '|'
       << c.node_container_ipc << '|' << c.node_container_mounts << '|'
       << c.node_container_start_limit.count() << '|' << c.node_docker_socket << '|'
       << c.node_docker_runtime << '|' << c.node_podman << '|' << c.node_enroot << '|'
       << c.node_enroot_dir << '|' << c.node_enroot_user << '|' << c.node_container_kept_max << '|'
       << c.node_container_save_limit.count() << '|' << c.node_git_limit.count() << '|'
       << c.node_git_size_max << '|' << c.node_image_cache << '|' << c.node_prefetch << '|'
       << c.node_reconnect_max.count() << '|' << c.node_health_poll.count() << '|'
       << c.node_health_policy << '|' << c.node_kernel_log << '|' << c.node_gpu_reset_program << '|'
       << c.node_gpu_test_program << '|' << c.node_gpu_program_limit.count() << '|'
       << c.node_health_checks << '|' << c.node_health_check_interval.count() << '|'
       << c.node_health_check_limit.count() << '|' << c.node_health_check_jobs << '|'
       << c.node_prolog << '|' << c.node_epilog << '|' << c.node_prolog_limit.count() << '|'
       << c.node_prolog_failure << '|' << c.node_epilog_failure << '|' << c.proxy_listen << '|'
       << c.proxy_url << '|' << c.proxy_certificate << '|' << c.proxy_key << '|' << c.proxy_plain
       << '|' << c.proxy_token_life.count() << '|' << c.proxy_idle_limit.count() << '|'
       << c.proxy_connections_max << '|' << c.proxy_user_connections_max << '|' << c.notify_sendmail
       << '|' << c.notify_from << '|' << c.notify_curl << '|' << c.notify_webhooks << '|'
       << c.notify_limit.count() << '|' << c.log_file << '|' << c.log_level;
  return text.str();
}

/// The table as a file: every key written out with the given text.
std::string file_of(const std::map<std::string, std::string>& values) {
  std::map<std::string, std::string> sections;
  for (const auto& [name, value] : values) {
    const auto dot = name.find('.');
    sections[name.substr(0, dot)] += "  " + name.substr(dot + 1) + ": " + value + "\n";
  }
  std::string text;
  for (const auto& [section, keys] : sections) text += section + ":\n" + keys;
  return text;
}

TEST(ConfigTable, KeysAreWellFormedAndDifferent) {
  const std::set<std::string_view> types{"string",  "number", "duration", "bool",
                                         "address", "choice", "decimal"};
  std::set<std::string_view> names;
  for (const ConfigKey& key : config_keys()) {
    EXPECT_TRUE(names.insert(key.name).second) << key.name;
    EXPECT_TRUE(std::regex_match(std::string(key.name), std::regex("[a-z]+\\.[a-z_]+")))
        << key.name;
    EXPECT_TRUE(types.contains(key.type)) << key.name;
    EXPECT_FALSE(key.help.empty()) << key.name;
    EXPECT_EQ(key.help.find('\n'), std::string_view::npos) << key.name;
    EXPECT_FALSE(key.default_text.empty()) << key.name;
  }
}

TEST(ConfigTable, DefaultTextsAreTheDefaults) {
  std::map<std::string, std::string> values;
  for (const ConfigKey& key : config_keys()) values[std::string(key.name)] = key.default_text;
  const auto config = config_parse(file_of(values), "defaults");
  ASSERT_TRUE(config) << config.error().detail;
  EXPECT_EQ(as_text(*config), as_text(Config{}));
}

// A key of the table that fills no member, or the member of another key, would show here.
TEST(ConfigTable, EveryKeyChangesItsOwnMemberAndNoOther) {
  const std::map<std::string, std::string> other_values{{"string", "/other"},
                                                        {"number", "17"},
                                                        {"duration", "61s"},
                                                        {"address", "other:1"},
                                                        {"decimal", "0.25"}};
  std::set<std::string> results{as_text(Config{})};
  for (const ConfigKey& key : config_keys()) {
    std::string value = key.name == "node.cgroup"              ? "v1"
                        : key.name == "log.level"              ? "error"
                        : key.name == "scheduler.packing"      ? "least-loss"
                        : key.name == "node.close_gpus"        ? "never"
                        : key.name == "node.mig_strangers"     ? "destroy"
                        : key.name == "node.bind_memory"       ? "strict"
                        : key.name == "node.container_runtime" ? "none"
                        : key.name == "node.container_gpus"    ? "cdi"
                        : key.name == "node.container_network" ? "none"
                        : key.name == "node.container_ipc"     ? "host"
                        : key.name == "node.image_cache"       ? "200G"
                        : key.name == "node.prolog_failure"    ? "fail"
                        : key.name == "node.epilog_failure"    ? "ignore"
                                                               : "";
    if (key.type == "bool") value = key.default_text == "true" ? "false" : "true";
    if (key.name == "cluster.name" || key.name == "node.name" || key.name == "node.cgroup_parent")
      value = "other";
    if (key.name == "notify.from") value = "other@host";
    if (key.name == "proxy.url") value = "https://*.other:1";
    if (value.empty()) value = other_values.at(std::string(key.type));
    Config config;
    const auto done = config_assign(config, key.name, value);
    ASSERT_TRUE(done) << done.error().detail;
    EXPECT_TRUE(results.insert(as_text(config)).second) << key.name;
  }
  // One name per '|' of as_text: a member without a key would be missing from the table.
  const std::string text = as_text(Config{});
  EXPECT_EQ(config_keys().size(), 1u + std::count(text.begin(), text.end(), '|'));
}

TEST(ConfigExample, IsTheTableWithEveryKeyCommentedOut) {
  std::string wanted, found, section, uncommented;
  for (const ConfigKey& key : config_keys())
    wanted += std::string(key.name) + ": " + std::string(key.default_text) + "\n";
  std::string before;
  for (const std::string& line : lines_of(source_file("etc/rota.yaml"))) {
    std::smatch match;
    if (std::regex_match(line, match, std::regex("([a-z]+):"))) section = match[1];
    if (std::regex_match(line, match, std::regex("  #([a-z_]+): (.*)"))) {
      found += section + "." + match[1].str() + ": " + match[2].str() + "\n";
      EXPECT_TRUE(before.starts_with("  # ")) << "no comment above: " << line;
      uncommented += "  " + match[1].str() + ": " + match[2].str() + "\n";
    } else {
      uncommented += line + "\n";
    }
    EXPECT_LE(line.size(), 100u) << line;
    before = line;
  }
  EXPECT_EQ(found, wanted);
  for (const std::string& text : {source_file("etc/rota.yaml"), uncommented}) {
    const auto config = config_parse(text, "etc/rota.yaml");
    ASSERT_TRUE(config) << config.error().detail;
    EXPECT_EQ(as_text(*config), as_text(Config{}));
  }
}

TEST(ConfigManual, NamesEveryKeyWithTypeAndDefault) {
  std::string wanted, found;
  for (const ConfigKey& key : config_keys())
    wanted += std::string(key.name) + " (" + std::string(key.type) +
              ", default: " + std::string(key.default_text) + ")\n";
  for (const std::string& line : lines_of(source_file("doc/man/rota.yaml.5"))) {
    std::smatch match;
    if (std::regex_match(line, match, std::regex("\\.BR ([a-z]+\\.[a-z_]+) \" (\\(.*\\))\"")))
      found += match[1].str() + " " + match[2].str() + "\n";
  }
  EXPECT_EQ(found, wanted);
}

}  // namespace
}  // namespace rota
