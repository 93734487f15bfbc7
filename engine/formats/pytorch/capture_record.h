#pragma once

#include "core/shape.h"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// The content of a capture (.twbcap), which app/python writes: resources/schema/capture.schema.json. Equal
/// parts are stored once, so that a loop of many steps stays small.
namespace twb::capture {

/// An index in one of the record's vectors, or none.
using Index = std::uint32_t;
inline constexpr Index kNone = ~Index{0};

/// A line of a function and the calls that led to it. Equal stacks are one location.
struct Location {
    std::string file;
    int line = 0;
    std::string function;
    std::string text; ///< the line itself; empty if unknown
    Index caller = kNone;
    bool isLibrary = false;
    std::uint32_t depth = 0; ///< the number of callers
};

struct Module {
    std::string path; ///< "Net.layer1.0"
    Index parent = kNone;
    std::uint32_t depth = 0; ///< the number of modules around it
};

struct Type {
    std::string dtype;  ///< "float32"
    std::string device; ///< "cuda:0"
    std::string layout; ///< empty: strided
    Shape shape;
};

struct Value {
    Index type = kNone;
    std::uint64_t storage = 0; ///< 0: unknown
    Index producer = kNone;    ///< op; none: a value that no recorded op made
    Index overwrites = kNone;  ///< the value that it replaced in place
    Index before = kNone;      ///< without a producer: the same view before the last write in place
    Index after = kNone;       ///< without a producer: the value written last to the storage
    Index location = kNone;    ///< without a producer: where the storage was made
    bool isValueSized = false; ///< its sizes may depend on values (mask indexing), so they may vary
};

enum class Phase : std::uint8_t { forward, backward, optimizer };

/// All that repeated calls of one op have in common. Ops with one form differ in their operands, in the step,
/// in attributes that are scalars or positions, and in sizes that depend on values.
struct Form {
    std::string op;       ///< "aten::addmm"
    std::string overload; ///< may be empty
    std::vector<std::string> arguments;
    std::vector<Index> resultTypes;
    std::string device;
    std::string function;
    Index location = kNone;
    Index module = kNone;
    Phase phase = Phase::forward;
};

struct Op {
    Index form = kNone;
    Index firstOperand = 0;   ///< in Record::operands; as many as the form has arguments
    Index firstResult = 0;    ///< in Record::results; as many as the form has resultTypes
    Index attributes = kNone; ///< in Record::attributes
    std::int64_t step = 0;
};

/// What a capture records of the program beside its ops.
struct Finding {
    Index op = kNone; ///< none: not of one op (numpy())
    Index location = kNone;
    Index module = kNone;
    Phase phase = Phase::forward;
    std::int64_t step = 0;
    Index before = 0; ///< the number of ops before it
};

struct Transfer : Finding {
    Index value = kNone; ///< the copied value, if the capture names it
    std::string from, to, cause;
    std::uint64_t bytes = 0;
    bool isPinned = false;
    bool isNonBlocking = false;
};

struct Sync : Finding {
    std::string cause;
};

struct Mismatch : Finding {
    std::int64_t root = 0; ///< 0: a root
    std::string name;      ///< "aten::mul", "numpy"
    std::string expected;
    std::vector<std::pair<Index, bool>> operands; ///< values, and whether each is on a wrong device
};

struct Record {
    std::string script; ///< path
    bool isCut = false; ///< the capture ends early

    std::vector<Location> locations;
    std::vector<Module> modules;
    std::vector<Type> types;
    std::vector<Form> forms;
    std::vector<nlohmann::json> attributes; ///< objects, each of them once
    std::vector<Value> values;
    std::vector<Op> ops;
    std::vector<Index> operands; ///< values
    std::vector<Index> results;  ///< values
    std::vector<Transfer> transfers;
    std::vector<Sync> syncs;
    std::vector<Mismatch> mismatches;
    std::map<std::uint64_t, std::string> parameters; ///< names ("Net.fc1.weight") by storage
    std::vector<std::string> remarks;                ///< sentences of the capture and about it

    const Form& formOf(const Op& op) const { return forms[op.form]; }
    /// The user's line of a stack: its first location that is not in a library, else its first one.
    Index userLine(Index location) const;
};

/// Reads a capture line by line. Returns all lines up to the cut of a file that ends early, with a remark.
/// Throws Error(io), and Error(badFile) that names the line and the field.
Record readCapture(const std::filesystem::path& path);
/// The same for the bytes of a capture; `name` is for messages.
Record parseCapture(std::string_view bytes, const std::string& name);

} // namespace twb::capture
