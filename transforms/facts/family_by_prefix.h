// Families of model types, also of those that no table has.
#pragma once

#include <string_view>

#include "models/models.h"

namespace ckpt {

// The family of the type, or of its longest beginning that is a type and ends before a "_": Cohere
// 2's for cohere2_vision. nullptr: none.
inline const Family* family_by_prefix(std::string_view model_type) {
  for (size_t end = model_type.size(); end != model_type.npos;
       end = end == 0 ? model_type.npos : model_type.rfind('_', end - 1)) {
    for (const Family* family : families()) {
      if (has_word(family->model_types, model_type.substr(0, end))) return family;
    }
  }
  return nullptr;
}
// Whether that family has the quirk, in its text part.
inline bool family_by_prefix_has_quirk(std::string_view model_type, std::string_view word) {
  const Family* family = family_by_prefix(model_type);
  return family != nullptr && has_word(family->quirks, word);
}

}  // namespace ckpt
