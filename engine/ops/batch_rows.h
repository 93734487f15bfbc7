#pragma once

#include "core/attributes.h"
#include "core/tensor_files.h"

#include <cstdint>
#include <string>

namespace twb {

/// The rows that a Batches node gives in one epoch.
struct BatchRows {
    std::int64_t count = 0;
    std::int64_t size = 1; ///< of a batch, over all ranks
    bool dropsLast = false;
    std::int64_t first = 0; ///< rows that each epoch leaves out at its start
    std::int64_t whole() const noexcept { return count / size; }
    std::int64_t rest() const noexcept { return dropsLast ? 0 : count % size; }
    std::int64_t batches() const noexcept { return whole() + (rest() > 0 ? 1 : 0); }
    bool operator==(const BatchRows&) const = default;
};

/// The rows of a data file. Throws Error(badFile) for a single number.
std::int64_t rowsOf(const std::string& path, const TensorFiles& files);
/// How many of `rows` a Batches node with these complete attributes holds out for validation.
std::int64_t heldRows(const Attributes& batches, std::int64_t rows);
/// The rows of one epoch of a Batches node in training; `batches` are its complete attributes.
BatchRows trainingRows(const Attributes& batches, const TensorFiles& files);

} // namespace twb
