// sim/scenario_file.cpp - reads a scenario from the top down, and knows all names at each step.
#include "sim/scenario_file.h"

#include <algorithm>
#include <array>
#include <set>

#include "common/escape.h"
#include "common/format.h"
#include "common/hostlist.h"
#include "common/nearest.h"
#include "model/org_yaml.h"
#include "sched/policy_config.h"
#include "sim/policy_keys.h"
#include "sim/scenario_job.h"
#include "sim/yaml_keys.h"

namespace rota::sim {
namespace {

using Kind = Expectation::Kind;

constexpr YamlBounds bounds{.bytes_max = 1 << 20, .nodes_max = 50'000, .depth_max = 8};
constexpr std::size_t jobs_max = 100'000;
constexpr std::int64_t times_max = 1'000'000;

constexpr std::array<std::string_view, 7> sections{"cluster", "policy", "departments", "projects",
                                                   "queues",  "users",  "steps"};
constexpr std::array<std::string_view, 4> org_sections{"departments", "projects", "queues",
                                                       "users"};
constexpr std::array<std::string_view, 4> step_keys{"submit", "wait", "cancel", "expect"};
constexpr std::array<std::string_view, 11> expect_keys{"running", "waiting",  "ended", "cancelled",
                                                       "refused", "held",     "share", "preempted",
                                                       "nodes",   "same_gpu", "idle"};

class Reader {
 public:
  explicit Reader(const std::string& file) { scenario_.file = file; }

  Result<Scenario> read(const YamlNode& root) {
    ROTA_TRY(const auto keys, YamlKeys::open(root, file(), "a scenario", sections));
    ROTA_TRY(const YamlNode* cluster, keys.need("cluster"));
    ROTA_TRY(scenario_.cluster, cluster_read(*cluster, file()));
    ROTA_CHECK(read_org(root));
    ROTA_CHECK(read_policy(keys.find("policy")));
    ROTA_TRY(const YamlNode* steps, keys.need("steps"));
    if (!steps->is_list() || steps->items.empty())
      return at(*steps, "steps: a list is needed here, such as - wait: 5m");
    for (const YamlNode& step : steps->items) ROTA_CHECK(read_step(step));
    return std::move(scenario_);
  }

 private:
  const std::string& file() const { return scenario_.file; }
  Error at(const YamlNode& node, std::string_view what) const {
    return yaml_error(file(), node.mark, what);
  }

  /// The sections of projects.yaml stand beside the others.
  Result<void> read_org(const YamlNode& root) {
    YamlNode part;
    part.kind = YamlNode::Kind::mapping;
    part.mark = root.mark;
    for (std::size_t i = 0; i < root.keys.size(); ++i) {
      const std::string& key = root.keys[i].text;
      if (std::find(org_sections.begin(), org_sections.end(), key) == org_sections.end()) continue;
      part.keys.push_back(root.keys[i]);
      part.items.push_back(root.items[i]);
    }
    ROTA_TRY(scenario_.org, org_read(part, file()));
    return {};
  }

  Result<void> read_policy(const YamlNode* node) {
    Config config;
    if (node != nullptr) {
      const auto known = policy_keys();
      ROTA_CHECK(YamlKeys::open(*node, file(), "a policy", known));
      for (std::size_t i = 0; i < node->keys.size(); ++i) {
        const std::string& key = node->keys[i].text;
        ROTA_TRY(const std::string word, yaml_word(node->items[i], file(), key));
        if (auto done = policy_assign(config, key, word); !done)
          return at(node->items[i], done.error().detail);
      }
    }
    scenario_.policy = sched::policy_from(config);
    return {};
  }

  Result<void> read_step(const YamlNode& node) {
    ROTA_TRY(const auto keys, YamlKeys::open(node, file(), "a step", step_keys));
    if (node.keys.size() != 1) return at(node, "a step is one of submit, wait, cancel and expect");
    const YamlNode& value = node.items.front();
    if (keys.find("submit") != nullptr) return read_submit(value);
    if (keys.find("wait") != nullptr) {
      ROTA_TRY(const auto time, read_sim_time(value, file(), "wait"));
      scenario_.steps.push_back(WaitStep{time});
      return {};
    }
    if (keys.find("cancel") != nullptr) {
      ROTA_TRY(auto names, read_jobs(value, "cancel"));
      scenario_.steps.push_back(CancelStep{std::move(names)});
      return {};
    }
    return read_expect(value);
  }

  Result<void> read_submit(const YamlNode& value) {
    SubmitStep step;
    if (value.is_list()) {
      for (const YamlNode& item : value.items) ROTA_CHECK(read_submitted(item, step));
    } else {
      ROTA_CHECK(read_submitted(value, step));
    }
    std::stable_sort(step.jobs.begin(), step.jobs.end(),
                     [](const ScenarioJob& a, const ScenarioJob& b) { return a.after < b.after; });
    scenario_.steps.push_back(std::move(step));
    return {};
  }

  Result<void> read_submitted(const YamlNode& item, SubmitStep& step) {
    ROTA_TRY(auto jobs, read_scenario_jobs(item, file(), scenario_.org));
    for (ScenarioJob& job : jobs) {
      if (!jobs_.insert(job.spec.name).second)
        return at(item, format("job {} is submitted twice", quoted(job.spec.name)));
      if (jobs_.size() > jobs_max) return at(item, format("more than {} jobs", jobs_max));
      step.jobs.push_back(std::move(job));
    }
    return {};
  }

  /// [a, "b-[1-3]"], each of which was submitted before.
  Result<std::vector<std::string>> read_jobs(const YamlNode& value, std::string_view key) const {
    ROTA_TRY(const auto words, yaml_words(value, file(), key));
    std::vector<std::string> names;
    for (const std::string& word : words) {
      const auto expanded = hostlist_expand(word);
      if (!expanded) return at(value, format("{}: {}", key, expanded.error().detail));
      for (const std::string& name : *expanded) {
        ROTA_CHECK(check_job(value, name));
        names.push_back(name);
      }
    }
    std::sort(names.begin(), names.end());
    if (const auto twice = std::adjacent_find(names.begin(), names.end()); twice != names.end())
      return at(value, format("{}: {} is there twice", key, quoted(*twice)));
    return names;
  }

  Result<void> check_job(const YamlNode& node, const std::string& name) const {
    if (jobs_.contains(name)) return {};
    const std::vector<std::string_view> known(jobs_.begin(), jobs_.end());
    const auto near = nearest(name, known);
    return at(node, format("no job {} was submitted before{}", quoted(name),
                           near.empty() ? "" : format("; did you mean '{}'?", near)));
  }

  Result<void> check_org(const YamlNode& node, const std::string& name) const {
    if (find_project(scenario_.org, name) != nullptr) return {};
    if (find_department(scenario_.org, name) != nullptr) return {};
    return at(node, format("there is no project or department {}; {}", quoted(name),
                           known_projects(scenario_.org, name)));
  }

  Result<void> check_node(const YamlNode& node, const std::string& name) const {
    for (const NodeGroup& group : scenario_.cluster.groups)
      if (std::find(group.names.begin(), group.names.end(), name) != group.names.end()) return {};
    return at(node, format("there is no node {}", quoted(name)));
  }

  Result<void> read_expect(const YamlNode& value) {
    ROTA_CHECK(YamlKeys::open(value, file(), "an expectation", expect_keys));
    ExpectStep step;
    for (std::size_t i = 0; i < value.keys.size(); ++i) {
      const auto at = std::find(expect_keys.begin(), expect_keys.end(), value.keys[i].text);
      const auto kind = static_cast<Kind>(at - expect_keys.begin());
      ROTA_CHECK(read_expected(kind, value.keys[i].mark, value.items[i], step));
    }
    scenario_.steps.push_back(std::move(step));
    return {};
  }

  Result<void> read_expected(Kind kind, YamlMark mark, const YamlNode& value, ExpectStep& step) {
    const std::string_view key = name_of(kind);
    switch (kind) {
      case Kind::held:
      case Kind::share:
      case Kind::preempted:
      case Kind::node:
        return read_each(kind, value, step);
      case Kind::same_gpu:
        return read_groups(value, step);
      case Kind::idle: {
        ROTA_TRY(const auto amount, read_gpus(value, file(), key));
        step.expectations.push_back({.kind = kind, .mark = mark, .amount = amount});
        return {};
      }
      default: {
        ROTA_TRY(auto names, read_jobs(value, key));
        step.expectations.push_back({.kind = kind, .mark = mark, .names = std::move(names)});
        return {};
      }
    }
  }

  /// [[a, b], [c, d]]: one for every group of jobs.
  Result<void> read_groups(const YamlNode& value, ExpectStep& step) {
    const std::string_view key = name_of(Kind::same_gpu);
    if (!value.is_list() || value.items.empty() || !value.items.front().is_list())
      return at(value, format("{}: lists of jobs are needed here, such as [[a, b]]", key));
    for (const YamlNode& group : value.items) {
      ROTA_TRY(auto names, read_jobs(group, key));
      step.expectations.push_back(
          {.kind = Kind::same_gpu, .mark = group.mark, .names = std::move(names)});
    }
    return {};
  }

  /// One for every key below it: {team-a: 4, team-b: 2}.
  Result<void> read_each(Kind kind, const YamlNode& value, ExpectStep& step) {
    const std::string_view key = name_of(kind);
    if (!value.is_mapping())
      return at(value, format("{}: names with values are needed here, such as {{a: 1}}", key));
    YamlOnce once;
    for (std::size_t i = 0; i < value.keys.size(); ++i) {
      const YamlNode& name = value.keys[i];
      ROTA_CHECK(once.check(file(), name.text, name.mark));
      Expectation expectation{.kind = kind, .mark = name.mark, .subject = name.text};
      if (kind == Kind::node) {
        ROTA_CHECK(check_node(name, name.text));
        ROTA_TRY(expectation.names, read_jobs(value.items[i], key));
      } else if (kind == Kind::preempted) {
        ROTA_CHECK(check_job(name, name.text));
        ROTA_TRY(expectation.amount, yaml_number(value.items[i], file(), key, 0, times_max));
      } else {
        ROTA_CHECK(check_org(name, name.text));
        ROTA_TRY(expectation.amount, read_gpus(value.items[i], file(), key));
      }
      step.expectations.push_back(std::move(expectation));
    }
    return {};
  }

  Scenario scenario_;
  std::set<std::string, std::less<>> jobs_;  // submitted so far
};

}  // namespace

std::string_view name_of(Kind kind) { return expect_keys[static_cast<std::size_t>(kind)]; }

Result<Scenario> scenario_parse(std::string_view text, const std::string& name) {
  ROTA_TRY(const auto root, yaml_parse(text, name, bounds));
  if (!root) return yaml_error(name, {}, "empty; a scenario has 'cluster:' and 'steps:'");
  return Reader(name).read(*root);
}

Result<Scenario> scenario_load(const std::string& path) {
  ROTA_TRY(const std::string text, yaml_read_file(path, "the scenario", bounds.bytes_max));
  return scenario_parse(text, path);
}

}  // namespace rota::sim
