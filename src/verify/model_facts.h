#pragma once

#include "ir/graph.h"
#include "pare/inspect.h"

namespace pare {

/// Everything of the report but what belongs to the file itself: counts, constants, multiply-adds, weights.
void add_model_facts(const Graph& graph, InspectReport& report);

/// Convolutions and matrix products of the main graph whose shapes are unknown although no input size is free but the batch.
bool shapes_missing(const Graph& graph);

}  // namespace pare
