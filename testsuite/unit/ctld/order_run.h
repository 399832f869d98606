// testsuite/unit/ctld/order_run.h - which run an order to a node is about.
#pragma once
#include <type_traits>

#include "ctld/engine.h"

namespace rota::ctld {

/// None: it is about no run.
inline RunId run_of(const NodeOrder& order) {
  return std::visit(
      [](const auto& message) {
        using Message = std::decay_t<decltype(message)>;
        if constexpr (std::is_same_v<Message, proto::GpuHealthTaken> ||
                      std::is_same_v<Message, proto::HealthOrder> ||
                      std::is_same_v<Message, proto::FetchImage>)
          return RunId{};
        else
          return message.run;
      },
      order.message);
}

}  // namespace rota::ctld
