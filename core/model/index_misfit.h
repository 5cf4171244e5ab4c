// How the index of a folder does not fit its files.
#pragma once

namespace ckpt {

struct IndexMisfit {
  bool lacks_file = false;      // it names a file that does not exist
  bool differs = false;         // its tensors are not those of the files that it names
  bool is_elsewhere = false;    // a tensor is in another of these files
  bool has_more_files = false;  // the folder has model*.safetensors that it does not name
};

}  // namespace ckpt
