#include "widgets/actions/analysis_actions.h"

#include "backends/world.h"
#include "core/error.h"
#include "core/format.h"
#include "formats/project.h"
#include "graph/delta.h"
#include "graph/rank_lanes.h"
#include "placement/device_rule.h"
#include "placement/fix_set.h"
#include "placement/fixes.h"
#include "placement/proposal.h"
#include "profile/prediction.h"
#include "widgets/actions/graph_editor.h"
#include "widgets/actions/menu_action.h"
#include "widgets/busy_dialog.h"
#include "widgets/edit_title.h"
#include "widgets/price.h"
#include "widgets/review_dialog.h"
#include "widgets/text.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <map>
#include <optional>
#include <set>

namespace twb {
namespace {

QString ms(double ns) { return localized(formatMs(ns)); }

/// "host to device: log, device to host: disallow, …"
QString guardText(const Policy& guard) {
    using Direction = Policy::Direction;
    const auto of = [&](Direction direction) {
        switch (guard.actionFor(direction)) {
        case Policy::Action::allow:
            return AnalysisActions::tr("allow");
        case Policy::Action::log:
            return AnalysisActions::tr("log");
        case Policy::Action::disallow:
            break;
        }
        return AnalysisActions::tr("disallow");
    };
    return AnalysisActions::tr("%1 from host to device, %2 from device to host, %3 from device to device")
        .arg(of(Direction::hostToDevice), of(Direction::deviceToHost), of(Direction::deviceToDevice));
}

/// Predicts the saved file. Nothing if it is missing or has errors, so that there is nothing to compare with.
std::optional<Prediction> predictSaved(const DocumentSnapshot& document, const QString& path) {
    try {
        const Graph saved = loadProject(std::filesystem::path(path.toStdU16String()));
        return predict(saved, document.hardware.usableDevicesOf(saved), document.files);
    } catch (const Error&) {
        return std::nullopt;
    }
}

} // namespace

AnalysisActions::AnalysisActions(Document& document, GraphEditor& editor, QWidget& window)
    : m_document(document), m_editor(editor), m_window(window) {}

void AnalysisActions::fill(QMenu& menu) {
    menu.setToolTipsVisible(true);
    addAction(menu, tr("Fix &all mismatches…"), QKeySequence(QStringLiteral("Ctrl+Shift+.")), [this] {
        reviewFixes();
    })->setToolTip(tr("Finds the fixes that minimise the total time of all steps and copies."));
    addAction(menu, tr("&Propose placement…"), QKeySequence(QStringLiteral("Ctrl+Alt+M")),
              [this] { reviewPlacement(); })
        ->setToolTip(
            tr("Finds the lanes that minimise the total time of all steps and copies. Pinned nodes stay."));
    addAction(menu, tr("&What if…"), QKeySequence(QStringLiteral("Ctrl+Alt+W")), [this] {
        showWhatIf();
    })->setToolTip(tr("Predicts the time of an iteration on other GPUs."));
    addAction(menu, tr("Predict on several &ranks…"), QKeySequence(QStringLiteral("Ctrl+Alt+Shift+W")),
              [this] { showRanks(); })
        ->setToolTip(
            tr("Predicts the time of an iteration on several ranks, connected by NVLink, PCIe or Ethernet."));
    addAction(menu, tr("&Compare policies…"), QKeySequence(QStringLiteral("Ctrl+Alt+J")), [this] {
        showPolicyLens();
    })->setToolTip(tr("Lists the edges that fail or cause a copy under each policy."));
    QAction* pin = addAction(menu, tr("P&in to lane"), QKeySequence(QStringLiteral("Ctrl+Alt+K")),
                             [this] { pinSelection(); });
    pin->setToolTip(tr("Proposed fixes and placements do not move a pinned node."));
    needSelection(pin, m_document, Part::nodes);
}

void AnalysisActions::reviewFixes() {
    FixSet set;
    bool found = false;
    m_editor.attempt(tr("Cannot compute fixes"), [&] {
        const DocumentSnapshot now = m_document.snapshot();
        found = workCancellable(
            tr("Computing the cheapest fixes…"), &m_window, [&](const IsCancelled& isCancelled) {
                set = minimalFixSet(now.graph, now.analysis, now.devices, now.files.get(), isCancelled);
            });
    });
    if (!found) return;
    if (set.fixes.empty()) {
        m_editor.say(tr("No device mismatches."));
        return;
    }
    ReviewDialog::Content content;
    content.title = tr("Fix all mismatches");
    content.sentence =
        tr("These changes fix all device mismatches and minimise the total time of all steps and copies.");
    content.columns = {tr("change"), tr("bytes per iteration"), tr("time, modelled")};
    for (const Fix& fix : set.fixes)
        content.rows.push_back(
            {fixText(fix),
             fix.price.bytes ? localized(formatExactBytes(fix.price.bytes)) : QStringLiteral("–"),
             fix.price.ns > 0 ? ms(fix.price.ns) : QStringLiteral("–")});
    content.remark =
        tr("The steps and copies of an iteration take %1 in total; with a To on each mismatched edge, they "
           "would take %2. %3. The times are modelled %4.")
            .arg(ms(set.ns), ms(set.insertingNs),
                 set.isExact ? tr("No set of fixes has a smaller total time")
                             : tr("No set of fixes has a total time below %1").arg(ms(set.atLeastNs)),
                 toQt(sourcesOf(m_document.devices())));
    content.apply = tr("Apply");
    if (ReviewDialog(content, &m_window).exec() != QDialog::Accepted) return;
    m_editor.attempt(tr("Cannot apply the fixes"), [&] { m_editor.edit(set.delta); });
}

void AnalysisActions::reviewPlacement() {
    if (m_document.analysis().hasErrors()) {
        m_editor.say(tr("Fix the errors of the graph before proposing a placement."));
        return;
    }
    m_editor.attempt(tr("Cannot propose a placement"), [this] {
        const DocumentSnapshot document = m_document.snapshot();
        PlacementProposal proposal;
        Prediction now;
        Prediction then;
        const auto search = [&](const IsCancelled& isCancelled) {
            const auto of = [&](const Graph& graph) {
                return predict(graph, document.devices, document.files);
            };
            proposal = proposePlacement(
                document.graph, document.analysis, document.devices, document.files.get(),
                [&](const Graph& graph) { return of(graph).iterationNs; }, isCancelled);
            Graph moved = document.graph;
            moved.apply(proposal.delta);
            now = of(document.graph);
            then = of(moved);
        };
        if (!workCancellable(tr("Searching for a better placement…"), &m_window, search)) return;
        if (proposal.moves.empty()) {
            m_editor.say(tr("No better placement found."));
            return;
        }
        ReviewDialog::Content content;
        content.title = tr("Propose placement");
        content.sentence = tr("An iteration would take %1 instead of %2 (modelled). Pinned nodes stay.")
                               .arg(ms(then.iterationNs), ms(now.iterationNs));
        content.columns = {tr("move"), tr("copies, change"), tr("step time, change"),
                           tr("total time, change")};
        for (const PlacementMove& move : proposal.moves) {
            const auto change = [](double ns) { return withSign(ns, ms(std::abs(ns))); };
            content.rows.push_back({toQt(move.reason), withSign(move.copies, grouped(std::abs(move.copies))),
                                    change(move.stepNs), change(move.stepNs + move.copyNs)});
        }
        content.remark =
            tr("Total time of all steps and copies: %1 now, %2 after the moves. %3. The times are modelled "
               "%4.")
                .arg(ms(proposal.nsNow), ms(proposal.ns),
                     proposal.isExact
                         ? tr("No placement has a smaller total time")
                         : tr("No placement has a total time below %1").arg(ms(proposal.atLeastNs)),
                     toQt(now.sources));
        if (!then.fits())
            content.remark += QLatin1Char(' ') + tr("This placement exceeds the devices' memory.");
        content.apply = tr("Apply");
        if (ReviewDialog(content, &m_window).exec() == QDialog::Accepted) m_editor.edit(proposal.delta);
    });
}

void AnalysisActions::showWhatIf() {
    if (m_document.analysis().hasErrors()) {
        m_editor.say(tr("Fix the errors of the graph before predicting an iteration."));
        return;
    }
    m_editor.attempt(tr("Cannot predict an iteration"), [this] {
        ReviewDialog::Content content;
        content.title = tr("What if");
        content.sentence = tr(
            "Predicted time of an iteration: this graph, its saved version, and this graph on other GPUs.");
        content.columns = {tr("variant"),  tr("iteration"),  tr("latency"), tr("transfers"),
                           tr("launches"), tr("GPU memory"), tr("fits")};
        const auto add = [&](const QString& name, const Prediction& p) {
            const auto percent = [&](double part) {
                return percentage(p.latencyNs > 0 ? 100 * part / p.latencyNs : 0);
            };
            std::uint64_t most = 0;
            for (const auto& use : p.devices)
                if (!use.device.isCpu()) most = std::max(most, use.plannedBytes);
            content.rows.push_back({name, ms(p.iterationNs), ms(p.latencyNs), percent(p.critical.transfer),
                                    percent(p.critical.overhead), localized(formatBytes(double(most))),
                                    p.fits() ? tr("yes") : tr("no")});
        };
        const DocumentSnapshot document = m_document.snapshot();
        // Saved by the last Save, to show the effect of the edits since.
        const QString saved = m_document.isModified() ? m_document.path() : QString();
        Prediction now;
        std::optional<Prediction> before;
        std::vector<std::pair<QString, std::optional<Prediction>>> others;
        workWaiting(tr("Predicting…"), &m_window, [&] {
            now = predict(document.graph, document.devices, document.files);
            if (!saved.isEmpty()) before = predictSaved(document, saved);
            std::vector<Device> gpus;
            for (const Lane& lane : document.graph.lanes()) {
                const Device device = lane.device.isAuto() ? Device::cuda(0) : lane.device;
                if (device.isCuda() && std::find(gpus.begin(), gpus.end(), device) == gpus.end())
                    gpus.push_back(device);
            }
            for (const DeviceProfile& profile : document.hardware.profiles->all()) {
                if (gpus.empty()) break;
                HardwareChoice hardware = document.hardware;
                hardware.choices.clear();
                for (const Device gpu : gpus) hardware.choices.push_back({gpu, profile.id});
                std::optional<Prediction> prediction;
                try {
                    prediction = predict(document.graph, hardware.devicesOf(document.graph), document.files);
                } catch (const Error&) {
                    // A single tensor exceeds the device's memory, or the device has no kernel for an op.
                }
                others.emplace_back(toQt(profile.name), std::move(prediction));
            }
        });
        add(tr("this graph"), now);
        if (before) add(tr("saved version"), *before);
        for (const auto& [name, prediction] : others)
            if (prediction)
                add(name, *prediction);
            else
                content.rows.push_back({name, {}, {}, {}, {}, {}, tr("no")});
        content.remark = tr("Iteration: time per iteration in a long run. Latency: time of a single "
                            "iteration. Transfers and "
                            "launches: shares of the latency. The times are modelled %1.")
                             .arg(toQt(now.sources));
        ReviewDialog(content, &m_window).exec();
    });
}

/// Each rank is taken to have the hardware of this graph.
void AnalysisActions::showRanks() {
    if (m_document.analysis().hasErrors()) {
        m_editor.say(tr("Fix the errors of the graph before predicting an iteration."));
        return;
    }
    if (dividesNodes(m_document.graph())) return showLinks();
    m_editor.attempt(tr("Cannot predict an iteration"), [this] {
        Prediction alone;
        ReviewDialog::Content content;
        const auto add = [&](const QString& name, int ranks, const Prediction& p) {
            const bool isAlone = ranks == 1;
            content.rows.push_back(
                {name, ms(p.iterationNs), isAlone ? QStringLiteral("–") : ms(p.communicationNs),
                 isAlone || p.communicationNs <= 0 ? QStringLiteral("–")
                                                   : percentage(100 * p.hiddenNs / p.communicationNs),
                 isAlone ? QStringLiteral("–") : ms(std::max(p.communicationNs - p.hiddenNs, 0.0)),
                 p.iterationNs > 0
                     ? QStringLiteral("%1 ×").arg(fixed(ranks * alone.iterationNs / p.iterationNs, 2))
                     : QString()});
        };
        struct Variant {
            const LinkProfile& link;
            int ranks = 0;
            Prediction prediction;
        };
        std::vector<Variant> variants;
        const DocumentSnapshot document = m_document.snapshot();
        workWaiting(tr("Predicting…"), &m_window, [&] {
            alone = predict(document.graph, document.devices, document.files);
            for (const LinkProfile& link : linkProfiles())
                for (const int ranks : {2, 4, 8})
                    variants.push_back(
                        {link, ranks,
                         predictOnRanks(document.graph, document.devices, document.files, ranks, link)});
        });
        add(tr("1 rank (this graph)"), 1, alone);
        for (const Variant& v : variants)
            add(tr("%1 ranks on %2").arg(QString::number(v.ranks), toQt(v.link.name)), v.ranks, v.prediction);
        if (std::ranges::all_of(variants,
                                [](const Variant& v) { return v.prediction.communicationNs <= 0; })) {
            m_editor.say(
                tr("This graph has no communication between ranks. Add training, or an op from the palette "
                   "section Ranks."));
            return;
        }
        QStringList sources;
        for (const LinkProfile& link : linkProfiles())
            sources << QStringLiteral("%1 (%2)").arg(toQt(link.name), toQt(link.source));
        content.title = tr("Predict on several ranks");
        content.sentence = tr(
            "Predicted time of an iteration on several ranks. Each rank has the hardware of this graph and "
            "its own batch. Nothing is measured.");
        content.columns = {tr("simulated ranks and link"),
                           tr("iteration"),
                           tr("communication"),
                           tr("overlapped"),
                           tr("waiting"),
                           tr("throughput")};
        content.remark =
            tr("Communication: time per iteration in collective calls. Overlapped: share of that time during "
               "which a step computes. Waiting: the rest of it, in which the rank computes nothing. "
               "Throughput: "
               "batches per second relative to one rank. The times are modelled %1. Links: %2.")
                .arg(toQt(alone.sources), sources.join(QStringLiteral("; ")));
        ReviewDialog(content, &m_window).exec();
    });
}

/// Of a graph whose lanes divide it among ranks.
void AnalysisActions::showLinks() {
    m_editor.attempt(tr("Cannot predict an iteration"), [this] {
        std::vector<std::pair<QString, Prediction>> variants;
        QStringList sources;
        const DocumentSnapshot document = m_document.snapshot();
        const int ranks = lastRankOf(document.graph) + 1;
        workWaiting(tr("Predicting…"), &m_window, [&] {
            for (const LinkProfile& link : linkProfiles()) {
                variants.emplace_back(toQt(link.name), predictOnRanks(document.graph, document.devices,
                                                                      document.files, ranks, link));
                sources << QStringLiteral("%1 (%2)").arg(toQt(link.name), toQt(link.source));
            }
        });
        ReviewDialog::Content content;
        content.title = tr("Predict on several ranks");
        content.sentence =
            tr("Predicted time of an iteration of this graph, whose lanes belong to %1 ranks, by "
               "the link between them. Nothing is measured.")
                .arg(ranks);
        content.columns = {tr("link"), tr("iteration"), tr("latency"), tr("transfers")};
        for (const auto& [name, p] : variants)
            content.rows.push_back(
                {name, ms(p.iterationNs), ms(p.latencyNs),
                 percentage(p.latencyNs > 0 ? 100 * p.critical.transfer / p.latencyNs : 0)});
        content.remark =
            tr("Iteration: time per iteration in a long run. Latency: time of a single iteration. "
               "Transfers: share of the latency. The times are modelled %1. Links: %2.")
                .arg(toQt(variants.front().second.sources), sources.join(QStringLiteral("; ")));
        ReviewDialog(content, &m_window).exec();
    });
}

void AnalysisActions::showPolicyLens() {
    const Graph& graph = m_document.graph();
    const Policy own = graph.info().policy;
    const Policy guard = own.kind() == Policy::Kind::guard ? own : *Policy::parse("guard:d2h=disallow");
    struct Lens {
        QString name;
        Policy policy;
        Analysis analysis;
        double ns = 0;
        int copies = 0;
        std::map<Edge, QString> edges;
    };
    std::array<Lens, 3> lenses{Lens{tr("Strict"), Policy::strict, {}, 0, 0, {}},
                               Lens{tr("Implicit"), Policy::implicit, {}, 0, 0, {}},
                               Lens{tr("Guard"), guard, {}, 0, 0, {}}};
    std::set<Edge> edges;
    for (Lens& lens : lenses) {
        lens.analysis = analyze(graph, m_document.devices(), lens.policy, m_document.files().get());
        for (const Diagnostic& d : lens.analysis.diagnostics)
            if (d.code == "device-mismatch" && d.edge) lens.edges[*d.edge] = tr("fails");
        for (const ImplicitCopy& copy : lens.analysis.implicitCopies) {
            for (const Edge& edge : copy.edges)
                lens.edges[edge] = copy.hoisted ? tr("copied once, before the iterations")
                                                : tr("copied, %1").arg(ms(copy.price.ns));
            if (copy.hoisted) continue;
            ++lens.copies;
            lens.ns += copy.price.ns;
        }
        for (const auto& [edge, what] : lens.edges) edges.insert(edge);
    }
    if (edges.empty()) {
        m_editor.say(tr("No device mismatches: all policies agree."));
        return;
    }
    ReviewDialog::Content content;
    content.title = tr("Compare policies");
    content.sentence = tr("Edges with an operand on another device, and their result under each policy.");
    content.columns = {tr("edge")};
    QStringList sums;
    for (const Lens& lens : lenses) {
        content.columns << lens.name;
        const auto failing = std::count_if(lens.edges.begin(), lens.edges.end(), [](const auto& entry) {
            return entry.second == AnalysisActions::tr("fails");
        });
        if (failing > 0)
            sums << (failing == 1 ? tr("%1: %2 of %3 fails") : tr("%1: %2 of %3 fail"))
                        .arg(lens.name)
                        .arg(failing)
                        .arg(edges.size() == 1 ? tr("1 edge") : tr("%1 edges").arg(edges.size()));
        else
            sums << (lens.copies == 1 ? tr("%1: %2 copy per iteration takes %3")
                                      : tr("%1: %2 copies per iteration take %3"))
                        .arg(lens.name)
                        .arg(lens.copies)
                        .arg(ms(lens.ns));
    }
    for (const Edge& edge : edges) {
        QStringList row{toQt(labelOf(graph, edge.from.node)) + QStringLiteral(" → ") +
                        toQt(labelOf(graph, edge.to.node))};
        for (const Lens& lens : lenses) {
            const auto at = lens.edges.find(edge);
            row << (at == lens.edges.end() ? QString() : at->second);
        }
        content.rows.push_back(std::move(row));
    }
    content.areWords = true;
    content.alarm = tr("fails");
    content.remark = tr("%1. Guard: %2. Consumers on one device share a copy. Times are modelled.")
                         .arg(sums.join(QStringLiteral("; ")), guardText(guard));
    ReviewDialog(content, &m_window).exec();
}

void AnalysisActions::pinSelection() {
    const std::set<NodeId>& selected = m_document.selection().nodes;
    const std::vector<NodeId> nodes(selected.begin(), selected.end());
    const bool all = std::all_of(nodes.begin(), nodes.end(),
                                 [this](NodeId id) { return m_document.graph().find(id)->pinned; });
    DeltaBuilder builder(m_document.graph(),
                         editTitle(all ? EditTitle::tr("Unpin from lane") : EditTitle::tr("Pin to lane")));
    for (const NodeId id : nodes) {
        Node node = *m_document.graph().find(id);
        if (node.pinned != all) continue;
        node.pinned = !all;
        builder.change(node);
    }
    m_editor.edit(builder.take());
    m_editor.say(all ? tr("Proposed placements can move this selection.")
                     : tr("Proposed placements do not move this selection."));
}

} // namespace twb
