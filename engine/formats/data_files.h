#pragma once

#include "formats/tensor_archive.h"

#include <filesystem>
#include <string>
#include <vector>

namespace twb {

/// An IDX file, as of MNIST, plain or compressed by gzip: one tensor of bytes, integers or floating numbers,
/// read into memory. Magic number: two zero bytes, the dtype, the rank; then the sizes, big-endian.
class IdxFile final : public TensorArchive {
public:
    /// By its name: "train-images-idx3-ubyte", "x.idx", both also with ".gz".
    static bool isNamed(const std::filesystem::path& path);
    explicit IdxFile(const std::filesystem::path& path, const FileBounds& bounds = {});

    std::vector<std::string> names() const override { return {"data"}; }
    TensorType typeOf(const std::string& name) const override;
    void read(const std::string& name, const TensorView& out) const override;

private:
    std::filesystem::path m_path;
    Tensor m_tensor;
};

/// A CSV file of numbers, separated by comma, semicolon or tab, with or without a line of column names; read
/// into memory as f64. "a.csv#name" is one column, as a list; "a.csv#!name" is a matrix of all others;
/// "a.csv" is the whole table. Without names, columns are numbered from 0. An empty field is NaN.
class CsvFile final : public TensorArchive {
public:
    explicit CsvFile(const std::filesystem::path& path, const FileBounds& bounds = {});

    std::vector<std::string> names() const override { return m_names; }
    bool isWhole() const noexcept override { return true; }
    TensorType typeOf(const std::string& name) const override;
    void read(const std::string& name, const TensorView& out) const override;

private:
    std::vector<std::size_t> columnsOf(const std::string& name) const;
    void parse(std::string_view text);
    [[noreturn]] void fail(std::size_t line, const std::string& what) const;

    std::filesystem::path m_path;
    std::vector<std::string> m_names; ///< of the columns
    std::vector<double> m_values;     ///< row by row
    std::size_t m_rows = 0;
};

} // namespace twb
