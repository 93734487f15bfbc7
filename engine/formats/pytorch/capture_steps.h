#pragma once

#include "formats/pytorch/capture_record.h"

#include <cstdint>
#include <string>
#include <vector>

namespace twb::capture {

/// A part of a program. Each op of the capture is in at most one part; the ops of folded iterations other
/// than the one that stands for them are in none.
struct Part {
    enum class Kind : std::uint8_t {
        setUp,     ///< before the first iteration; also what only the first iteration makes
        different, ///< iterations that are not like the others
        iteration, ///< the iteration that stands for all like it
        rest,      ///< after the last iteration
    };
    Kind kind = Kind::iteration;
    std::string title; ///< of a different one: "Step 4: 3 ops more, from aten::mul at train.py:30"
    std::vector<Index> ops;
};

/// A program with its repetitions folded.
struct Steps {
    std::vector<Part>
        parts; ///< in the order of the program, except that the iteration follows all different ones
    std::int64_t count = 1; ///< of iterations that the iteration stands for
    /// By op: for an op of a folded iteration, the op that stands for it; else the op itself.
    std::vector<Index> standIn;
    /// By op: its part, or none for an op that another one stands for.
    std::vector<Index> partOf;
    std::vector<std::string> remarks;
};

/// Finds the training loop of a program and folds its equal iterations. An iteration begins with the first
/// line of the loop's body; the steps of the capture end with the optimizer's. Iterations are equal if their
/// ops have the same forms and the same edges within the iteration. Linear in the number of ops.
Steps foldSteps(const Record& record);

} // namespace twb::capture
