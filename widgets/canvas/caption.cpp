#include "widgets/canvas/caption.h"

#include "graph/folding.h"
#include "graph/module_names.h"
#include "ops/op_table.h"
#include "profile/report.h"
#include "widgets/canvas/scene_shapes.h"
#include "widgets/text.h"

#include <QCoreApplication>
#include <QFontMetricsF>

#include <array>
#include <map>
#include <set>

namespace twb {
namespace {

/// For translators.
struct CaptionWords {
    Q_DECLARE_TR_FUNCTIONS(Canvas)
};

QString fileName(const std::string& path) {
    const auto slash = path.find_last_of('/');
    return toQt(slash == std::string::npos ? path : path.substr(slash + 1));
}

/// "axis 1"; the attribute's name is omitted if the value is clear without it.
QString tell(std::string_view name, const AttributeValue& value) {
    QString text = toQt(toString(value));
    if (text.isEmpty() || text == QLatin1String("[]")) return {};
    if (name == "value") return text;
    return toQt(name) + QLatin1Char(' ') + text;
}

} // namespace

QString captionOf(const Node& node, const NodeFacts* facts) {
    QString op = toQt(node.op);
    if (node.disabled) return CaptionWords::tr("%1 · disabled").arg(op);
    const Op* known = facts ? facts->op : nullptr;
    const Attributes& attributes = facts && !facts->attributes.empty() ? facts->attributes : node.attributes;
    if (known) {
        for (const AttributeSpec& spec : known->attributes) {
            if (spec.type != AttributeType::file) continue;
            const AttributeValue* value = attributes.find(spec.name);
            if (const auto* path = value ? std::get_if<std::string>(value) : nullptr; path && !path->empty())
                return op + QLatin1Char(' ') + fileName(*path);
        }
    }
    // A source's shape and dtype are on its chip.
    const bool isSource = known && known->role == OpRole::source;
    for (const std::string_view name : {"axis", "axes", "perm", "shape", "to", "value"}) {
        if (isSource && name != "value") continue;
        const AttributeValue* value = attributes.find(name);
        if (!value) continue;
        if (const QString told = tell(name, *value); !told.isEmpty()) return op + QLatin1Char(' ') + told;
    }
    return op;
}

QString pillTitle(const Node& node, Device target) {
    QString title = QLatin1String("To ") + toQt(target.toString());
    if (const AttributeValue* dtype = node.attributes.find("dtype")) {
        if (const auto* text = std::get_if<std::string>(dtype); text && parseDType(*text))
            title += QStringLiteral(" · ") + toQt(*text);
    }
    return title;
}

QString typeCaption(const NodeFacts* facts, const Analysis& analysis) {
    if (!facts) return {};
    if (facts->outputs.empty()) {
        if (facts->inputs.empty() || !facts->inputs.front()) return {};
        const auto& type = analysis.typeOf(*facts->inputs.front());
        return type ? toQt(type->toString()) : QStringLiteral("?");
    }
    if (!facts->outputs.front()) return QStringLiteral("?");
    QString text = toQt(facts->outputs.front()->toString());
    if (facts->outputs.size() > 1) text += QStringLiteral(" +%1").arg(facts->outputs.size() - 1);
    return text;
}

RowWords rowWords(const Graph& graph, const Analysis& analysis, NodeId folded) {
    constexpr qsizetype kShort = 16; // maximum length of a value in a caption
    const Node* node = graph.find(folded);
    const auto into = node ? foldedInto(graph, *node) : std::nullopt;
    if (!into) return {};
    const NodeFacts* facts = analysis.find(folded);
    QString name = toQt(namePath(node->name).back());
    // A node without a name is called after its role.
    const bool isNamed = !name.startsWith(QLatin1String("Constant")) &&
                         !name.startsWith(QLatin1String("identity"), Qt::CaseInsensitive) &&
                         !name.contains(QLatin1String("_output_")) && !name.contains(QLatin1String("::"));
    const NodeFacts* reader = analysis.find(into->node);
    const Op* op = reader ? reader->op : nullptr;
    if (!isNamed && op && !op->inputs.empty()) name = toQt(op->inputAt(into->port).name);
    const AttributeValue* value = node->op == "File" ? nullptr : node->attributes.find("value");
    const QString text = value ? toQt(toString(*value)) : QString();
    const bool isGlance = !text.isEmpty() && text.size() <= kShort;
    return {name, isGlance ? text : typeCaption(facts, analysis)};
}

ModuleWords moduleWords(const ModuleShape& module, const Graph& graph, const Analysis& analysis) {
    ModuleWords words;
    words.title =
        module.repeats > 0 ? QStringLiteral("%1 × %2").arg(module.title).arg(module.repeats) : module.title;
    int ops = 0;
    double parameters = 0;
    double bytes = 0;
    std::set<Device> devices;
    for (const NodeId id : module.nodes) {
        const NodeFacts* facts = analysis.find(id);
        if (!facts || !facts->op) continue;
        if (facts->op->role != OpRole::source) {
            ++ops;
            devices.insert(facts->device);
            continue;
        }
        const std::string& op = graph.find(id)->op;
        const auto& type = analysis.typeOf({id, 0});
        const bool isParameter = op == "File" || op == "Constant" || op == "Parameter";
        if (!isParameter || !type || !type->isKnown() || !isFloating(type->dtype)) continue;
        parameters += static_cast<double>(type->shape.elementCount());
        bytes += static_cast<double>(type->byteCount());
    }
    QStringList caption{ops == 1 ? CaptionWords::tr("1 op") : CaptionWords::tr("%1 ops").arg(ops)};
    QStringList names;
    for (const Device device : devices) names << toQt(device.toString());
    if (names.size() > 1) caption << names.join(QStringLiteral(", "));
    words.caption = caption.join(QStringLiteral(" · "));
    if (parameters > 0) {
        const QString count = parameters == 1
                                  ? CaptionWords::tr("1 parameter")
                                  : CaptionWords::tr("%1 parameters").arg(localized(formatCount(parameters)));
        words.size = count + QStringLiteral(" · ") + localized(formatBytes(bytes));
    }
    if (module.outputs.empty()) return words;
    const auto& type = analysis.typeOf(module.outputs.front().front());
    words.chip = type ? toQt(type->toString()) : QStringLiteral("?");
    if (module.outputs.size() > 1) words.chip += QStringLiteral(" +%1").arg(module.outputs.size() - 1);
    return words;
}

QString timeRemark(bool modelled, bool once) {
    if (modelled && once) return CaptionWords::tr("modelled, once");
    if (modelled) return CaptionWords::tr("modelled");
    return once ? CaptionWords::tr("once") : QString();
}

QString besideRemark(double modelledNs) {
    return CaptionWords::tr("%1 modelled").arg(localized(formatMs(modelledNs)));
}

QString moduleTimeRemark(bool modelled, bool measured, bool once) {
    return modelled && measured ? CaptionWords::tr("partly modelled") : timeRemark(modelled, once);
}

void setText(QStaticText& text, const QString& words, TextRole role) {
    text.setTextFormat(Qt::PlainText);
    text.setPerformanceHint(QStaticText::AggressiveCaching);
    text.setText(words);
    text.prepare(QTransform(), font(role));
}

QString cardTime(double ns) {
    return ns < 1000 ? localized(QStringLiteral("<0.001 ms")) : localized(formatMs(ns));
}

double roughWidth(std::string_view utf8, TextRole role) {
    struct Widths {
        std::array<double, 128> ascii{};
        double other = 0;
    };
    static std::map<TextRole, Widths> known;
    auto found = known.find(role);
    if (found == known.end()) {
        const QFontMetricsF metrics(font(role));
        Widths widths;
        for (std::size_t c = 32; c < 127; ++c)
            widths.ascii[c] = metrics.horizontalAdvance(QLatin1Char(static_cast<char>(c)));
        widths.other = metrics.horizontalAdvance(QChar(0x00d7)); // ×, by far the most frequent
        found = known.emplace(role, widths).first;
    }
    double width = 0;
    for (const char c : utf8) {
        const auto byte = static_cast<unsigned char>(c);
        if (byte < 128)
            width += found->second.ascii[byte];
        else if ((byte & 0xc0U) == 0xc0U)
            width += found->second.other; // first byte of a longer character
    }
    return width;
}

QString elided(const QString& text, TextRole role, double width) {
    constexpr qsizetype kMost = 4096; // characters: more than fit into any card, but quick to measure
    return QFontMetricsF(font(role)).elidedText(text.left(kMost), Qt::ElideRight, width);
}

} // namespace twb
