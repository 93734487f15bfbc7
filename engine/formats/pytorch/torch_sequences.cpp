#include "formats/pytorch/torch_call.h"

#include <fmt/ranges.h>

#include <array>

namespace twb::pytorch {
namespace {

/// RNN, GRU and LSTM with their usual activations.
std::string recurrent(const Call& call, const char* helper) {
    if (call.hasAttribute("clip")) call.refuse("PyTorch's recurrent cells do not support clip; unset it");
    if (call.hasAttribute("activations")) {
        const auto* given = call.attributes().find("activations");
        const auto& names = std::get<std::vector<std::string>>(*given);
        static const std::array<std::string, 3> usual{"Sigmoid", "Tanh", "Tanh"};
        const std::size_t cells = call.op().name == "RNN" ? 1 : call.op().name == "GRU" ? 2 : 3;
        for (std::size_t i = 0; i < names.size(); ++i)
            if (names[i] != (cells == 1 ? "Tanh" : usual[i % cells]))
                call.refuse("PyTorch's recurrent cells do not support custom activations");
    }
    if (call.op().name == "LSTM" && (call.has(7) || call.flag("input_forget")))
        call.refuse("PyTorch's LSTM has no peepholes and no coupled gates");
    std::string states;
    for (int port = 3; port < (call.op().name == "LSTM" ? 7 : 6); ++port) states += ", " + call.in(port);
    if (call.op().name == "GRU") states += call.flag("linear_before_reset") ? ", True" : ", False";
    return fmt::format("{}({}, {}, {}{}, direction=\"{}\", batch_first={})", call.helper(helper), call.in(0),
                       call.in(1), call.in(2), states, call.text("direction"),
                       call.integer("layout") == 1 ? "True" : "False");
}

std::string attention(const Call& call) {
    if (call.integer("softmax_precision") != 0 && !isFloating(call.dtype()))
        call.refuse("PyTorch export does not support softmax_precision here; unset it");
    std::string inputs;
    for (int port = 0; port < 6; ++port) inputs += call.in(port) + ", ";
    const std::string scale = call.hasAttribute("scale") ? literal(*call.attributes().find("scale")) : "None";
    std::string more;
    if (call.has(6)) more += ", filled=" + call.in(6);
    for (const char* side : {"left", "right"})
        if (const std::int64_t size = call.integer(fmt::format("{}_window_size", side)); size >= 0)
            more += fmt::format(", {}={}", side, size);
    return fmt::format("{}({}is_causal={}, q_heads={}, kv_heads={}, scale={}, softcap={}, mode={}{})",
                       call.helper("attention"), inputs, call.flag("is_causal") ? "True" : "False",
                       call.integer("q_num_heads"), call.integer("kv_num_heads"), scale,
                       literal(call.number("softcap")), call.integer("qk_matmul_output_mode"), more);
}

std::string rotary(const Call& call) {
    return fmt::format("{}({}, {}, {}, {}, {}, {}, {})", call.helper("rotary_embedding"), call.in(0),
                       call.in(1), call.in(2), call.in(3), call.flag("interleaved") ? "True" : "False",
                       call.integer("num_heads"), call.integer("rotary_embedding_dim"));
}

std::string linearAttention(const Call& call) {
    std::string inputs;
    for (int port = 0; port < 6; ++port) inputs += call.in(port) + ", ";
    return fmt::format("{}({}{}, {}, \"{}\", {})", call.helper("linear_attention"), inputs,
                       call.integer("q_num_heads"), call.integer("kv_num_heads"), call.text("update_rule"),
                       literal(call.number("scale")));
}

std::string causalConvolution(const Call& call) {
    return fmt::format("{}({}, {}, {}, {}, {})", call.helper("causal_conv"), call.in(0), call.in(1),
                       call.in(2), call.in(3), call.text("activation") == "none" ? "False" : "True");
}

std::string window(const Call& call, const char* function, const char* more = "") {
    const DType dtype = call.out().dtype;
    const std::string made =
        fmt::format("torch.{}({}, periodic={}{}, dtype={}{})", function, call.scalar(0),
                    call.flag("periodic") ? "True" : "False", more,
                    torchDType(isFloating(dtype) ? dtype : DType::f64), call.deviceArgument());
    return isFloating(dtype) ? made : fmt::format("{}.type({})", made, torchDType(dtype));
}

std::string fourier(const Call& call) {
    const bool complex = call.type(0).shape[call.rank() - 1] == 2;
    const auto axis = call.integers(2);
    if (!axis || axis->size() != 1) call.refuse("along which axis it transforms is known only at run time");
    const int along = normalizeAxis(axis->front(), call.rank()).value_or(0);
    return fmt::format("{}({}, {}, {}, {}, {}, {})", call.helper("dft"), call.in(0), call.scalar(1), along,
                       call.flag("inverse") ? "True" : "False", call.flag("onesided") ? "True" : "False",
                       complex ? "True" : "False");
}

std::string shortFourier(const Call& call) {
    return fmt::format("{}({}, {}, {}, {}, {})", call.helper("stft"), call.in(0), call.scalar(1), call.in(2),
                       call.scalar(3), call.flag("onesided") ? "True" : "False");
}

/// Adagrad, Adam, Momentum: all tensors of one kind, then all of the next.
std::string optimizer(const Call& call, const char* helper, std::initializer_list<const char*> attributes) {
    std::string options;
    for (const char* name : attributes)
        options += fmt::format(", {}={}", name, literal(*call.attributes().find(name)));
    return fmt::format("{}({}, {}, [{}]{})", call.helper(helper), call.scalar(0), call.scalar(1),
                       call.inputs(2), options);
}

std::string perColumn(const Call& call, const char* attribute) {
    return fmt::format("torch.tensor({}{})", literal(call.attributes().numbers(attribute)),
                       call.deviceArgument());
}

std::string scaled(const Call& call) {
    std::string out = isFloating(call.dtype()) ? call.in(0) : call.in(0) + ".float()";
    if (call.hasAttribute("offset")) out = fmt::format("({} - {})", out, perColumn(call, "offset"));
    if (call.hasAttribute("scale")) out += " * " + perColumn(call, "scale");
    return fmt::format("({}).type({})", out, torchDType(call.out().dtype));
}

/// Concatenates columns of several inputs, each truncated or zero-padded to its width.
std::string features(const Call& call) {
    std::vector<std::string> parts;
    for (int port = 0; port < call.inputCount(); ++port) {
        parts.push_back(call.in(port));
        if (!call.hasAttribute("inputdimensions")) continue;
        const std::int64_t width =
            call.attributes().integers("inputdimensions")[static_cast<std::size_t>(port)];
        if (call.type(port).shape[1] != width)
            parts.back() = fmt::format("F.pad({0}, [0, {1} - {0}.shape[1]])", call.in(port), width);
    }
    return fmt::format("torch.cat([{}], 1).float()", fmt::join(parts, ", "));
}

} // namespace

void addSequences(Writers& table) {
    table["RNN"] = [](const Call& call) { return recurrent(call, "rnn"); };
    table["GRU"] = [](const Call& call) { return recurrent(call, "gru"); };
    table["LSTM"] = [](const Call& call) { return recurrent(call, "lstm"); };
    table["Attention"] = attention;
    table["LinearAttention"] = linearAttention;
    table["CausalConvWithState"] = causalConvolution;
    table["RotaryEmbedding"] = rotary;
    table["HannWindow"] = [](const Call& call) { return window(call, "hann_window"); };
    table["HammingWindow"] = [](const Call& call) {
        return window(call, "hamming_window", ", alpha=25 / 46, beta=21 / 46");
    };
    table["BlackmanWindow"] = [](const Call& call) { return window(call, "blackman_window"); };
    table["DFT"] = fourier;
    table["STFT"] = shortFourier;
    table["Adagrad"] = [](const Call& call) {
        return optimizer(call, "adagrad", {"norm_coefficient", "decay_factor", "epsilon"});
    };
    table["Adam"] = [](const Call& call) {
        return optimizer(call, "adam",
                         {"norm_coefficient", "alpha", "beta", "epsilon", "norm_coefficient_post"});
    };
    table["Momentum"] = [](const Call& call) {
        return optimizer(call, "momentum", {"norm_coefficient", "alpha", "beta", "mode"});
    };
    table["Binarizer"] = [](const Call& call) {
        return fmt::format("({} > {}).type({})", call.in(0), literal(call.number("threshold")),
                           torchDType(call.out().dtype));
    };
    table["Scaler"] = scaled;
    table["FeatureVectorizer"] = features;
    table["ArrayFeatureExtractor"] = [](const Call& call) { // an input with one axis becomes one row
        return call.filled(call.rank() == 1 ? "{0}[{1}.flatten()].unsqueeze(0)" : "{0}[..., {1}.flatten()]");
    };
}

} // namespace twb::pytorch
