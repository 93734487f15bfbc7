#pragma once

#include "placement/analysis.h"
#include "widgets/theme.h"

#include <QStaticText>
#include <QString>

#include <string_view>

namespace twb {

struct ModuleShape;

/// The op and its most informative attribute: "File test_images.npy", "ArgMax axis 1", "Cast to f64".
QString captionOf(const Node& node, const NodeFacts* facts);

/// The caption of a To: "To cuda:0", "To cpu · f64".
QString pillTitle(const Node& node, Device target);

/// The output type, or a sink's input type: "f32 360×64"; "f32 360×64 +1" for several outputs; "?" if
/// unknown.
QString typeCaption(const NodeFacts* facts, const Analysis& analysis);

/// The text of a folded parameter's row: "weight" and "f32 64×3×7×7", "min" and "0".
struct RowWords {
    QString name;
    QString value;
};
RowWords rowWords(const Graph& graph, const Analysis& analysis, NodeId folded);

/// The remark below a card's time: "modelled", "once", or both; empty for a time measured in each iteration.
QString timeRemark(bool modelled, bool once);
/// The modelled time beside a measured one.
QString besideRemark(double modelledNs);
/// The same for a module, whose time is a sum of modelled and measured times.
QString moduleTimeRemark(bool modelled, bool measured, bool once);

/// The approximate width of a text, to size cards faster than by shaping. ASCII only; other characters count
/// as the widest letter.
double roughWidth(std::string_view utf8, TextRole role);

/// Lays out a line of plain text once, since it is drawn often.
void setText(QStaticText& text, const QString& words, TextRole role);
/// A short form of a card's time that fits beside the title of any card.
QString cardTime(double ns);

/// Elided with "…" if it is too wide.
QString elided(const QString& text, TextRole role, double width);

/// The texts of a collapsed module.
struct ModuleWords {
    QString title;   ///< "layer1", "blocks.0–5 × 6"
    QString caption; ///< "12 ops", with the devices if there are several
    QString size;    ///< of its parameters: "2.36M parameters · 9.44 MB"; empty if it has none
    QString chip;    ///< the type of its first output
};
ModuleWords moduleWords(const ModuleShape& module, const Graph& graph, const Analysis& analysis);

} // namespace twb
