// testsuite/unit/sim/replay_test.cpp - a small trace, worked out by hand: testsuite/replay.
#include "sim/replay.h"

#include <gtest/gtest.h>

#include "common/format.h"
#include "model/org_yaml.h"
#include "sample_file.h"
#include "sim/progress.h"
#include "sim/replay_html.h"
#include "sim/replay_report.h"
#include "sim/svg_plot.h"
#include "sim/what_if_html.h"
#include "sim/what_if_text.h"

namespace rota::sim {
namespace {

const std::string samples = ROTA_SRCDIR "/testsuite/replay/";

ReplayReport report(const ReplayOptions& options = {}, const char* projects = "projects.yaml") {
  const auto cluster = cluster_load(samples + "cluster.yaml");
  const auto org = org_load(samples + projects);
  const auto trace = trace_load(samples + "trace.csv", {.org = &*org});
  return report_of(replay(*cluster, *org, *trace, options));
}

/// "jobs=5/4/1/0 wait=75,300 completion=385.125,1400 hours=1.295+1.239 preempted=1 lost=0.222".
std::string numbers(const ProjectReport& p) {
  return format(
      "jobs={}/{}/{}/{} wait={:.5g},{:g} completion={:.6g},{:g} hours={:.4g}+{:.4g} "
      "preempted={} lost={:.3f}",
      p.jobs, p.finished, p.refused, p.unfinished, p.wait.mean, p.wait.max, p.completion.mean,
      p.completion.p99, p.gpu_hours_in_quota, p.gpu_hours_over_quota, p.preemptions,
      p.gpu_hours_lost);
}

// a1 holds 8 GPUs for 100 s, makes way for b1, and runs for 1000 s when b1 has ended at 400 s.
TEST(Replay, CountsWhatHappened) {
  const ReplayReport r = report();
  ASSERT_EQ(r.projects.size(), 3u);
  EXPECT_EQ(numbers(r.projects[1]),
            "jobs=5/4/1/0 wait=75,300 completion=385.125,1400 hours=1.295+1.239 preempted=1 "
            "lost=0.222");
  EXPECT_EQ(numbers(r.projects[2]),
            "jobs=2/2/0/0 wait=0,0 completion=200,300 hours=0.3333+0.05556 preempted=0 lost=0.000");
  EXPECT_EQ(numbers(r.projects[0]),
            "jobs=1/1/0/0 wait=20,20 completion=60,60 hours=0+0.02222 preempted=0 lost=0.000");
  EXPECT_EQ(r.all.jobs, 8u);
  EXPECT_DOUBLE_EQ(r.makespan_seconds, 2070);
  EXPECT_NEAR(r.all.utilisation, (1.295 + 1.239 + 0.3889 + 0.0222) * 3600 / (8 * 2070), 1e-3);
}

// 8700 of the GPU seconds that team-a asked for were work; b had all of its, default 80 of 120.
TEST(Replay, FairnessIsJainsIndexOfWhatWasServed) {
  const double a = (8000 + 50 + 181.5 + 90) / (8 * 1400 + 50 + 181.5 + 90), b = 1, c = 80.0 / 120.0;
  const ReplayReport r = report();
  EXPECT_NEAR(*r.projects[1].served, a, 1e-9);
  EXPECT_NEAR(r.fairness, (a + b + c) * (a + b + c) / (3 * (a * a + b * b + c * c)), 1e-9);
  EXPECT_DOUBLE_EQ(jain_index({1, 1, 1}), 1);
  EXPECT_DOUBLE_EQ(jain_index({5, 0, 0, 0}), 0.25);
  EXPECT_DOUBLE_EQ(jain_index({}), 1);
}

// The second job of u, who has used the cluster for 20 s, comes after the first of v, though it
// came a second before it.
TEST(Replay, UsersOfAProjectTakeTurns) {
  const auto longest_wait = [](const char* second, const char* third) {
    const SampleFile file(
        format("submit_s,duration_s,gpus,user\n0,20,4,u\n5,10,4,{}\n6,10,4,{}\n", second, third));
    const auto root = yaml_parse("nodes: [{names: n1, gpus: 4}]", "c.yaml", {});
    const auto cluster = cluster_read(**root, "c.yaml");
    const auto trace = trace_load(file.path(), {});
    return report_of(replay(*cluster, even_org(*trace, *cluster), *trace, {})).all.wait.max;
  };
  EXPECT_DOUBLE_EQ(longest_wait("u", "v"), 25);
  EXPECT_DOUBLE_EQ(longest_wait("v", "v"), 24);
}

TEST(Replay, TheTimelineAddsUp) {
  const ReplayReport r = report();
  double gpu_seconds = 0, waiting = 0;
  for (const auto& project : r.timeline.gpus_held)
    for (const double held : project) gpu_seconds += held * r.timeline.piece_seconds;
  for (const double jobs : r.timeline.jobs_waiting) waiting += jobs * r.timeline.piece_seconds;
  EXPECT_NEAR(gpu_seconds / 3600, r.all.gpu_hours_in_quota + r.all.gpu_hours_over_quota, 1e-6);
  EXPECT_NEAR(waiting, 300 + 20, 1e-6);
  EXPECT_NEAR(r.timeline.gpus_held[1][0], 8, 1e-9) << "at first team-a holds everything";
}

TEST(Replay, ACheckpointLosesLess) {
  ReplayOptions options;
  options.cluster.checkpoint = 30'000;
  EXPECT_NEAR(report(options).all.gpu_hours_lost, 8 * 10.0 / 3600, 1e-9);
}

// With all of the cluster promised to team-a, b1 and b2 wait until a1 has ended.
TEST(Replay, QuotasDecide) {
  const ReplayReport before = report(), after = report({}, "changed.yaml");
  EXPECT_EQ(after.all.preemptions, 0u);
  EXPECT_DOUBLE_EQ(after.projects[2].wait.max, 900);
  EXPECT_DOUBLE_EQ(after.projects[1].wait.max, 800) << "a2 waits for a1 too";
  const std::string text = what_if_text(before, after, {});
  EXPECT_NE(text.find("team-b  4 > 0 0:00 > 14:35"), std::string::npos) << text;
  const std::string json = what_if_json(before, after);
  EXPECT_NE(json.find("\"difference\":{\"makespan_seconds\":0.000000,"), std::string::npos);
  EXPECT_NE(json.find("\"project\":\"team-b\",\"gpu_quota\":-4,\"wait_seconds_mean\":875.0"),
            std::string::npos);
}

TEST(Replay, ATraceWithoutProjectsSharesEvenly) {
  const auto cluster = cluster_load(samples + "cluster.yaml");
  const auto trace = trace_load(samples + "trace.csv", {});
  const Org org = even_org(*trace, *cluster);
  EXPECT_EQ(org_yaml(org),
            "projects:\n  default:\n    quota: 2.666666\n  team-a:\n    quota: 2.666666\n"
            "  team-b:\n    quota: 2.666666\n");
}

/// How each job of `gpus` GPUs was divided among the nodes, or "refused".
std::string parts(std::string_view nodes, std::string_view gpus) {
  const auto root = yaml_parse(format("nodes: [{}]", nodes), "c.yaml", {});
  const auto cluster = cluster_read(**root, "c.yaml");
  const SampleFile file(format("submit_s,duration_s,gpus,cpus\n0,10,{}\n", gpus));
  const auto trace = trace_load(file.path(), {});
  const auto log = replay(*cluster, even_org(*trace, *cluster), *trace, {});
  if (log.jobs.empty()) return "refused";
  const ReplayReport r = report_of(log);
  return format("{} ran {:g} s", r.all.finished, r.all.completion.max);
}

TEST(Replay, FewestNodesOrRefused) {
  EXPECT_EQ(parts("{names: 'n[1-2]', gpus: 8}", "16,"), "1 ran 10 s");
  EXPECT_EQ(parts("{names: 'n[1-2]', gpus: 8}", "13,"), "1 ran 10 s") << "7 and 6";
  EXPECT_EQ(parts("{names: 'n[1-2]', gpus: 8}", "17,"), "refused");
  EXPECT_EQ(parts("{names: n1, gpus: 8}, {names: 'm[1-4]', gpus: 2}", "12,"), "refused")
      << "no six nodes, no four with 3 each, no two with 6 each";
  EXPECT_EQ(parts("{names: n1, gpus: 8}, {names: 'm[1-4]', gpus: 4}", "20,"), "1 ran 10 s")
      << "five nodes of 4: three of 8 do not exist";
  EXPECT_EQ(parts("{names: n1, gpus: 8, cpus: 4}", "2,5"), "refused") << "not enough CPUs";
  EXPECT_EQ(parts("{names: n1, gpus: 8, cpus: 4}", "8,"), "1 ran 10 s") << "unknown CPUs are few";
  EXPECT_EQ(parts("{names: n1, gpus: 8}", "0,3"), "1 ran 10 s") << "a job without GPUs";
}

// Three halves on one GPU: two at a time.
TEST(Replay, PartsOfGpus) {
  const auto root = yaml_parse("nodes: [{names: n1, gpus: 1}]", "c.yaml", {});
  const auto cluster = cluster_read(**root, "c.yaml");
  const SampleFile file("submit_s,duration_s,gpus,gpu_fraction\n0,3600,1,.5\n");
  EXPECT_FALSE(trace_load(file.path(), {}));
  const SampleFile halves(
      "submit_s,duration_s,gpus,gpu_fraction\n0,3600,1,0.5\n0,3600,1,0.5\n0,3600,1,0.5\n");
  const auto trace = trace_load(halves.path(), {});
  const auto r = report_of(replay(*cluster, even_org(*trace, *cluster), *trace, {}));
  EXPECT_DOUBLE_EQ(r.makespan_seconds, 7200);
  EXPECT_DOUBLE_EQ(r.all.gpu_hours_in_quota, 1.5);
  EXPECT_DOUBLE_EQ(r.all.utilisation, 0.75);
}

TEST(Replay, Limits) {
  EXPECT_EQ(limits_parse("exact")->kind, Limits::Kind::exact);
  EXPECT_EQ(limits_parse("none")->kind, Limits::Kind::none);
  EXPECT_EQ(limits_parse("factor:1.5")->factor_micro, 1'500'000);
  EXPECT_FALSE(limits_parse("factor:0.5")) << "a job would be killed by its limit";
  EXPECT_FALSE(limits_parse("factor:"));
  EXPECT_FALSE(limits_parse("exactly"));
}

// 8 of 12 GPUs are busy for 100 s. The long one asks for 8, and the short one may pass it only
// where its limit says that it ends in time.
TEST(Replay, LimitsDecideWhoMayPass) {
  const auto root = yaml_parse("nodes: [{names: 'n[1-3]', gpus: 4}]", "c.yaml", {});
  const auto cluster = cluster_read(**root, "c.yaml");
  const SampleFile file("submit_s,duration_s,gpus\n0,100,8\n1,50,12\n2,60,4\n");
  const auto trace = trace_load(file.path(), {});
  const auto wait_of_last = [&](std::string_view limits) {
    const ReplayOptions options{.limits = *limits_parse(limits)};
    const auto log = replay(*cluster, even_org(*trace, *cluster), *trace, options);
    for (const Happening& each : log.happenings)
      if (each.job == 2 && each.what == Happening::What::started) return each.at / 1000;
    return SimTime{-1};
  };
  EXPECT_EQ(wait_of_last("exact"), 2);
  EXPECT_EQ(wait_of_last("factor:2"), 2) << "the place is kept for later too";
  EXPECT_EQ(wait_of_last("none"), 150) << "all are taken to run as long: it would come too late";
}

TEST(Replay, PercentilesAreByNearestRank) {
  std::vector<SimTime> values;
  for (int i = 100; i > 0; --i) values.push_back(i * 1000);
  const Spread spread = spread_of(values);
  EXPECT_DOUBLE_EQ(spread.mean, 50.5);
  EXPECT_DOUBLE_EQ(spread.p50, 50);
  EXPECT_DOUBLE_EQ(spread.p95, 95);
  EXPECT_DOUBLE_EQ(spread.p99, 99);
  EXPECT_DOUBLE_EQ(spread.max, 100);
  std::vector<SimTime> none;
  EXPECT_DOUBLE_EQ(spread_of(none).max, 0);
}

TEST(Replay, ThePageNeedsNothingElse) {
  ReplayReport r = report();
  r.projects[1].name = "<a & \"b\">";
  const std::string page = replay_html(r);
  EXPECT_EQ(page.find("http"), std::string::npos);
  EXPECT_EQ(page.find("<script"), std::string::npos);
  EXPECT_EQ(page.find("nan"), std::string::npos);
  EXPECT_EQ(page.find("inf"), std::string::npos);
  EXPECT_EQ(page.find("<a &"), std::string::npos);
  EXPECT_NE(page.find("&lt;a &amp; &quot;b&quot;&gt;"), std::string::npos);
}

// The numbers are those of Replay.QuotasDecide and t0202.
TEST(WhatIf, ThePageHasBothRuns) {
  ReplayReport before = report(), after = report({}, "changed.yaml");
  before.projects[1].name = after.projects[1].name = "<a & \"b\">";
  const std::string page = what_if_html(before, after);
  for (const char* never : {"http", "<script", "nan", "inf", "<a &"})
    EXPECT_EQ(page.find(never), std::string::npos) << never;
  for (const char* there : {"<h3>&lt;a &amp; &quot;b&quot;&gt;</h3>",
                            "<dd>64.0 % \u2192 59.2 %</dd>", "<td>4\n\u2192 0</td>",
                            "<td class=\"bad\">+437.5 %</td>", "<h2>GPUs in use, by project</h2>"})
    EXPECT_NE(page.find(there), std::string::npos) << there;
}

// Project i differs by i GPUs in the first piece: of twelve, p4 to p11 have a plot, p11 the first.
TEST(WhatIf, PlotsOnlyTheProjectsThatDifferMost) {
  ReplayReport before = report();
  before.projects.resize(12);
  before.timeline.gpus_held.resize(12, before.timeline.gpus_held[0]);
  for (std::size_t i = 0; i < 12; ++i) before.projects[i].name = "p" + std::to_string(i);
  ReplayReport after = before;
  for (std::size_t i = 1; i < 12; ++i) after.timeline.gpus_held[i][0] += static_cast<double>(i);
  const std::string page = what_if_html(before, after);
  EXPECT_NE(page.find("by project: the 8 that differ most"), std::string::npos);
  EXPECT_EQ(page.find("<h3>p3</h3>"), std::string::npos);
  EXPECT_LT(page.find("<h3>p11</h3>"), page.find("<h3>p4</h3>"));
  EXPECT_NE(page.find("<td>p0</td>"), std::string::npos) << "the table has all";
}

// Two pieces of 10 and 20 over 100 s; the axis ends at 20, so the upper edge goes from half to
// full.
TEST(Plot, AreasFillTheFrame) {
  const std::string plot = area_plot({"t", "y", 100, 20}, {PlotSeries{{10, 20}, 3}});
  EXPECT_NE(plot.find("style=\"fill:var(--c3)\" d=\"M64.0 116.0H444.0L444.0 12.0H824.0"),
            std::string::npos)
      << plot;
}

// A run of 50 s on an axis of 100 s ends in the middle.
TEST(Plot, LinesEndWhereTheirRunEnds) {
  const std::string plot = line_plot({"t", "y", 100, 20}, {PlotSeries{{10, 20}, 3, true, 50}});
  EXPECT_NE(plot.find("class=\"line dashed\" style=\"stroke:var(--c3)\" "
                      "d=\"M64.0 116.0H254.0L254.0 12.0H444.0\""),
            std::string::npos)
      << plot;
}

TEST(Progress, ShowsHowFarItIs) {
  EXPECT_EQ(Progress::line("replay", 0, 8), "replay [" + std::string(40, ' ') + "]   0 %");
  EXPECT_EQ(Progress::line("replay", 4, 8),
            "replay [" + std::string(20, '=') + std::string(20, ' ') + "]  50 %");
  EXPECT_EQ(Progress::line("after", 8, 8), "after [" + std::string(40, '=') + "] 100 %");
}

}  // namespace
}  // namespace rota::sim
