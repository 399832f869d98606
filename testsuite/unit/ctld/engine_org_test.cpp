// testsuite/unit/ctld/engine_org_test.cpp - which project, queue and time a job gets, and how an
// administrator changes them.
#include "ctld/engine_org.h"

#include <gtest/gtest.h>

#include "common/format.h"
#include "ctld/engine.h"
#include "model/org_yaml.h"
#include "proto/codec.h"

namespace rota::ctld {
namespace {

constexpr std::string_view teams = R"(
departments:
  research: {quota: 8}
projects:
  team-a:
    department: research
    quota: 4
    users: [ada]
    groups: [vision]
    default_queue: short
    interactive_time_limit: 8h
    time_limit_max: 2d
  team-b: {quota: 2}
  team-c: {time_limit_max: 2d}
queues:
  short: {time_limit_default: 30m, time_limit_max: 12h, priority: 80}
  closed: {projects: [team-b]}
users:
  ada: {default_project: team-a}
)";

Org org_of(std::string_view text) {
  auto org = org_parse(text, "p.yaml");
  EXPECT_TRUE(org) << org.error().detail;
  return org ? *std::move(org) : Org{};
}

/// "team-a short 80 1800s", or the error, for a job with these settings.
std::string admitted(const std::string& user, JobSpec spec, TimeRules rules = {},
                     const std::vector<std::string>& groups = {}) {
  const OrgBook book(org_of(teams), 1, 1);
  if (auto done = book.admit({1, 1, user}, groups, rules, spec); !done)
    return done.error().message();
  return format("{} {} {} {}s", spec.project, spec.queue.empty() ? "-" : spec.queue,
                spec.priority_or_kinds(), spec.time_limit_seconds);
}

JobSpec job(std::string project, std::string queue = "", std::int64_t seconds = 0,
            JobKind kind = JobKind::train) {
  JobSpec spec;
  spec.name = "j";
  spec.project = std::move(project);
  spec.queue = std::move(queue);
  spec.time_limit_seconds = seconds;
  spec.kind = kind;
  return spec;
}

TEST(Admission, AJobWithoutAProjectGoesToTheUsersElseToTheDefault) {
  EXPECT_EQ(admitted("ada", job("")), "team-a short 80 1800s");
  EXPECT_EQ(admitted("bob", job("")), "default - 50 0s");
  EXPECT_EQ(admitted("ada", job("team-b")), "team-b - 50 0s");
}

TEST(Admission, RefusesWithWhatWouldBeRight) {
  EXPECT_EQ(admitted("bob", job("taem-b")), "no such project: 'taem-b'; did you mean 'team-b'?");
  EXPECT_EQ(admitted("bob", job("x")),
            "no such project: 'x'; known are default, team-a, team-b, team-c");
  EXPECT_EQ(admitted("bob", job("team-a")),
            "permission denied: project 'team-a' is for ada and the group vision, not for bob; "
            "name another with --project");
  EXPECT_EQ(admitted("bob", job("team-a"), {}, {"users", "vision"}), "team-a short 80 1800s");
  EXPECT_EQ(admitted("bob", job("", "shrot")), "no such queue: 'shrot'; did you mean 'short'?");
  EXPECT_EQ(admitted("ada", job("", "closed")),
            "refused by policy: queue 'closed' is for the projects team-b, not for 'team-a'");
  EXPECT_EQ(admitted("ada", job("team-b", "closed")), "team-b closed 50 0s");
}

TEST(Admission, TimeIsAskedForOrFilledIn) {
  EXPECT_EQ(admitted("ada", job("team-a", "", 3600)), "team-a short 80 3600s");
  EXPECT_EQ(admitted("ada", job("team-a", "", 13 * 3600)),
            "refused by policy: the time limit is 13h, at most 12h is allowed for queue 'short' "
            "(time_limit_max)");
  EXPECT_EQ(
      admitted("ada", job("team-a", "", 9 * 3600, JobKind::interactive)),
      "refused by policy: the time limit is 9h, at most 8h is allowed for interactive jobs of "
      "project 'team-a' (interactive_time_limit)");
  EXPECT_EQ(admitted("ada", job("team-a", "", 9 * 3600)), "team-a short 80 32400s");
  // The project's, where its queue allows more or there is none.
  EXPECT_EQ(admitted("bob", job("team-c", "", 49 * 3600)),
            "refused by policy: the time limit is 2d1h, at most 2d is allowed for project 'team-c' "
            "(time_limit_max)");
  EXPECT_EQ(admitted("bob", job("team-c", "", 48 * 3600)), "team-c - 50 172800s");
  EXPECT_EQ(admitted("bob", job("team-c")), "team-c - 50 172800s");
  EXPECT_EQ(admitted("bob", job("team-c"), {3 * 86'400, 0}), "team-c - 50 172800s");
  // The cluster's rules where nobody else has one, and above all others.
  EXPECT_EQ(admitted("bob", job(""), {60, 0}), "default - 50 60s");
  EXPECT_EQ(admitted("bob", job(""), {0, 90}), "default - 50 90s");
  EXPECT_EQ(admitted("ada", job(""), {60, 100}), "team-a short 80 100s");
  EXPECT_EQ(admitted("bob", job("", "", 91), {0, 90}),
            "invalid job: the time limit is 91 s, at most 90 s are allowed (jobs.time_limit_max)");
  EXPECT_EQ(admitted("bob", job("", "short"), {86'400, 0}), "default short 80 1800s");
}

TEST(Admission, AJobsOwnPriorityCounts) {
  JobSpec spec = job("team-a");
  spec.priority = 7;
  EXPECT_EQ(admitted("ada", spec), "team-a short 7 1800s");
}

/// An engine and an administrator.
struct Admin {
  explicit Admin(Snapshot snapshot = {}) : engine({}, std::move(snapshot), at) {}

  std::string apply(std::string_view text, bool dry_run = false,
                    std::optional<std::uint64_t> revision = {}) {
    return told(engine.apply_org(caller, org_of(text), dry_run, revision));
  }
  std::string change(proto::ProjectVerb verb, const std::string& name,
                     const std::vector<OrgSetting>& settings = {}) {
    return told(engine.change_project(caller, verb, name, settings));
  }
  std::string told(const Result<OrgOutcome>& outcome) {
    if (!outcome) return outcome.error().message();
    return format("{}: {}", outcome->revision, fmt::join(outcome->lines, "; "));
  }
  JobId submit(const std::string& project, const std::string& queue = "") {
    JobSubmitted event;
    event.owner = {1000, 1000, "ada"};
    event.spec = job(project, queue);
    event.payload.script = "#!/bin/sh\n";
    event.payload.working_directory = "/";
    const auto id = engine.submit(std::move(event), at);
    EXPECT_TRUE(id) << id.error().message();
    return id ? *id : JobId{};
  }
  /// What the store would have after all rows so far.
  Org stored() {
    for (const Row& row : engine.take_effects().rows) {
      if (const auto* put = std::get_if<OrgPut>(&row)) {
        if (const auto* project = std::get_if<Project>(&put->item)) {
          std::erase_if(org.projects, [&](const Project& p) { return p.name == project->name; });
          org.projects.push_back(*project);
        } else if (const auto* department = std::get_if<Department>(&put->item)) {
          std::erase_if(org.departments,
                        [&](const Department& d) { return d.name == department->name; });
          org.departments.push_back(*department);
        } else if (const auto* queue = std::get_if<Queue>(&put->item)) {
          std::erase_if(org.queues, [&](const Queue& q) { return q.name == queue->name; });
          org.queues.push_back(*queue);
        } else {
          org.users.push_back(std::get<UserDefaults>(put->item));
        }
      } else if (const auto* drop = std::get_if<OrgDrop>(&row)) {
        const auto gone = [&](const auto& item) { return item.name == drop->name; };
        if (drop->kind == OrgKind::project) std::erase_if(org.projects, gone);
        if (drop->kind == OrgKind::department) std::erase_if(org.departments, gone);
        if (drop->kind == OrgKind::queue) std::erase_if(org.queues, gone);
        if (drop->kind == OrgKind::user) std::erase_if(org.users, gone);
      } else if (const auto* put = std::get_if<OrgRevision>(&row)) {
        revision = *put;
      }
    }
    Org copy = org;
    normalize(copy);
    return copy;
  }

  Now at{{1'000'000'000}, {1'000'000}};
  Caller caller{{0, 0, "root"}, true, {}};
  Engine engine;
  Org org;
  OrgRevision revision;
};

TEST(ApplyOrg, ShowsTheDifferenceAndStoresIt) {
  Admin a;
  ASSERT_NE(find_project(a.engine.org(), "default"), nullptr);
  const std::string wanted =
      "+ project team-a quota 4; + project team-b quota 2; + queue q time_limit_max 2h";
  const std::string_view file =
      "projects: {team-a: {quota: 4}, team-b: {quota: 2}}\nqueues: {q: {time_limit_max: 2h}}";
  EXPECT_EQ(a.apply(file, true), "0: " + wanted);
  EXPECT_EQ(a.engine.org().projects.size(), 1u);
  EXPECT_EQ(a.apply(file), "1: " + wanted);
  EXPECT_EQ(a.stored(), a.engine.org());
  EXPECT_EQ(a.apply(file), "1: ");
  EXPECT_TRUE(a.engine.take_effects().empty());
  EXPECT_EQ(a.apply("projects: {team-a: {quota: 8}}"),
            "2: project team-a: quota 4 -> 8; - project team-b; - queue q");
  EXPECT_EQ(a.stored(), a.engine.org());
  EXPECT_EQ(a.revision.revision, 2u);
}

/// What each may do, by what the file says of them.
TEST(Roles, EachMayDoSoMuch) {
  Admin a;
  const std::string file =
      "users: {ed: {role: editor}, vi: {role: viewer}, ann: {role: admin}}\n"
      "projects: {p: {quota: %}}\n";
  const auto with_quota = [&file](int quota) {
    std::string text = file;
    return text.replace(text.find('%'), 1, format("{}", quota));
  };
  a.apply(with_quota(1));
  const JobId job = a.submit("p");
  const auto cancel = [&] {
    JobFilter filter;
    filter.jobs = {job};
    const auto reply = *a.engine.cancel(a.caller, filter, 0, a.at);
    return reply.refused.empty() ? "done" : reply.refused.front().detail;
  };
  a.caller = {{1001, 1001, "vi"}, false, {}};
  EXPECT_EQ(a.apply(with_quota(2)),
            "permission denied: only an administrator or an editor may change projects");
  EXPECT_EQ(cancel(), "the role viewer only looks");
  a.caller = {{1002, 1002, "ed"}, false, {}};
  EXPECT_EQ(a.apply(with_quota(2)), "2: project p: quota 1 -> 2");
  EXPECT_EQ(a.apply("users: {ed: {role: admin}}"),
            "permission denied: only an administrator may change roles");
  EXPECT_EQ(a.apply("projects: {p: {}}"),
            "permission denied: only an administrator may change roles");
  EXPECT_EQ(a.change(proto::ProjectVerb::update, "p", {{"quota", {"3"}}}),
            "3: project p: quota 2 -> 3");
  EXPECT_EQ(cancel(), "it belongs to ada");
  a.caller = {{1003, 1003, "ann"}, false, {}};
  EXPECT_EQ(cancel(), "done");
  EXPECT_EQ(a.apply("projects: {p: {quota: 3}}"), "4: - user ann; - user ed; - user vi");
  EXPECT_EQ(a.apply("projects: {p: {quota: 4}}"),
            "permission denied: only an administrator or an editor may change projects");
}

TEST(Roles, AViewerSubmitsNothing) {
  Admin a;
  a.apply("users: {vi: {role: viewer}, ed: {role: editor}}");
  const auto submit = [&a](const std::string& user) {
    JobSubmitted event;
    event.owner = {1000, 1000, user};
    event.spec = job("");
    event.payload.script = "#!/bin/sh\n";
    event.payload.working_directory = "/";
    const auto id = a.engine.submit(std::move(event), a.at);
    return id ? a.engine.find(*id)->spec.project.str() : id.error().message();
  };
  EXPECT_EQ(submit("vi"), "permission denied: vi has the role viewer, which submits no jobs");
  EXPECT_EQ(submit("ed"), "default");
}

// The order of age decides ties: it stays through changes, and a name that comes back is new.
TEST(ApplyOrg, KeepsTheSerialNumbers) {
  Admin a;
  a.apply("projects: {b: {}, a: {}}");
  const auto serial = [&](const char* name) { return find_project(a.engine.org(), name)->serial; };
  const auto before = serial("a");
  a.apply("projects: {b: {}, a: {quota: 1}, c: {}}");
  EXPECT_EQ(serial("a"), before);
  EXPECT_GT(serial("c"), serial("b"));
  a.apply("projects: {b: {}}");
  a.apply("projects: {b: {}, a: {}}");
  EXPECT_GT(serial("a"), before);
  EXPECT_EQ(a.stored(), a.engine.org());
  EXPECT_EQ(a.revision.serial_last, serial("a"));
}

TEST(ApplyOrg, AllOrNothing) {
  Admin a;
  a.apply("projects: {team-a: {}, team-b: {}}\nqueues: {q: {}}");
  const Org before = a.stored();
  std::vector<JobId> jobs;
  for (int i = 0; i < 12; ++i) jobs.push_back(a.submit("team-b"));
  const JobId queued = a.submit("team-a", "q");
  EXPECT_EQ(a.apply("projects: {team-a: {quota: 9}}"),
            "still in use: project 'team-b' has live jobs and cannot be deleted: jobs 1, 2, 3, 4, "
            "5, 6, 7, 8, 9, 10 and 2 more");
  EXPECT_EQ(
      a.apply("projects: {team-a: {}, team-b: {}}"),
      format("still in use: queue 'q' has live jobs and cannot be deleted: job {}", queued.value));
  EXPECT_EQ(a.engine.org(), before);
  EXPECT_EQ(a.stored(), before);
  Org bad = before;
  bad.projects[1].department = "nowhere";
  EXPECT_EQ(
      a.told(a.engine.apply_org(a.caller, bad, false, {})),
      "invalid projects: project 'team-a': department 'nowhere' does not exist; there is none");
  EXPECT_EQ(a.engine.org(), before);
}

TEST(ApplyOrg, ASecondAdministratorIsNotOverwritten) {
  Admin a;
  EXPECT_EQ(a.apply("projects: {a: {}}", false, 0), "1: + project a quota 0");
  EXPECT_EQ(a.apply("projects: {b: {}}", false, 0),
            "the projects were changed by somebody else: revision 0 was meant, it is 1 now; look "
            "again");
  EXPECT_EQ(a.apply("projects: {b: {}}", false, 1), "2: - project a; + project b quota 0");
}

TEST(ApplyOrg, IsForAdministrators) {
  Admin a;
  a.caller.is_admin = false;
  EXPECT_EQ(a.apply("projects: {a: {}}"),
            "permission denied: only an administrator or an editor may change projects");
  EXPECT_EQ(a.apply("projects: {a: {}}", true), "0: + project a quota 0");
  EXPECT_EQ(a.change(proto::ProjectVerb::create, "a"),
            "permission denied: only an administrator or an editor may change projects");
}

TEST(ChangeProject, CreatesUpdatesDeletes) {
  using enum proto::ProjectVerb;
  Admin a;
  EXPECT_EQ(a.change(create, "team-a", {{"quota", {"4"}}, {"users", {"ada", "bob"}}}),
            "1: + project team-a quota 4, users [ada, bob]");
  EXPECT_EQ(a.change(create, "team-a"), "project exists already: 'team-a'");
  EXPECT_EQ(a.change(update, "team-a", {{"quota", {"2.5"}}}), "2: project team-a: quota 4 -> 2.5");
  EXPECT_EQ(a.change(update, "team-a", {{"quota", {"2.5"}}}), "2: ");
  EXPECT_EQ(a.change(update, "team-a", {{"limit", {"1"}}}),
            "invalid projects: project 'team-a': quota 2.5 is over its limit 1");
  EXPECT_EQ(a.change(update, "team-x", {}), "no such project: 'team-x'; did you mean 'team-a'?");
  EXPECT_EQ(a.change(update, "team-a", {{"qouta", {"1"}}}),
            "invalid projects: unknown key 'qouta'; did you mean 'quota'?");
  EXPECT_EQ(a.change(create, "a,b"),
            "invalid projects: project 'a,b': 'a,b' is no good name: a comma separates names in "
            "lists");
  EXPECT_EQ(a.change(remove, "default"),
            "refused by policy: the project 'default' is for jobs that have no other; it cannot be "
            "deleted");
  EXPECT_EQ(a.change(static_cast<proto::ProjectVerb>(9), "team-a"),
            "invalid argument: the change is none of create, update, delete");
  EXPECT_EQ(a.change(remove, "team-a"), "3: - project team-a");
  EXPECT_EQ(a.stored(), a.engine.org());
}

TEST(ChangeProject, DoesNotDeleteWhatIsStillNeeded) {
  using enum proto::ProjectVerb;
  Admin a;
  a.apply(
      "projects: {a: {}, b: {}, c: {}}\nqueues: {q: {projects: [c]}}\n"
      "users: {ada: {default_project: b}}");
  const JobId job = a.submit("a");
  EXPECT_EQ(a.change(remove, "a"),
            "still in use: project 'a' has live jobs and cannot be deleted: job 1");
  EXPECT_EQ(a.change(remove, "b"),
            "still in use: project 'b' is the default project of user 'ada'");
  EXPECT_EQ(a.change(remove, "c"), "still in use: project 'c' stands in the projects of queue 'q'");
  JobFilter filter;
  filter.jobs = {job};
  ASSERT_TRUE(a.engine.cancel(a.caller, filter, 0, a.at));
  EXPECT_EQ(a.change(remove, "a"), "2: - project a");
}

// A release that had no projects took any word for one.
TEST(Restart, JobsOfAProjectThatIsNotThereKeepIt) {
  Snapshot snapshot;
  Job old;
  old.id = JobId{1};
  old.spec = job("vision");
  snapshot.jobs = {old};
  Admin a(std::move(snapshot));
  ASSERT_NE(find_project(a.engine.org(), "vision"), nullptr);
  EXPECT_EQ(a.stored().projects.back().name, "vision");
}

TEST(Sizes, AreNeverLessThanTheMessage) {
  Org org = org_of(teams);
  EXPECT_LE(proto::encode(org).size(), bytes_of(org));
  Project full = *find_project(org, "team-a");
  full.quota.cpu_quota = full.quota.memory_quota = full.quota.gpu_limit = 1;
  full.quota.cpu_limit = full.quota.memory_limit = full.quota.weight = 1;
  full.preemption = {1, 1, 1, 1};
  full.kinds = {{JobKind::train, {"a"}, {"b"}}, {JobKind::inference, {"a"}, {"b"}}};
  full.user_weights = {{"ada", 1}, {"bob", 2}};
  EXPECT_LE(proto::encode(full).size(), bytes_of(full));
  EXPECT_LE(proto::encode(Project{}).size(), bytes_of(Project{}));
  EXPECT_LE(bytes_of(Project{}), proto::encode(Project{}).size() + 40);
  EXPECT_LE(proto::encode(ShareView{}).size() + 16, bytes_of(ShareView{}));
}

}  // namespace
}  // namespace rota::ctld
