// commands/show.cpp - one question for each kind of thing; what was not found is said last.
#include "commands/show.h"

#include <algorithm>
#include <array>
#include <set>

#include "commands/exit_code.h"
#include "commands/job_filter.h"
#include "commands/job_list.h"
#include "commands/job_view.h"
#include "commands/json.h"
#include "commands/node_view.h"
#include "commands/org_view.h"
#include "commands/output.h"
#include "commands/session.h"
#include "common/escape.h"
#include "common/format.h"
#include "common/hostlist.h"

namespace rota::commands {
namespace {

using Words = std::vector<std::string>;

/// What is shown, as it comes together.
class Shown {
 public:
  Shown(bool as_json, std::string_view list) : json_(text_), as_json_(as_json) {
    if (!as_json_) return;
    json_.begin_object();
    json_.key(list);
    json_.begin_array();
  }
  template <class Write>
  void add(const Write& write, const std::string& text) {
    if (as_json_)
      write(json_);
    else
      text_ += (text_.empty() ? "" : "\n") + text;
  }
  Result<void> print() {
    if (as_json_) json_.end_array(), json_.end_object(), text_ += '\n';
    return commands::print(text_);
  }

 private:
  std::string text_;
  JsonWriter json_;
  bool as_json_;
};

Result<int> show_jobs(const Program& program, const Words& words, bool as_json) {
  JobFilter filter;
  for (const std::string& word : words) ROTA_CHECK(add_jobs(word, filter));
  ROTA_TRY(const auto jobs, jobs_matching(program, filter));
  Shown shown(as_json, "jobs");
  std::set<JobId> seen;
  for (const JobView& job : jobs) {
    shown.add([&job](JsonWriter& json) { write_job(json, job); }, as_json ? "" : job_text(job));
    seen.insert(job.id);
  }
  ROTA_CHECK(shown.print());
  int code = exit_ok;
  for (const JobId id : filter.jobs) {
    if (seen.contains(id)) continue;
    program.say(format("no such job: {}", id.value));
    code = exit_not_found;
  }
  return code;
}

/// Where one is not known the controller shows none: then one question for each.
Result<int> show_nodes(const Program& program, const Words& words, bool as_json) {
  Words names;
  for (const std::string& word : words) {
    auto some = hostlist_expand(word);
    if (!some) return Error{Errc::usage, some.error().detail};
    std::move(some->begin(), some->end(), std::back_inserter(names));
    if (names.size() > hostlist_size_max)
      return Error{Errc::usage, format("more than {} nodes are named", hostlist_size_max)};
  }
  ROTA_TRY(const auto controller, controller_options(program));
  Shown shown(as_json, "nodes");
  int code = exit_ok;
  const auto show_some = [&](const Words& some) {
    const proto::NodesRequest request{some};
    return ask_stream<proto::NodesReply>(controller, request, [&](proto::NodesReply reply) {
      for (const NodeView& node : reply.nodes)
        shown.add([&node](JsonWriter& json) { write_node(json, node); },
                  as_json ? "" : node_text(node));
    });
  };
  if (const auto all = show_some(names); !all) {
    if (all.error().code != Errc::no_such_node) return all.error();
    for (const std::string& name : names) {
      const auto one = show_some({name});
      if (one) continue;
      if (one.error().code != Errc::no_such_node) return one.error();
      program.say(one.error().message());
      code = exit_not_found;
    }
  }
  ROTA_CHECK(shown.print());
  return code;
}

Result<int> show_projects(const Program& program, const Words& words, bool as_json) {
  ROTA_TRY(const auto controller, controller_options(program));
  ROTA_TRY(const auto answer, ask_org(controller, true));
  const ProjectShares shares(answer.shares);
  Shown shown(as_json, "projects");
  int code = exit_ok;
  for (const std::string& name : words) {
    const Project* project = find_project(answer.org, name);
    if (project == nullptr) {
      program.say(
          format("no such project: {}; {}", quoted(name), known_projects(answer.org, name)));
      code = exit_not_found;
      continue;
    }
    const ShareView& share = shares.of(project->name);
    shown.add([&](JsonWriter& json) { write_project(json, *project, share); },
              as_json ? "" : project_text(*project, share));
  }
  ROTA_CHECK(shown.print());
  return code;
}

Result<int> show_queues(const Program& program, const Words& words, bool as_json) {
  ROTA_TRY(const auto controller, controller_options(program));
  ROTA_TRY(const auto answer, ask_org(controller, false));
  Shown shown(as_json, "queues");
  int code = exit_ok;
  for (const std::string& name : words) {
    const Queue* queue = find_queue(answer.org, name);
    if (queue == nullptr) {
      program.say(format("no such queue: {}; {}", quoted(name), known_queues(answer.org, name)));
      code = exit_not_found;
      continue;
    }
    shown.add([&](JsonWriter& json) { write_queue(json, *queue); },
              as_json ? "" : queue_text(*queue));
  }
  ROTA_CHECK(shown.print());
  return code;
}

struct Noun {
  std::string_view name;
  std::string_view example;
  Result<int> (*show)(const Program&, const Words&, bool as_json);
};
constexpr auto nouns = std::to_array<Noun>({{"job", "JOB...", show_jobs},
                                            {"node", "NODES...", show_nodes},
                                            {"project", "NAME...", show_projects},
                                            {"queue", "NAME...", show_queues}});

}  // namespace

Result<int> show(const Program& program, const Words& words, bool as_json) {
  std::vector<std::string> forms;
  for (const Noun& noun : nouns) forms.push_back(format("'show {} {}'", noun.name, noun.example));
  if (words.empty()) return Error{Errc::usage, format("show what? {}", fmt::join(forms, ", "))};
  const auto noun = std::find_if(nouns.begin(), nouns.end(),
                                 [&](const Noun& each) { return each.name == words.front(); });
  if (noun == nouns.end())
    return Error{Errc::usage,
                 format("{} cannot be shown; {}", quoted(words.front()), fmt::join(forms, ", "))};
  const Words rest(words.begin() + 1, words.end());
  if (rest.empty())
    return Error{Errc::usage,
                 format("which {}? 'show {} {}'", noun->name, noun->name, noun->example)};
  return noun->show(program, rest, as_json);
}

}  // namespace rota::commands
