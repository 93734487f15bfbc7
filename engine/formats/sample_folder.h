#pragma once

#include "placement/analysis.h"
#include "training/sample_runs.h"

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace twb {

/// Samples from a folder of tensor files for the sources of a graph, by the names of the sources:
/// - Each folder in it is a sample: a file NAME.npy for each source.
/// - Each .npz and .safetensors file is a sample: a tensor NAME for each source.
/// - The .npy files in it are one sample, too: NAME.npy. If the graph has only one Input and no file has its
/// name,
///   each file is a sample of that Input.
/// A sample has a tensor for each Input of the graph. If a tensor has more rows than its source, it is cut
/// into several samples, and rows that do not fill the last one are left out. Floats may have another width
/// than the source, and so may integers. Other files are ignored.
class SampleFolder final : public Samples {
public:
    /// Reads the headers of all files. Throws Error(io) if the folder or a file cannot be read,
    /// Error(badFile), and Error(invalidArgument) if there is no sample or if a tensor does not fit the
    /// graph.
    SampleFolder(const Graph& graph, const Analysis& analysis, const std::filesystem::path& folder);

    std::size_t count() const override { return m_count; }
    Sample read(std::size_t index) const override;

private:
    struct Part {
        PortRef source;
        std::string path; ///< within the folder: "a.npz#x"
        TensorType given;
        TensorType wanted;
    };
    /// The files that belong together.
    struct Group {
        std::vector<Part> parts;
        std::size_t pieces = 1;
    };
    void add(const Graph& graph, const Analysis& analysis, const std::string& origin,
             const std::vector<std::pair<std::string, std::string>>& pathsByName);

    std::filesystem::path m_folder;
    std::shared_ptr<const TensorFiles> m_files;
    std::vector<Group> m_groups;
    std::size_t m_count = 0;
};

/// The samples in `folder` or, if it is empty, what the graph itself names. Throws Error(invalidArgument) if
/// the graph has Inputs but there is no folder.
std::unique_ptr<Samples> samplesFor(const Graph& graph, const Analysis& analysis,
                                    const std::filesystem::path& folder);

} // namespace twb
