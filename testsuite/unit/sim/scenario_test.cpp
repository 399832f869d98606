// testsuite/unit/sim/scenario_test.cpp - scenarios: what they say, what does not hold, what is
// wrong.
#include <gtest/gtest.h>

#include "common/format.h"
#include "sim/scenario_run.h"

namespace rota::sim {
namespace {

constexpr std::string_view head =
    "cluster: {nodes: [{names: 'n[1-2]', gpus: 4}]}\n"
    "departments: {d: {quota: 4}}\n"
    "projects: {a: {quota: 4, department: d}, b: {quota: 4}}\n"
    "steps:\n";

/// "N passed" and then one line for each failure; or the error.
std::string play(std::string_view steps, std::string_view before = head) {
  const auto scenario = scenario_parse(format("{}{}", before, steps), "s.yaml");
  if (!scenario) return scenario.error().detail;
  const ScenarioOutcome outcome = run_scenario(*scenario);
  std::string text = format("{} passed", outcome.passed);
  for (const ScenarioFailure& failure : outcome.failures)
    text += format("\n{}:{} {}: {} but {}", failure.mark.line, failure.mark.column, failure.what,
                   failure.expected, failure.came);
  return text;
}

TEST(Scenario, EveryExpectationCounts) {
  EXPECT_EQ(play("- submit: {name: 'x-[1-3]', project: a, gpus: 2, runs: 10m}\n"
                 "- submit: {name: y, project: b, gpus: 4, kind: inference}\n"
                 "- submit: {name: z, gpus: 5}\n"
                 "- expect:\n"
                 "    running: ['x-[1-2]', y]\n"
                 "    waiting: [x-3]\n"
                 "    refused: z\n"
                 "    ended: []\n"
                 "    held: {a: 4, b: 4, d: 4}\n"
                 "    share: {a: 4, b: 4}\n"
                 "    nodes: {n1: ['x-[1-2]'], n2: y}\n"
                 "    preempted: {x-3: 1, y: 0}\n"
                 "    idle: 0\n"
                 "- wait: 10m\n"
                 "- cancel: [y, z]\n"
                 "- expect: {ended: ['x-[1-2]'], running: [x-3], cancelled: [y], idle: 6}\n"),
            "18 passed");
}

// Two nodes of four: e starts on one, has the other while nobody needs it, and gives it back.
TEST(Scenario, ElasticJobsGrowAndShrink) {
  const auto with = [](const char* how) {
    return play(
        format("- submit: {{name: e, project: a, nodes: 1-2, gpus: 4, preemptible: {}}}\n"
               "- expect: {{running: e, nodes: {{n1: e, n2: e}}, held: {{a: 8}}, idle: 0}}\n"
               "- submit: {{name: y, project: b, gpus: 4, runs: 1h}}\n"
               "- expect: {{running: [e, y], held: {{a: 4, b: 4}}, preempted: {{e: 0}}}}\n"
               "- wait: 2h\n"
               "- expect: {{running: e, held: {{a: 8}}, nodes: {{n1: e, n2: e}}}}\n",
               how));
  };
  EXPECT_EQ(with("yes"), "13 passed");
  EXPECT_EQ(with("semi"), "13 passed");
}

TEST(Scenario, NodesAreANumberOrARange) {
  const auto nodes = [](const char* text) {
    return play(format("- submit: {{name: e, project: a, nodes: {}, gpus: 1}}\n", text));
  };
  const std::string wrong =
      "s.yaml:5:40: nodes must be a number from 1 to 100000 or a range of them such as 4-8, not ";
  EXPECT_EQ(nodes("1-1"), "0 passed");
  EXPECT_EQ(nodes("0"), wrong + "'0'");
  EXPECT_EQ(nodes("2-1"), wrong + "'2-1'");
  EXPECT_EQ(nodes("1-"), wrong + "'1-'");
  EXPECT_EQ(nodes("1-200000"), wrong + "'1-200000'");
}

constexpr std::string_view doors =
    "cluster: {nodes: [{names: n1, gpus: 4, groups: slow}, {names: n2, gpus: 4, groups: fast}]}\n"
    "projects: {a: {quota: 8}, b: {quota: 0}}\n"
    "queues:\n"
    "  quick: {node_group: fast, priority: 90, time_limit_max: 10m, projects: [a]}\n"
    "steps:\n";

// A queue leads to its nodes, with its priority.
TEST(Scenario, JobsComeThroughQueues) {
  EXPECT_EQ(play("- submit: {name: 'low-[1-2]', project: a, gpus: 4}\n"
                 "- expect: {nodes: {n1: low-1, n2: low-2}}\n"
                 "- submit: {name: x, project: a, gpus: 2, queue: quick}\n"
                 "- expect: {nodes: {n1: low-1, n2: x}, waiting: low-2}\n",
                 doors),
            "5 passed");
  EXPECT_EQ(play("- submit: {name: x, project: b, gpus: 2, queue: quick}\n", doors),
            "s.yaml:6:49: queue 'quick' is for the projects a, not for 'b'");
  EXPECT_EQ(play("- submit: {name: x, project: a, queue: quikc}\n", doors),
            "s.yaml:6:40: there is no queue 'quikc'; did you mean 'quick'?");
  EXPECT_EQ(play("- submit: {name: x, project: a, queue: quick, runs: 1h, limit: 1h}\n", doors),
            "s.yaml:6:40: queue 'quick' allows a limit of at most 600 s");
}

// A project's rule by group means something, as in a controller.
TEST(Scenario, ProjectsKeepToTheirGroups) {
  const std::string rules =
      "cluster: {nodes: [{names: n1, gpus: 4, groups: slow}, {names: n2, gpus: 4, groups: Fast}]}\n"
      "projects: {a: {quota: 8, train_node_groups: [fast]}}\n"
      "steps:\n";
  EXPECT_EQ(play("- submit: {name: 'x-[1-2]', project: a, gpus: 4}\n"
                 "- expect: {nodes: {n1: [], n2: x-1}, waiting: x-2}\n",
                 rules),
            "3 passed");
}

TEST(Scenario, SaysWhatWasExpectedAndWhatCame) {
  EXPECT_EQ(play("- submit: {name: 'x-[1-3]', project: a, gpus: 4}\n"
                 "- expect: {running: ['x-[1-3]'], held: {a: 12, b: 0.5}, idle: 1}\n"
                 "- expect: {waiting: [], nodes: {n1: [x-2]}, preempted: {x-1: 2}}\n"),
            "0 passed\n"
            "6:12 running: x-[1-3] but x-[1-2] (x-3: needs 4 GPUs, 1 task of 1 CPU: 0 GPUs and 126 "
            "CPUs are free, at most 0 GPUs on one node)\n"
            "6:41 held: a: 12 but 8\n"
            "6:48 held: b: 0.5 but 0\n"
            "6:57 idle: 1 but 0\n"
            "7:12 waiting: none but x-3 (x-3: needs 4 GPUs, 1 task of 1 CPU: 0 GPUs and 126 CPUs "
            "are free, at most 0 GPUs on one node)\n"
            "7:33 nodes: n1: x-2 but x-1\n"
            "7:57 preempted: x-1: 2 but 0");
}

// One step is one moment: b has a right to the GPUs, so x never starts. In two steps it does.
TEST(Scenario, AListIsSubmittedAtOneMoment) {
  EXPECT_EQ(play("- submit:\n"
                 "  - {name: 'x-[1-2]', project: a, gpus: 4}\n"
                 "  - {name: y, project: b, gpus: 4}\n"
                 "- expect: {running: [x-1, y], preempted: {x-2: 0}}\n"),
            "2 passed");
  EXPECT_EQ(play("- submit: {name: 'x-[1-2]', project: a, gpus: 4}\n"
                 "- submit: {name: y, project: b, gpus: 4}\n"
                 "- expect: {running: [x-1, y], preempted: {x-2: 1}}\n"),
            "2 passed");
}

TEST(Scenario, AStreamComesWhileTimeGoesOn) {
  EXPECT_EQ(play("- submit: {name: 'x-[1-4]', project: a, gpus: 1, every: 10m, runs: 15m}\n"
                 "- expect: {running: [x-1], waiting: []}\n"
                 "- wait: 20m\n"
                 "- expect: {ended: [x-1], running: [x-2, x-3]}\n"
                 "- wait: 1h\n"
                 "- expect: {ended: ['x-[1-4]']}\n"),
            "5 passed");
}

TEST(Scenario, PartsOfGpus) {
  EXPECT_EQ(play("- submit: {name: 'x-[1-3]', project: a, gpus: 0.4}\n"
                 "- expect: {held: {a: 1.2}, idle: 6, same_gpu: [[x-1, x-2]]}\n"
                 "- expect: {same_gpu: [[x-1, x-3]]}\n"),
            "3 passed\n7:23 same_gpu: x-[1,3] on one GPU but x-1 on n1[0], x-3 on n1[1]");
}

TEST(Scenario, ThePolicyIsThatOfRotaYaml) {
  const std::string before =
      "cluster: {nodes: [{names: n1, gpus: 4}]}\n"
      "policy: {min_runtime_reclaim: 10m}\n"
      "projects: {a: {quota: 0}, b: {quota: 4}}\n"
      "steps:\n";
  EXPECT_EQ(play("- submit: {name: x, project: a, gpus: 4}\n"
                 "- submit: {name: y, project: b, gpus: 4}\n"
                 "- wait: 9m\n"
                 "- expect: {running: [x]}\n"
                 "- wait: 1m\n"
                 "- expect: {running: [y]}\n",
                 before),
            "2 passed");
  EXPECT_EQ(play("- wait: 1s",
                 "cluster: {nodes: [{names: n1, gpus: 4}]}\n"
                 "policy: {reservation: 1}\nsteps:\n"),
            "s.yaml:2:10: a policy has no key 'reservation'; did you mean 'reservations'?");
  EXPECT_EQ(play("- wait: 1s",
                 "cluster: {nodes: [{names: n1, gpus: 4}]}\n"
                 "policy: {reservations: x}\nsteps:\n"),
            "s.yaml:2:24: scheduler.reservations must be a number from 0 to 1000, not 'x'");
}

TEST(Scenario, SaysWhatIsWrongAndWhere) {
  EXPECT_EQ(play("- sumbit: {name: x}"),
            "s.yaml:5:3: a step has no key 'sumbit'; did you mean 'submit'?");
  EXPECT_EQ(play("- wait: 5"),
            "s.yaml:5:9: wait: '5' has no unit; write 5s, 5m, 5h or 5d (also ms)");
  EXPECT_EQ(play("- wait: 1s\n  cancel: []"),
            "s.yaml:5:3: a step is one of submit, wait, cancel and expect");
  EXPECT_EQ(play("- submit: {project: a}"), "s.yaml:5:11: a job needs 'name:'");
  EXPECT_EQ(play("- submit: {name: x, project: aa}"),
            "s.yaml:5:30: there is no project 'aa'; did you mean 'a'?");
  EXPECT_EQ(play("- submit: {name: x, gpus: -1}"),
            "s.yaml:5:27: gpus: '-1' is no number; write digits, such as 4 or 1.5");
  EXPECT_EQ(play("- submit: {name: x, gpus: 1.5}"),
            "s.yaml:5:27: gpus must be a whole number up to 1024, or a part of one GPU");
  EXPECT_EQ(play("- submit: {name: x}\n- expect: {same_gpu: [x]}"),
            "s.yaml:6:22: same_gpu: lists of jobs are needed here, such as [[a, b]]");
  EXPECT_EQ(play("- submit: {name: x, kind: batch}"),
            "s.yaml:5:27: kind must be one of train, interactive, inference, not 'batch'");
  EXPECT_EQ(play("- submit: {name: x, priority: hihg}").substr(0, 41),
            "s.yaml:5:31: priority must be a number fr");
  EXPECT_EQ(play("- submit: {name: x, preemptible: maybe}"),
            "s.yaml:5:34: preemptible must be yes, no or semi");
  EXPECT_EQ(play("- submit: {name: x, runs: 2h, limit: 1h}"),
            "s.yaml:5:38: limit is shorter than 'runs:', which must be given");
  EXPECT_EQ(play("- submit: {name: x, nodes: 2}").substr(0, 24), "s.yaml:5:11: 2 nodes for");
  EXPECT_EQ(play("- submit: {name: x}\n- submit: {name: x}"),
            "s.yaml:6:11: job 'x' is submitted twice");
  EXPECT_EQ(play("- submit: {name: job-x}\n- cancel: [job-y]"),
            "s.yaml:6:11: no job 'job-y' was submitted before; did you mean 'job-x'?");
  EXPECT_EQ(play("- submit: {name: x}\n- expect: {running: [x, x]}"),
            "s.yaml:6:21: running: 'x' is there twice");
  EXPECT_EQ(play("- expect: {held: {cc: 1}}"),
            "s.yaml:5:19: there is no project or department 'cc'; known are a, b, default");
  EXPECT_EQ(play("- expect: {held: 4}"),
            "s.yaml:5:18: held: names with values are needed here, such as {a: 1}");
  EXPECT_EQ(play("- expect: {nodes: {n3: []}}"), "s.yaml:5:20: there is no node 'n3'");
  EXPECT_EQ(play("- expect: {runing: []}"),
            "s.yaml:5:12: an expectation has no key 'runing'; did you mean 'running'?");
  EXPECT_EQ(play("", "steps: []"), "s.yaml:1:1: a scenario needs 'cluster:'");
  EXPECT_EQ(play("", "cluster: {nodes: [{names: a, gpus: 1}]}"),
            "s.yaml:1:1: a scenario needs 'steps:'");
  EXPECT_EQ(play("", "cluster: {nodes: [{names: a, gpus: 1}]}\nsteps: []"),
            "s.yaml:2:8: steps: a list is needed here, such as - wait: 5m");
  EXPECT_EQ(play("",
                 "cluster: {nodes: [{names: a, gpus: 1}]}\nprojects: {a: {qouta: 1}}\n"
                 "steps: []"),
            "s.yaml:2:16: unknown key 'qouta'; did you mean 'quota'?");
  EXPECT_EQ(play("", ""), "s.yaml:1:1: empty; a scenario has 'cluster:' and 'steps:'");
}

}  // namespace
}  // namespace rota::sim
