#pragma once

#include "placement/analysis.h"
#include "widgets/theme.h"

#include <QStaticText>
#include <QString>

#include <string_view>

namespace twb {

struct ModuleShape;

/// The op and the one attribute that tells most: "File test_images.npy", "ArgMax axis 1", "Cast to f64".
QString captionOf(const Node& node, const NodeFacts* facts);

/// What a To does: "To cuda:0", "To cpu · f64".
QString pillTitle(const Node& node, Device target);

/// What comes out, or of a sink what goes in: "f32 360×64"; "f32 360×64 +1" for several outputs; "?" when it
/// is not known.
QString typeCaption(const NodeFacts* facts, const Analysis& analysis);

/// What a row says of a folded parameter: "weight" and "f32 64×3×7×7", "min" and "0".
struct RowWords {
    QString name;
    QString value;
};
RowWords rowWords(const Graph& graph, const Analysis& analysis, NodeId folded);

/// What stands under a card's time: "modelled", "once", both; nothing of a time that was measured in each
/// iteration.
QString timeRemark(bool modelled, bool once);
/// The same of a module's: the sum of its nodes' times, some of which may be modelled and others measured.
QString moduleTimeRemark(bool modelled, bool measured, bool once);

/// How wide a text is, near enough to size a card by and much faster than shaping it. ASCII only; others
/// count as the font's widest letter.
double roughWidth(std::string_view utf8, TextRole role);

/// Lays a line of plain text out, once for the many times that it is drawn.
void setText(QStaticText& text, const QString& words, TextRole role);
/// A card's time, at a glance: every card has room for it beside its title.
QString cardTime(double ns);

/// Cut with "…" where it is wider.
QString elided(const QString& text, TextRole role, double width);

/// A collapsed module's: what it is, and the type of its first output.
struct ModuleWords {
    QString caption;
    QString chip;
};
ModuleWords moduleWords(const ModuleShape& module, const Analysis& analysis);

} // namespace twb
