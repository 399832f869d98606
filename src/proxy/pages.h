// proxy/pages.h - what people see when there is nothing else to see, and why.
#pragma once
#include <string>
#include <string_view>

#include "common/result.h"
#include "model/door.h"

namespace rota::proxy {

struct Page {
  unsigned status = 500;
  std::string title;
  std::string text;         // of one or two sentences
  bool comes_back = false;  // the browser is asked to try again soon
  std::string action = {};  // an address that a button leads to, and what that says
  std::string button = {};
};

/// For somebody who has shown nothing that lets him in.
Page page_for_stranger(const Door& door);
/// For a browser that is let in to another owner's jobs; `action` is where it can change.
Page page_for_other(const Door& door, const std::string& owner, const std::string& pinned,
                    std::string action);
/// For an error on the way to a door.
Page page_for(const Error& error, const Door& door);

/// As a whole document; `html` or plain text. Other people's words cannot become tags of it.
std::string document(const Page& page, bool html);

}  // namespace rota::proxy
