#pragma once

#include "core/error.h"
#include "placement/causes.h"
#include "placement/fixes.h"

#include <QString>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tuple>

namespace twb::test {

/// An error or warning, identified by its subject.
using Trouble = std::tuple<std::string, NodeId, int>;

inline std::map<Trouble, const Diagnostic*> troubles(const Analysis& analysis) {
    std::map<Trouble, const Diagnostic*> out;
    for (const Diagnostic& d : analysis.diagnostics)
        if (d.severity != Severity::note) out.emplace(Trouble{d.code, d.node, d.port}, &d);
    return out;
}

/// Applies each offered fix and remedy of a graph separately. Returns the first complaint about one that
/// leaves its problem, adds another, or is cheaper than the one listed before it; empty if there is none.
/// `applied` counts them.
inline QString badFix(const Graph& graph, const DeviceMap& devices, std::size_t& applied,
                      const TensorFiles* files = nullptr) {
    const Policy policy = graph.info().policy;
    const Analysis before = analyze(graph, devices, policy, files);
    const auto known = troubles(before);
    const auto effect = [&](const std::vector<Fix>& fixes, const std::string& title,
                            const std::vector<Trouble>& gone) -> std::string {
        ++applied;
        Graph mended = graph;
        mended.apply(combineFixes(graph, before, devices, fixes, title));
        const Analysis after = analyze(mended, devices, policy, files);
        for (const auto& [trouble, d] : troubles(after)) {
            if (std::find(gone.begin(), gone.end(), trouble) != gone.end())
                return "\"" + title + "\" leaves " + d->message;
            if (!known.contains(trouble)) return "\"" + title + "\" makes " + d->message;
        }
        return {};
    };
    const auto isDearer = [](const Price& a, const Price& b) {
        return std::pair(!a.isKnown, a.ns) > std::pair(!b.isKnown, b.ns);
    };
    for (const Diagnostic& d : before.diagnostics)
        for (std::size_t i = 0; i < d.fixes.size(); ++i) {
            if (i > 0 && isDearer(d.fixes[i - 1].price, d.fixes[i].price))
                return QString::fromStdString("\"" + d.fixes[i].title + "\" is cheaper than the one before");
            const std::string bad = effect({d.fixes[i]}, d.fixes[i].title, {{d.code, d.node, d.port}});
            if (!bad.empty()) return QString::fromStdString(bad + "\n  offered for " + d.message);
        }
    for (const Cause& cause : causesOf(graph, before, devices))
        for (std::size_t i = 0; i < cause.remedies.size(); ++i) {
            const Remedy& remedy = cause.remedies[i];
            if (i > 0 && isDearer(cause.remedies[i - 1].price, remedy.price))
                return QString::fromStdString("\"" + remedy.title + "\" is cheaper than the one before");
            std::vector<Trouble> gone;
            for (const std::size_t k : cause.diagnostics) {
                const Diagnostic& d = before.diagnostics[k];
                gone.emplace_back(d.code, d.node, d.port);
            }
            const std::string bad = effect(remedy.fixes, remedy.title, gone);
            if (!bad.empty()) return QString::fromStdString(bad + "\n  offered for " + cause.sentence);
        }
    return {};
}

} // namespace twb::test
