// commands/health_view.cpp - one row or object for each event.
#include "commands/health_view.h"

#include "commands/json.h"
#include "common/format.h"
#include "common/units.h"

namespace rota::commands {
namespace {

/// "draining", or with a change "ok>draining".
std::string condition_text(const HealthEvent& event) {
  if (event.before == event.after) return std::string(name_of(event.after));
  return format("{}>{}", name_of(event.before), name_of(event.after));
}

std::string jobs_text(const HealthEvent& event) {
  std::string text;
  for (const JobId job : event.jobs) text += format("{}{}", text.empty() ? "" : ",", job.value);
  return text.empty() ? "-" : text;
}

}  // namespace

Table health_table(const std::vector<HealthEvent>& events) {
  Table table({{"TIME"},
               {"NODE"},
               {"GPU", Align::left, true},
               {"CONDITION"},
               {"XID", Align::right},
               {"JOBS"},
               {"WHAT", Align::left, true}});
  for (const HealthEvent& event : events) {
    table.add(rfc3339(event.at));
    table.add(event.node);
    table.add(event.uuid.empty() ? "-" : event.uuid);
    table.add(condition_text(event), takes_jobs(event.after) ? Colour::none : Colour::bad);
    table.add(event.xid == 0 ? "-" : format("{}", event.xid));
    table.add(jobs_text(event));
    table.add(event.text);
  }
  return table;
}

std::string health_json(const std::vector<HealthEvent>& events) {
  std::string text;
  JsonWriter json(text);
  json.begin_object();
  json.key("events");
  json.begin_array();
  for (const HealthEvent& event : events) {
    json.begin_object();
    json.field("time", rfc3339(event.at));
    json.field("node", event.node);
    json.field_or_null("gpu", !event.uuid.empty(), event.uuid);
    json.field("before", name_of(event.before));
    json.field("after", name_of(event.after));
    json.field_or_null("xid", event.xid != 0, event.xid);
    json.key("jobs");
    json.begin_array();
    for (const JobId job : event.jobs) json.value(job.value);
    json.end_array();
    json.field("text", event.text);
    json.end_object();
  }
  json.end_array();
  json.end_object();
  return text + "\n";
}

}  // namespace rota::commands
