// Constants of llama.cpp's graph of an architecture that no GGUF key holds.
#pragma once

#include "core/json/json_read.h"
#include "models/models.h"

namespace ckpt {

// Whether the family's class knows a field as `word`, where a row of keys lists several spellings.
bool is_spelled_so(const Family& family, std::string_view word);

// Fields of config.json that a file of the family lacks, set as in released models;
// empty where nothing is.
std::string_view untold_fields(const Family& family);

// Sets those fields in `config` and in `rope`, its rope_parameters, which have what the keys say;
// `layers`: num_hidden_layers.
Status add_graph_constants(const Family& family, uint64_t layers, JsonValue& config,
                           JsonValue& rope);

}  // namespace ckpt
