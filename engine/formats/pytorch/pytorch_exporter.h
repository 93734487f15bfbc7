#pragma once

#include "formats/pytorch/module_tree.h"
#include "formats/pytorch/torch_call.h"

#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace twb::pytorch {

/// Generates unused, valid Python names.
class PythonNames {
public:
    PythonNames();
    /// For members of an nn.Module.
    static PythonNames ofMembers();
    /// Other characters become snake case; a used name gets a number.
    std::string variable(std::string_view wanted, std::string_view otherwise = "tensor");
    /// CamelCase.
    std::string type(std::string_view wanted);

private:
    std::string unique(const std::string& wanted);
    std::set<std::string> m_taken;
};

/// Converts one graph to a module.
class Exporter {
public:
    /// `folder`: of the module. `beside`: the file name for tensors without a file.
    Exporter(const Graph& graph, const TensorFiles* files, std::filesystem::path project,
             std::filesystem::path folder, std::string beside);

    std::string run();
    /// The tensors to write beside the module, by name.
    const std::map<std::string, Tensor>& tensors() const noexcept { return m_tensors; }

private:
    struct Output {
        std::string name;
        PortRef from;
        std::string path; ///< of a Save; empty for a Probe
    };

    static Graph withCopiesMade(const Graph& graph, const TensorFiles* files);
    void check() const;
    void findLive();
    std::vector<PortRef> readsOf(const NodeFacts& facts);
    void findOutputs();
    void nameValues();
    std::string titleOf(FrameId frame) const;

    bool isArgument(PortRef source) const;
    std::string nameIn(std::size_t scope, PortRef value) const;
    std::string sourceText(const NodeFacts& facts);
    std::string constantText(const NodeFacts& facts);
    std::string loadText(const std::string& path, const NodeFacts& facts);
    std::string besideText(const NodeFacts& facts);
    std::string pathText(const std::string& path) const;

    void line(const std::string& text);
    void writeScope(std::size_t scope);
    void writeItems(std::size_t scope);
    void writeNode(std::size_t scope, const NodeFacts& facts);
    void writeTo(std::size_t scope, const NodeFacts& facts);
    void writeControl(std::size_t scope, const NodeFacts& facts);
    void writeBody(std::size_t scope, const Body& body);
    void writeIf(std::size_t scope, const NodeFacts& facts);
    void writeLoop(std::size_t scope, const NodeFacts& facts);
    std::string resultOf(std::size_t scope, const NodeFacts& facts, std::size_t result) const;
    std::string mainText();
    std::string outputsText() const;

    const Graph m_graph;
    const TensorFiles* m_files;
    const std::filesystem::path m_project;
    const std::filesystem::path m_folder;
    const std::string m_beside;
    const Bodies m_bodies;
    const Analysis m_analysis;

    std::vector<LiveNode> m_live;
    std::set<NodeId> m_isLive;
    std::vector<Output> m_outputs;
    std::optional<ModuleTree> m_tree;
    PythonNames m_names;
    std::map<PortRef, std::string> m_nameOf;
    std::map<std::size_t, std::string> m_typeOf; ///< class names, by scope
    std::map<std::size_t, std::string> m_memberOf;
    std::map<PortRef, std::string> m_attributeOf;
    std::set<std::pair<std::size_t, PortRef>> m_held; ///< a scope and a constant that it holds
    std::set<std::string> m_helpers;
    std::map<std::string, Tensor> m_tensors;
    bool m_isClass = false; ///< whether the root is a class or a function
    std::string m_text;
    int m_indent = 0;
};

} // namespace twb::pytorch
