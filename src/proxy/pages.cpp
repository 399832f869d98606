// proxy/pages.cpp - one page for each way not to get in.
#include "proxy/pages.h"

#include "common/escape.h"
#include "common/format.h"

namespace rota::proxy {
namespace {

std::string how_to_enter(const Door& door) {
  return format(
      "To get in, run 'rota url {} --port {}' on a login node and open the address that it "
      "prints.",
      door.job.value, door.port);
}

std::string in_html(std::string_view text) {
  std::string safe;
  for (const char c : text) {
    if (c == '<')
      safe += "&lt;";
    else if (c == '>')
      safe += "&gt;";
    else if (c == '&')
      safe += "&amp;";
    else if (c == '"')
      safe += "&quot;";
    else if (c == '\'')
      safe += "&#39;";
    else
      safe += c;
  }
  return safe;
}

std::string sentence(const Error& error) {
  return error.detail.empty() ? error.message() : escaped(error.detail);
}

}  // namespace

Page page_for_stranger(const Door& door) { return {401, "Who are you?", how_to_enter(door)}; }

Page page_for_other(const Door& door, const std::string& owner, const std::string& pinned,
                    std::string action) {
  Page page{409, "Another user's job",
            format("This browser is let in to jobs of {}, and job {} is {}'s. To a browser all "
                   "jobs here are one site: a page of one could act in the other as you. If you "
                   "do want to open it, close all other pages of this host first.",
                   pinned, door.job.value, escaped(owner))};
  page.action = std::move(action);
  page.button = format("Leave them, and open job {} of {}", door.job.value, escaped(owner));
  return page;
}

Page page_for(const Error& error, const Door& door) {
  const std::string why = sentence(error);
  switch (error.code) {
    case Errc::auth_failed:
      return {
          401, "This token opens nothing here",
          format("The token is not for this job, or has expired: {}. {}", why, how_to_enter(door))};
    case Errc::denied:
      return {403, "Not for you", format("{}.", why)};
    case Errc::invalid_argument:
      return {400, "Bad request", format("{}.", why)};
    case Errc::no_such_job:
      return {404, "No such job", format("There is no job {}.", door.job.value)};
    case Errc::not_found:
      return {404, "Nothing here", format("{}.", why)};
    case Errc::job_ended:
      return {410, "The job has ended", format("{}.", why)};
    case Errc::job_not_started:
      return {503, "The job waits", format("{}. This page tries again by itself.", why), true};
    case Errc::busy:
      return {429, "Too many connections", format("{}.", why)};
    case Errc::timed_out:
      return {504, "No answer", format("{}.", why), true};
    case Errc::unreachable:
      return {
          502, "Nothing listens there",
          format("Job {} runs, but port {} of it cannot be reached: {}. If its program is still "
                 "starting, wait a moment; rlogs {} shows what it says. This page tries again "
                 "by itself.",
                 door.job.value, door.port, why, door.job.value),
          true};
    default:
      return {503, "The cluster does not answer", format("{}.", why), true};
  }
}

std::string document(const Page& page, bool html) {
  if (!html) return format("{}\n{}\n", page.title, page.text);
  std::string form;
  if (!page.action.empty())
    form = format("<form method=\"post\" action=\"{}\"><button>{}</button></form>\n",
                  in_html(page.action), in_html(page.button));
  return format(
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
      "<meta name=\"viewport\" content=\"width=device-width\"><title>{}</title>\n"
      "<style>body{{font:1.1em/1.5 sans-serif;max-width:40em;margin:4em auto;padding:0 1em}}"
      "</style></head>\n<body><h1>{}</h1>\n<p>{}</p>\n{}</body></html>\n",
      in_html(page.title), in_html(page.title), in_html(page.text), form);
}

}  // namespace rota::proxy
