// proxy/headers.h - what of a message's header passes, and what is between two neighbours only.
#pragma once
#include <boost/beast/http/buffer_body.hpp>
#include <boost/beast/http/message.hpp>
#include <string>
#include <string_view>

#include "common/result.h"
#include "proxy/request.h"

namespace rota::proxy {

namespace http = boost::beast::http;
using Request = http::request<http::buffer_body>;
using Response = http::response<http::buffer_body>;

inline constexpr std::string_view token_header = "X-Rota-Token";

/// Anything that two readers could understand in two ways is refused: two lengths, two hosts, a
/// length and chunks, another encoding than chunks.
Result<void> check_framing(const Request& request);
/// It asks to go on as a WebSocket.
bool is_upgrade(const Request& request);

/// The request as the job gets it. `peer` is the browser's address.
void prepare(Request& request, const Target& target, std::string_view peer, bool is_secure);
/// The response as the browser gets it.
void prepare(Response& response, const Target& target, bool is_upgrade);

}  // namespace rota::proxy
