// An importance matrix: mean squared activations, one value per column, by tensor name.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/model/metadata.h"

namespace ckpt {

struct Imatrix {
  // By GGUF tensor name: row_values x matrices numbers, matrix by matrix (docs/formats/imatrix.md).
  std::map<std::string, std::vector<float>, std::less<>> weights;
  std::string file;  // as given on the command line
  std::vector<std::string> datasets;
  uint64_t chunk_count = 0;
};

// Sums over the inputs of one weight: a matrix, or a stack of matrices (experts).
struct ImatrixEntry {
  std::vector<float> sums;        // of squares, one per column; matrix by matrix
  std::vector<int64_t> counts;    // summed inputs: one number per matrix, or one for all
  std::vector<float> input_sums;  // of the inputs, parallel to sums; empty: not in the file

  uint64_t columns() const { return sums.size() / counts.size(); }
  // The number of matrices without inputs. Requires: counts per matrix.
  uint64_t unseen() const {
    uint64_t out = 0;
    for (const int64_t count : counts) out += count > 0 ? 0 : 1;
    return out;
  }
};

// An importance matrix as stored, before any division.
struct ImatrixSums {
  std::map<std::string, ImatrixEntry, std::less<>> entries;  // by GGUF tensor name; never empty
  std::string file;                                          // as given on the command line
  std::vector<std::string> datasets;
  uint64_t chunk_count = 0;
  uint64_t chunk_size = 0;  // tokens per chunk; 0: unknown
  // Legacy: sums and counts are per chunk, each already divided by its number of inputs, and an
  // entry has one count for all its experts.
  bool is_legacy = false;
  Metadata other_keys;                     // unrelated keys of a GGUF
  std::vector<std::string> other_tensors;  // GGUF tensors without an entry
};

}  // namespace ckpt
