#pragma once

#include <QtGlobal>

#include <string>

namespace twb::test {

/// A small valid project, and the same with one part replaced.
inline const std::string kSmall = R"({
"format": "tensor-workbench",
"version": 1,
"title": "t", "description": "", "policy": "strict", "iterations": 1,
"lanes": [{"id": 1, "device": "cpu", "order": 0}],
"frames": [{"id": 1, "title": "f"}],
"nodes": [
{"id": 1, "op": "Zeros", "name": "a", "lane": 1, "attributes": {"shape": [2, 3]}},
{"id": 2, "op": "Relu", "name": "b", "lane": 1, "frame": 1}
],
"edges": [{"from": [1, 0], "to": [2, 0]}],
"notes": [{"id": 1, "lane": 1, "text": "hello"}],
"layout": {"lanes": {"1": 200}, "nodes": {"1": [0, 0], "2": [200, 0]}, "notes": {"1": [0, 100, 280, 0]}}
})";

inline std::string with(const std::string& piece, const std::string& other, std::string text = kSmall) {
    const auto at = text.find(piece);
    if (at == std::string::npos) qFatal("the small project has no %s", piece.c_str());
    return text.replace(at, piece.size(), other);
}

} // namespace twb::test
