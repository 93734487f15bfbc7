#include "formats/pytorch/torch_call.h"

namespace twb::pytorch {
namespace {

/// Indices count from the end when they are negative, which only PyTorch's brackets know.
std::string gather(const Call& call) {
    std::string before;
    for (int axis = call.axis("axis", call.rank()); axis > 0; --axis) before += ":, ";
    const bool isIndex = call.dtype(1) == DType::i64;
    return fmt::format("{}[{}{}{}]", call.in(0), before, call.in(1), isIndex ? "" : ".long()");
}

/// The same for functions that refuse negative ones.
std::string indices(const Call& call) {
    const int axis = call.axis("axis", call.rank());
    return fmt::format("{}({}, {}.shape[{}])", call.helper("from_start"), call.in(1), call.in(0), axis);
}

const char* reduceOf(const Call& call) {
    const std::string& how = call.text("reduction");
    return how == "add" ? "sum" : how == "mul" ? "prod" : how == "min" ? "amin" : "amax";
}

std::string scatter(const Call& call) {
    const int axis = call.axis("axis", call.rank());
    if (call.text("reduction") == "none")
        return fmt::format("{}.scatter({}, {}, {})", call.in(0), axis, indices(call), call.in(2));
    return fmt::format("{}.scatter_reduce({}, {}, {}, \"{}\")", call.in(0), axis, indices(call), call.in(2),
                       reduceOf(call));
}

std::string scatterND(const Call& call) {
    return fmt::format("{}({}, {}, {}, {})", call.helper("scatter_nd"), call.in(0), call.in(1), call.in(2),
                       call.text("reduction") == "none" ? "None" : fmt::format("\"{}\"", reduceOf(call)));
}

std::string topK(const Call& call) {
    if (call.isRead(1)) // which of equal elements it takes, PyTorch's own leaves open
        return fmt::format("{}({}, {}, {}, {})", call.helper("top_k"), call.in(0), call.scalar(1),
                           call.integer("axis"), call.flag("largest") ? "True" : "False");
    return fmt::format("torch.topk({}, {}, {}, {}, {})", call.in(0), call.scalar(1), call.integer("axis"),
                       call.flag("largest") ? "True" : "False", call.flag("sorted") ? "True" : "False");
}

std::string compress(const Call& call) {
    if (!call.hasAttribute("axis"))
        return fmt::format("{0}.flatten()[:{1}.numel()][{1}]", call.in(0), call.in(1));
    const int axis = call.axis("axis", call.rank());
    return fmt::format("{}.index_select({}, torch.nonzero({})[:, 0])", call.in(0), axis, call.in(1));
}

std::string unique(const Call& call) {
    return fmt::format("{}({}, {}, {})", call.helper("unique"), call.in(0),
                       call.hasAttribute("axis") ? literal(*call.attributes().find("axis")) : "None",
                       call.flag("sorted") ? "True" : "False");
}

std::string writeRows(const Call& call) {
    return fmt::format("{}({}, {}, {}, {}, {})", call.helper("tensor_scatter"), call.in(0), call.in(1),
                       call.in(2), call.axis("axis", call.rank()),
                       call.text("mode") == "circular" ? "True" : "False");
}

} // namespace

void addIndexing(Writers& table) {
    table["Gather"] = gather;
    table["GatherElements"] = [](const Call& call) {
        return fmt::format("torch.gather({}, {}, {})", call.in(0), call.axis("axis", call.rank()),
                           indices(call));
    };
    table["GatherND"] = [](const Call& call) {
        return fmt::format("{}({}, {}, {})", call.helper("gather_nd"), call.in(0), call.in(1),
                           call.integer("batch_dims"));
    };
    table["ScatterElements"] = scatter;
    table["ScatterND"] = scatterND;
    table["TensorScatter"] = writeRows;
    table["OneHot"] = [](const Call& call) {
        return fmt::format("{}({}, {}, {}, {})", call.helper("one_hot"), call.in(0), call.scalar(1),
                           call.in(2), call.integer("axis"));
    };
    table["Compress"] = compress;
    table["TopK"] = topK;
    table["Unique"] = unique;
    table["ReverseSequence"] = [](const Call& call) {
        return fmt::format("{}({}, {}, {}, {})", call.helper("reverse_sequence"), call.in(0), call.in(1),
                           call.integer("batch_axis"), call.integer("time_axis"));
    };
}

} // namespace twb::pytorch
