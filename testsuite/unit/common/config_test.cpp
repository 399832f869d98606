// testsuite/unit/common/config_test.cpp - rota.yaml: what is taken, and what each error says.
#include "common/config.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "common/units.h"

namespace rota {
namespace {

using namespace std::chrono_literals;

Config read(std::string_view text) {
  auto config = config_parse(text, "r.yaml");
  EXPECT_TRUE(config) << config.error().detail;
  return config ? *config : Config{};
}

/// The error's sentence, with the place in front.
std::string refused(std::string_view text) {
  const auto config = config_parse(text, "r.yaml");
  if (config) return "taken";
  EXPECT_EQ(config.error().code, Errc::config_invalid);
  return config.error().detail;
}

TEST(Config, AnEmptyFileGivesTheDefaults) {
  for (const char* text :
       {"", "# nothing\n", "---\n", "---\n...\n", "{}", "nodes:\n", "nodes: {}\n", "~"}) {
    const Config config = read(text);
    EXPECT_EQ(config.controller_address, "localhost:7117") << text;
    EXPECT_EQ(config.nodes_lost_after, 60s) << text;
    EXPECT_FALSE(config.jobs_root_allowed) << text;
  }
}

TEST(Config, EveryTypeIsTaken) {
  const Config config = read(R"(
cluster: {name: dgx-farm}
controller:
  address: ctl1.example.org:7200
  listen: "[::]:0"
  sessions_max: 20000
nodes:
  heartbeat: 2s
  lost_after: 1m30s
  fence_after: 10m
jobs:
  root_allowed: true
  slurm_environment: false
  time_limit_default: 1d
  time_limit_max: 2d
node:
  cgroup: v2
log:
  file: '/var/log/rota.log'
  level: debug
)");
  EXPECT_EQ(config.cluster_name, "dgx-farm");
  EXPECT_EQ(config.controller_address, "ctl1.example.org:7200");
  EXPECT_EQ(config.controller_listen, "[::]:0");
  EXPECT_EQ(config.controller_sessions_max, 20000u);
  EXPECT_EQ(config.nodes_heartbeat, 2s);
  EXPECT_EQ(config.nodes_lost_after, 90s);
  EXPECT_EQ(config.nodes_fence_after, 10min);
  EXPECT_TRUE(config.jobs_root_allowed);
  EXPECT_FALSE(config.jobs_slurm_environment);
  EXPECT_EQ(config.jobs_time_limit_max, 48h);
  EXPECT_EQ(config.node_cgroup, "v2");
  EXPECT_EQ(config.log_file, "/var/log/rota.log");
  EXPECT_EQ(config.log_level, "debug");
  EXPECT_EQ(config.nodes_heartbeat,
            read("\xef\xbb\xbfnodes:\r\n  heartbeat: 2s\r\n").nodes_heartbeat);
}

TEST(ConfigErrors, AnUnknownKeyNamesTheNearest) {
  EXPECT_EQ(refused("nodes:\n  hartbeat: 5s\n"),
            "r.yaml:2:3: unknown key 'nodes.hartbeat'; did you mean 'nodes.heartbeat'?");
  EXPECT_EQ(refused("node:\n  heartbeat: 5s\n"),
            "r.yaml:2:3: unknown key 'node.heartbeat'; did you mean 'nodes.heartbeat'?");
  EXPECT_EQ(refused("munge:\n  sockte: /s\n"),
            "r.yaml:2:3: unknown key 'munge.sockte'; did you mean 'munge.socket'?");
  EXPECT_EQ(refused("log:\n  colour_of_the_lines: red\n"),
            "r.yaml:2:3: unknown key 'log.colour_of_the_lines'; 'log' has file, level");
  EXPECT_EQ(refused("nodes:\n  <<: 5s\n"),
            "r.yaml:2:3: unknown key 'nodes.<<'; 'nodes' has heartbeat, lost_after, fence_after");
}

TEST(ConfigErrors, AnAddressForBrowsers) {
  for (const char* good : {"https://login1", "http://127.0.0.1:7119", "https://*.jobs.org:8443",
                           "https://[::1]:8443", "https://login1/"})
    EXPECT_EQ(refused(std::string("proxy:\n  url: ") + good + "\n"), "taken") << good;
  for (const char* bad : {"login1", "ftp://login1", "https://", "https://a/b", "https://a:0",
                          "https://a.*.org", "https://u@a", "https://a?b"})
    EXPECT_NE(refused(std::string("proxy:\n  url: ") + bad + "\n").find("proxy.url must be http"),
              std::string::npos)
        << bad;
  EXPECT_EQ(refused("proxy:\n  key: /k\n"),
            "r.yaml:2:8: proxy.certificate and proxy.key belong together: give both, or neither");
}

TEST(ConfigErrors, AnUnknownSectionToo) {
  EXPECT_EQ(refused("\nnods:\n  heartbeat: 5s\n"),
            "r.yaml:2:1: unknown section 'nods'; did you mean 'nodes'?");
  EXPECT_EQ(refused("quotas:\n  x: 1\n"),
            "r.yaml:1:1: unknown section 'quotas'; known are cluster, controller, munge, nodes, "
            "jobs, scheduler, node, proxy, notify, log, node_groups, topology, data");
  EXPECT_EQ(
      refused("heartbeat: 5s\n"),
      "r.yaml:1:1: 'heartbeat' is no section; write 'nodes:' and below it, indented, 'heartbeat:'");
  EXPECT_EQ(refused("nodes.heartbeat: 5s\n"),
            "r.yaml:1:1: 'nodes.heartbeat' is no section; write 'nodes:' and below it, indented, "
            "'heartbeat:'");
}

TEST(ConfigErrors, AWrongShapeIsNamed) {
  EXPECT_EQ(refused("nodes: 5\n"),
            "r.yaml:1:8: keys are needed below 'nodes:', each on a line of its own and indented");
  EXPECT_EQ(refused("nodes: [heartbeat]\n"),
            "r.yaml:1:8: keys are needed below 'nodes:', each on a line of its own and indented");
  EXPECT_EQ(refused("- nodes\n"),
            "r.yaml:1:1: sections are needed here, such as 'nodes:' with keys indented below it");
  EXPECT_EQ(refused("hello\n"),
            "r.yaml:1:1: sections are needed here, such as 'nodes:' with keys indented below it");
  EXPECT_EQ(refused("nodes:\n  heartbeat: [5s]\n"),
            "r.yaml:2:14: nodes.heartbeat takes a duration, not a list");
  EXPECT_EQ(refused("nodes:\n  heartbeat:\n    value: 5s\n"),
            "r.yaml:3:5: nodes.heartbeat takes a duration, not a mapping");
  EXPECT_EQ(refused("nodes:\n  heartbeat:\n"),
            "r.yaml:2:13: nodes.heartbeat has no value; its default is 5s");
  EXPECT_EQ(refused("nodes:\n  heartbeat: ~\n"),
            "r.yaml:2:14: nodes.heartbeat has no value; its default is 5s");
  EXPECT_EQ(refused("{[a]: b}\n"), "r.yaml:1:2: the name of a section is needed here");
  EXPECT_EQ(refused("nodes: {[a]: b}\n"),
            "r.yaml:1:9: the name of a key of 'nodes' is needed here");
}

TEST(ConfigErrors, ADuplicateNamesTheFirst) {
  EXPECT_EQ(refused("nodes:\n  heartbeat: 5s\n  heartbeat: 6s\n"),
            "r.yaml:3:3: 'nodes.heartbeat' stands here a second time; first in line 2");
  EXPECT_EQ(refused("nodes:\n  heartbeat: 5s\nlog:\nnodes:\n"),
            "r.yaml:4:1: 'nodes' stands here a second time; first in line 1");
}

TEST(ConfigErrors, NumbersHaveBounds) {
  EXPECT_EQ(refused("jobs: {restarts_max: many}"),
            "r.yaml:1:22: jobs.restarts_max must be a number from 0 to 1000, not 'many'");
  EXPECT_EQ(refused("jobs: {restarts_max: 1001}"),
            "r.yaml:1:22: jobs.restarts_max must be a number from 0 to 1000, not '1001'");
  EXPECT_EQ(refused("jobs: {count_max: 0}"),
            "r.yaml:1:19: jobs.count_max must be a number from 1 to 100000000, not '0'");
  EXPECT_EQ(refused("jobs: {restarts_max: -1}"),
            "r.yaml:1:22: jobs.restarts_max must be a number from 0 to 1000, not '-1'");
  EXPECT_EQ(refused("jobs: {restarts_max: 99999999999999999999999}"),
            "r.yaml:1:22: jobs.restarts_max must be a number from 0 to 1000, not "
            "'99999999999999999999999'");
}

TEST(ConfigErrors, DurationsNeedUnitsAndHaveBounds) {
  EXPECT_EQ(refused("nodes: {heartbeat: 5}"),
            "r.yaml:1:20: nodes.heartbeat: '5' has no unit; write 5s, 5m, 5h or 5d (also ms)");
  EXPECT_EQ(
      refused("nodes: {heartbeat: 5sec}"),
      "r.yaml:1:20: nodes.heartbeat: 'sec' in '5sec' is no unit of time; ms, s, m, h and d are");
  EXPECT_EQ(refused("nodes: {heartbeat: 0}"),
            "r.yaml:1:20: nodes.heartbeat must be from 10ms to 1h, not '0'");
  EXPECT_EQ(refused("nodes: {heartbeat: 2h}"),
            "r.yaml:1:20: nodes.heartbeat must be from 10ms to 1h, not '2h'");
}

TEST(ConfigErrors, BoolsAndChoicesListWhatIsPossible) {
  EXPECT_EQ(refused("jobs: {root_allowed: yes}"),
            "r.yaml:1:22: jobs.root_allowed must be true or false, not 'yes'");
  EXPECT_EQ(refused("node: {cgroup: v3}"),
            "r.yaml:1:16: node.cgroup must be one of auto, v1, v2, none, not 'v3'");
  EXPECT_EQ(refused("log: {level: loud}"),
            "r.yaml:1:14: log.level must be one of debug, info, warning, error, not 'loud'");
}

TEST(ConfigErrors, AddressesAreHostAndPort) {
  const auto shape = [](const std::string& key, int column, int port_min,
                        const std::string& value) {
    return "r.yaml:1:" + std::to_string(column) + ": " + key +
           " must be host:port, such as ctl1:7117 or [::1]:7117, with a port from " +
           std::to_string(port_min) + " to 65535" + (value.empty() ? "" : ", not '" + value + "'");
  };
  for (const std::string bad : {"ctl1", "ctl1:", ":7117", "ctl1:70000", "ctl1:http", "a b:1",
                                "ctl1:0", "::1:7117", "[]:1", "ctl1:-1", ""})
    EXPECT_EQ(refused("controller: {address: '" + bad + "'}"),
              shape("controller.address", 23, 1, bad));
  EXPECT_EQ(refused("controller: {listen: '0.0.0.0'}"),
            shape("controller.listen", 22, 0, "0.0.0.0"));
  for (const std::string good : {"ctl1:7117", "10.0.0.1:1", "[fe80::1]:65535", "a-b_c.d:1"})
    EXPECT_EQ(refused("controller: {address: '" + good + "'}"), "taken");
  EXPECT_EQ(refused("controller: {listen: '0.0.0.0:0'}"), "taken");
  EXPECT_EQ(refused("node: {address: ''}"), "taken");
}

TEST(ConfigErrors, TextsAreChecked) {
  EXPECT_EQ(
      refused("controller: {state_dir: var/lib}"),
      "r.yaml:1:25: controller.state_dir must be an absolute path, such as /var/lib/rota, not "
      "'var/lib'");
  EXPECT_EQ(
      refused("cluster: {name: 'a b'}"),
      "r.yaml:1:17: cluster.name must be 1 to 64 letters, digits, '-', '_' or '.', not 'a b'");
  EXPECT_EQ(
      refused("log: {file: rota.log}"),
      "r.yaml:1:13: log.file must be an absolute path, or '' for standard error, not 'rota.log'");
  EXPECT_EQ(refused("node: {cgroup_parent: ../x}"),
            "r.yaml:1:23: node.cgroup_parent must be a path below the cgroup root, such as rota or "
            "system.slice/rota, not '../x'");
  EXPECT_EQ(refused("node: {nvml: \"a\\nb\"}"),
            "r.yaml:1:14: node.nvml holds control characters: 'a\\nb'");
  EXPECT_EQ(refused("node: {nvml: " + std::string(1025, 'x') + "}"),
            "r.yaml:1:14: node.nvml has 1025 bytes, at most 1024 are allowed");
  EXPECT_EQ(refused("controller: {user: ''}"), "r.yaml:1:20: controller.user must not be empty");
}

TEST(ConfigErrors, BrokenYamlSaysWhere) {
  EXPECT_EQ(refused("nodes:\n\theartbeat: 5s\n"),
            "r.yaml:2:1: a tab stands here; YAML is indented with spaces");
  EXPECT_EQ(refused("nodes:\n  heartbeat: 5s\n\tlost_after: 60s\n"),
            "r.yaml:3:1: a tab stands here; YAML is indented with spaces");
  EXPECT_EQ(refused("nodes: {heartbeat: 5s\n"),
            "r.yaml:2:1: did not find expected ',' or '}' while parsing a flow mapping that starts "
            "in line 1");
  EXPECT_EQ(
      refused("log: {file: \"/x\n"),
      "r.yaml:2:1: found unexpected end of stream while scanning a quoted scalar that starts in "
      "line 1");
  EXPECT_EQ(
      refused("nodes:\n    heartbeat: 5s\n  lost_after: 60s\n"),
      "r.yaml:3:3: did not find expected key while parsing a block mapping that starts in line 1");
  EXPECT_EQ(refused("nodes:\n  heartbeat: 5s\n---\nnodes:\n"),
            "r.yaml:3:1: a second document starts here; the file must hold one");
}

TEST(ConfigErrors, AnchorsAliasesAndTagsAreRefused) {
  EXPECT_EQ(refused("nodes:\n  heartbeat: &h 5s\n"),
            "r.yaml:2:14: anchors (&name) are not allowed here");
  EXPECT_EQ(refused("nodes: &n\n  heartbeat: 5s\n"),
            "r.yaml:1:8: anchors (&name) are not allowed here");
  EXPECT_EQ(refused("nodes: *n\n"),
            "r.yaml:1:8: aliases (*name) are not allowed here; write the value out");
  EXPECT_EQ(refused("nodes:\n  heartbeat: !!str 5s\n"),
            "r.yaml:2:14: tags (!name) are not allowed here");
  EXPECT_EQ(refused("--- !x\nnodes:\n"), "r.yaml:1:5: tags (!name) are not allowed here");
}

TEST(ConfigErrors, OnlyUtf8) {
  EXPECT_EQ(refused("# \xc3\xa4\xc3\xb6 \xff\n"),
            "r.yaml:1:6: invalid leading UTF-8 octet; the file must be UTF-8 text");
  EXPECT_EQ(refused("nodes:\n  # \x01\n"),
            "r.yaml:2:5: control characters are not allowed; the file must be UTF-8 text");
  EXPECT_EQ(refused(std::string_view("log:\n\0", 6)),
            "r.yaml:2:1: control characters are not allowed; the file must be UTF-8 text");
  EXPECT_EQ(refused("\xff\xfel\0o\0g\0"),
            "r.yaml:1:1: invalid leading UTF-8 octet; the file must be UTF-8 text");
}

TEST(ConfigErrors, SizeAndDepthAreBounded) {
  EXPECT_EQ(refused(std::string((1 << 20) + 1, '#')), "r.yaml:1:1: the file is over 1048576 bytes");
  EXPECT_EQ(refused(std::string(1 << 20, '#')), "taken");
  EXPECT_EQ(refused("cluster: {name: " + std::string(500'000, '[')),
            "r.yaml:1:23: values are nested over 8 deep");
  EXPECT_EQ(refused(std::string(500'000, '{')), "r.yaml:1:9: values are nested over 8 deep");
  EXPECT_EQ(refused("cluster: {name: [x]}"),
            "r.yaml:1:17: cluster.name takes a string, not a list");
  EXPECT_EQ(refused("{{a: b}: c}"), "r.yaml:1:2: the name of a section is needed here");
}

TEST(ConfigErrors, ValuesThatDoNotGoTogether) {
  EXPECT_EQ(
      refused("nodes:\n  heartbeat: 10s\n  lost_after: 10s\n"),
      "r.yaml:3:15: nodes.lost_after (10s) must be longer than nodes.heartbeat (10s); three times "
      "as long is a good start");
  EXPECT_EQ(
      refused("nodes:\n  heartbeat: 2m\n"),
      "r.yaml:2:14: nodes.lost_after (1m) must be longer than nodes.heartbeat (2m); three times as "
      "long is a good start");
  EXPECT_EQ(
      refused("nodes:\n  fence_after: 30s\n"),
      "r.yaml:2:16: nodes.fence_after (30s) must be 0 (never) or at least nodes.lost_after (1m)");
  EXPECT_EQ(refused("nodes:\n  fence_after: 60s\n"), "taken");
  EXPECT_EQ(refused("jobs:\n  time_limit_default: 3d\n  time_limit_max: 2d\n"),
            "r.yaml:2:23: jobs.time_limit_default (3d) must be at most jobs.time_limit_max (2d)");
  EXPECT_EQ(
      refused("controller:\n  sessions_max: 100\n"),
      "r.yaml:2:17: controller.half_open_max (512) must be at most controller.sessions_max (100)");
}

/// A file in a directory of its own, and the variables that name it, gone at the end.
class ConfigFile : public testing::Test {
 protected:
  ConfigFile() {
    directory_ = testing::TempDir() + "rota-config-XXXXXX";
    EXPECT_NE(mkdtemp(directory_.data()), nullptr);
    clear();
  }
  ~ConfigFile() override {
    std::filesystem::remove_all(directory_);
    clear();
  }
  static void clear() {
    for (const char* name : {"ROTA_CONFIG", "ROTA_CONTROLLER", "ROTA_MUNGE_SOCKET"}) unsetenv(name);
  }
  std::string file(const std::string& text) const {
    std::ofstream(directory_ + "/rota.yaml") << text;
    return directory_ + "/rota.yaml";
  }
  std::string directory_;
};

TEST_F(ConfigFile, IsReadAndNamedInErrors) {
  const std::string good = file("cluster: {name: one}\n");
  EXPECT_EQ(config_load(good)->cluster_name, "one");
  const std::string bad = file("clustr:\n");
  EXPECT_EQ(config_load(bad).error().detail,
            bad + ":1:1: unknown section 'clustr'; did you mean 'cluster'?");
  EXPECT_EQ(
      config_load(bad).error().message(),
      "invalid configuration: " + bad + ":1:1: unknown section 'clustr'; did you mean 'cluster'?");
}

TEST_F(ConfigFile, ThatCannotBeReadSaysWhy) {
  const std::string missing = directory_ + "/none.yaml";
  EXPECT_EQ(config_load(missing).error().detail,
            "cannot read the configuration " + missing + ": No such file or directory");
  EXPECT_EQ(config_load(missing).error().code, Errc::not_found);
  EXPECT_EQ(config_load(directory_).error().detail,
            "cannot read the configuration " + directory_ + ": Is a directory");
  EXPECT_EQ(config_load("/dev/zero").error().detail,
            "/dev/zero:1:1: the file is over 1048576 bytes");
}

TEST_F(ConfigFile, TheEnvironmentNamesItAndWinsOverIt) {
  setenv("ROTA_CONFIG", file("controller: {address: 'a:1'}\nmunge: {socket: /m}\n").c_str(), 1);
  EXPECT_EQ(config_default()->controller_address, "a:1");
  EXPECT_EQ(config_default()->munge_socket, "/m");
  setenv("ROTA_CONTROLLER", "b:2", 1);
  setenv("ROTA_MUNGE_SOCKET", "/n", 1);
  EXPECT_EQ(config_default()->controller_address, "b:2");
  EXPECT_EQ(config_default()->munge_socket, "/n");
  setenv("ROTA_CONTROLLER", "b", 1);
  EXPECT_EQ(
      config_default().error().detail,
      "$ROTA_CONTROLLER: controller.address must be host:port, such as ctl1:7117 or [::1]:7117, "
      "with a port from 1 to 65535, not 'b'");
}

TEST_F(ConfigFile, AFileThatTheEnvironmentNamesMustBeThere) {
  setenv("ROTA_CONFIG", (directory_ + "/none.yaml").c_str(), 1);
  EXPECT_EQ(config_default().error().code, Errc::not_found);
}

/// "dgx: n1 n2; lab: n1".
std::string groups_of(std::string_view text) {
  std::string shown;
  for (const NamedNodes& group : read(text).node_groups) {
    shown += (shown.empty() ? "" : "; ") + group.name + ":";
    for (const std::string& node : group.nodes) shown += " " + node;
  }
  return shown;
}

TEST(ConfigGroups, NamesAndHostLists) {
  EXPECT_EQ(groups_of("node_groups:\n"), "");
  EXPECT_EQ(groups_of("node_groups:\n  lab: n2,n1,n2\n  dgx-1.x: dgx[08-10]\n"),
            "dgx-1.x: dgx08 dgx09 dgx10; lab: n1 n2");
  EXPECT_EQ(groups_of("node_groups: {dgx: 'n[1-2],x'}"), "dgx: n1 n2 x");
}

TEST(ConfigGroups, WhatIsWrongHasItsPlace) {
  EXPECT_EQ(refused("node_groups:\n  a b: n1\n"),
            "r.yaml:2:3: the name of a group must be 1 to 64 letters, digits, '-', '_' or '.', not "
            "'a b'");
  EXPECT_EQ(refused("node_groups:\n  -x: n1\n"),
            "r.yaml:2:3: the name of a group begins with a letter or digit, not '-x'");
  EXPECT_EQ(refused("node_groups:\n  none: n1\n"),
            "r.yaml:2:3: 'none' means that there is no group; choose another name");
  EXPECT_EQ(refused("node_groups:\n  lab: n1\n  Lab: n2\n"),
            "r.yaml:3:3: 'node_groups.lab' stands here a second time; first in line 2");
  EXPECT_EQ(refused("node_groups:\n  lab: n[1-\n"),
            "r.yaml:2:8: node_groups.lab: host list column 2: this '[' is never closed");
  EXPECT_EQ(refused("node_groups:\n  lab: [n1, n2]\n"),
            "r.yaml:2:8: node_groups.lab takes a host list, such as dgx[01-20],login1");
  EXPECT_EQ(refused("node_groups:\n  lab:\n"),
            "r.yaml:2:7: node_groups.lab takes a host list, such as dgx[01-20],login1");
  EXPECT_EQ(refused("node_group:\n  lab: n1\n"),
            "r.yaml:1:1: unknown section 'node_group'; did you mean 'node_groups'?");
  EXPECT_EQ(refused("node_groups: n1\n"),
            "r.yaml:1:14: keys are needed below 'node_groups:', each on a line of its own and "
            "indented");
}

TEST(ConfigGroups, HaveLimits) {
  std::string many = "node_groups:\n";
  for (int i = 0; i <= 1000; ++i) many += "  g" + std::to_string(i) + ": n1\n";
  EXPECT_EQ(refused(many), "r.yaml:1002:10: more than 1000 groups of nodes");
  std::string large = "node_groups:\n";
  for (const char* name : {"a", "b", "c"}) large += std::string("  ") + name + ": n[1-90000]\n";
  EXPECT_EQ(refused(large),
            "r.yaml:4:6: node_groups.c: the groups have more than 200000 nodes in all");
}

}  // namespace
}  // namespace rota
