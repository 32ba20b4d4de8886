#pragma once

#include <cstddef>
#include <functional>

namespace pare {

/// Calls `body(i)` for i in [0, count) on up to `threads` threads, each index once; returns when all are done. The order is not
/// defined, so `body` writes only to what belongs to its index. The first exception is thrown again after the others finish.
void parallel_for(size_t count, int threads, const std::function<void(size_t)>& body);

/// Processors that this process may use, at least 1.
int default_threads();

}  // namespace pare
