#include "formats/onnx/onnx_graph_forms.h"

#include "core/error.h"
#include "graph/rewrite.h"

#include <fmt/format.h>

#include <optional>
#include <string>
#include <utility>

namespace twb::onnx_export {
namespace {

class Forms {
public:
    explicit Forms(const Graph& graph) : m_graph(graph), m_names(graph), m_rewrite(graph) {}

    void splitProduct(const Node& gemm, const NodeFacts& facts) {
        const DType dtype = facts.outputs[0]->dtype;
        const double alpha = facts.attributes.number("alpha");
        const double beta = facts.attributes.number("beta");
        const auto c = beta != 0 ? m_graph.sourceOf({gemm.id, 2}) : std::nullopt;
        if (!holdsFractions(dtype) && (alpha != 1 || (c && beta != 1)))
            throw Error(
                ErrorCode::badGraph,
                fmt::format("Gemm \"{}\" cannot be exported to ONNX: it scales a stack of matrices of "
                            "integers; set alpha and beta to 1",
                            gemm.name));
        const PortRef a = *m_graph.sourceOf({gemm.id, 0});
        PortRef b = *m_graph.sourceOf({gemm.id, 1});
        if (facts.attributes.flag("transB"))
            b = add(gemm, "Transpose", {{"perm", std::vector<std::int64_t>{1, 0}}}, {b});
        const bool isScaled = alpha != 1;
        if (!isScaled && !c) return become(gemm, "MatMul", a, b);
        const PortRef product = add(gemm, "MatMul", {}, {a, b});
        if (!c) return become(gemm, "Mul", product, number(gemm, alpha, dtype));
        const PortRef left = isScaled ? add(gemm, "Mul", {}, {product, number(gemm, alpha, dtype)}) : product;
        const PortRef right = beta != 1 ? add(gemm, "Mul", {}, {*c, number(gemm, beta, dtype)}) : *c;
        become(gemm, "Add", left, right);
    }

    void addScale(const Node& normalization, const NodeFacts& facts) {
        const Shape& x = facts.outputs[0]->shape;
        const int first = *normalizeAxis(facts.attributes.integer("axis"), x.rank());
        std::vector<std::int64_t> sizes(x.begin() + first, x.end());
        for (std::int64_t& size : sizes)
            if (size == kUnknownDim) size = 1; // it broadcasts
        m_rewrite.connect(
            {normalization.id, 1},
            add(normalization, "Ones",
                {{"shape", std::move(sizes)}, {"dtype", std::string(name(facts.outputs[0]->dtype))}}, {}));
    }

    Graph take() const {
        Graph out = m_graph;
        m_rewrite.applyTo(out);
        return out;
    }

private:
    /// A node at the place of another.
    PortRef add(const Node& at, const char* op, Attributes attributes, const std::vector<PortRef>& inputs) {
        Node node = at;
        node.name = m_names.take(fmt::format("{}_{}", at.name, op));
        node.op = op;
        node.attributes = std::move(attributes);
        const NodeId id = m_rewrite.add(std::move(node));
        for (std::size_t port = 0; port < inputs.size(); ++port)
            m_rewrite.connect({id, static_cast<std::int32_t>(port)}, inputs[port]);
        return {id, 0};
    }
    PortRef number(const Node& at, double value, DType dtype) {
        return add(at, "Constant",
                   {{"value", std::vector<double>{value}},
                    {"shape", std::vector<std::int64_t>{}},
                    {"dtype", std::string(name(dtype))}},
                   {});
    }
    /// The node keeps its name and its consumers.
    void become(const Node& gemm, const char* op, PortRef a, PortRef b) {
        Node node = gemm;
        node.op = op;
        node.attributes = {};
        m_rewrite.change(std::move(node));
        m_rewrite.connect({gemm.id, 0}, a);
        m_rewrite.connect({gemm.id, 1}, b);
        m_rewrite.connect({gemm.id, 2}, std::nullopt);
    }

    const Graph& m_graph;
    UniqueNames m_names;
    Rewrite m_rewrite;
};

} // namespace

Graph withOnnxForms(Graph graph, const Analysis& analysis) {
    Forms forms(graph);
    bool any = false;
    for (const Node& node : graph.nodes()) {
        const NodeFacts* facts = analysis.find(node.id);
        if (!facts || !facts->fine || facts->outputs.empty() || !facts->outputs[0]) continue;
        if (node.op == "Gemm" && facts->outputs[0]->shape.rank() != 2)
            forms.splitProduct(node, *facts);
        else if (node.op == "LayerNormalization" && !graph.sourceOf({node.id, 1}))
            forms.addScale(node, *facts);
        else
            continue;
        any = true;
    }
    return any ? forms.take() : graph;
}

} // namespace twb::onnx_export
