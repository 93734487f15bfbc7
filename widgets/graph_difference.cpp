#include "widgets/graph_difference.h"

#include "widgets/breakpoint_edits.h"
#include "widgets/labels.h"
#include "widgets/text.h"

#include <QCoreApplication>
#include <QDialog>
#include <QDialogButtonBox>
#include <QListWidget>
#include <QVBoxLayout>

#include <algorithm>
#include <set>

namespace twb {
namespace {

/// For translators.
struct DifferenceWords {
    Q_DECLARE_TR_FUNCTIONS(GraphDifference)
};

QString where(const Graph& graph, LaneId id) {
    const Lane* lane = graph.find(id);
    return lane ? toQt(lane->device.toString()) : QString();
}

QString edgeText(const Graph& graph, const Edge& edge) {
    return QStringLiteral("%1 → %2").arg(toQt(graph.find(edge.from.node)->name),
                                         toQt(graph.find(edge.to.node)->name));
}

QString valueText(const AttributeValue* value) {
    return value ? toQt(toString(*value)) : DifferenceWords::tr("not set");
}

/// The differing attributes, "alpha 1 → 0.5".
QStringList attributesChanged(const Node& before, const Node& after) {
    std::set<std::string> names;
    for (const auto& [name, value] : before.attributes) names.insert(name);
    for (const auto& [name, value] : after.attributes) names.insert(name);
    QStringList out;
    for (const std::string& name : names) {
        const QString was = valueText(before.attributes.find(name));
        const QString is = valueText(after.attributes.find(name));
        if (was != is) out << QStringLiteral("%1 %2 → %3").arg(toQt(name), was, is);
    }
    return out;
}

class Difference {
public:
    Difference(const Graph& before, const Graph& after) : m_before(before), m_after(after) {}

    QStringList lines() {
        for (const Node& node : m_before.nodes())
            if (!m_after.find(node.id))
                m_lines << DifferenceWords::tr("− node %1 (%2)").arg(toQt(node.name), toQt(node.op));
        for (const Node& node : m_after.nodes()) compare(m_before.find(node.id), node);
        edges(m_before, m_after, DifferenceWords::tr("− edge %1"));
        edges(m_after, m_before, DifferenceWords::tr("+ edge %1"));
        for (const Edge& edge : m_after.edges())
            if (m_before.sourceOf(edge.to) == edge.from) compareDots(edge);
        lanes();
        count(m_before.notes(), m_after.notes(),
              {DifferenceWords::tr("− 1 note"), DifferenceWords::tr("− %1 notes"),
               DifferenceWords::tr("+ 1 note"), DifferenceWords::tr("+ %1 notes")});
        count(m_before.frames(), m_after.frames(),
              {DifferenceWords::tr("− 1 module"), DifferenceWords::tr("− %1 modules"),
               DifferenceWords::tr("+ 1 module"), DifferenceWords::tr("+ %1 modules")});
        compareInfo();
        if (m_lines.isEmpty() && !(m_before == m_after))
            m_lines << DifferenceWords::tr("Only positions on the canvas differ.");
        return m_lines;
    }

private:
    void compare(const Node* before, const Node& after) {
        const QString name = toQt(after.name);
        if (!before) {
            m_lines << DifferenceWords::tr("+ node %1 (%2 on %3)")
                           .arg(name, toQt(after.op), where(m_after, after.lane));
            return;
        }
        QStringList changes = attributesChanged(*before, after);
        if (before->name != after.name)
            changes << DifferenceWords::tr("renamed from %1").arg(toQt(before->name));
        if (before->op != after.op)
            changes << QStringLiteral("%1 → %2").arg(toQt(before->op), toQt(after.op));
        const QString from = where(m_before, before->lane);
        const QString to = where(m_after, after.lane);
        if (from != to) changes << QStringLiteral("%1 → %2").arg(from, to);
        if (before->disabled != after.disabled)
            changes << (after.disabled ? DifferenceWords::tr("disabled") : DifferenceWords::tr("enabled"));
        if (before->breakpoints != after.breakpoints) {
            QStringList stops;
            for (const Breakpoint& one : after.breakpoints) stops << breakpointText(one);
            changes << (stops.empty()
                            ? DifferenceWords::tr("no breakpoint")
                            : DifferenceWords::tr("pauses %1").arg(stops.join(DifferenceWords::tr(" and "))));
        }
        if (before->folded != after.folded)
            changes << (after.folded ? DifferenceWords::tr("folded into a card")
                                     : DifferenceWords::tr("unfolded to a card"));
        if (!changes.isEmpty())
            m_lines << QStringLiteral("~ %1: %2").arg(name, changes.join(QStringLiteral(", ")));
    }

    void edges(const Graph& here, const Graph& there, const QString& line) {
        for (const Edge& edge : here.edges())
            if (there.sourceOf(edge.to) != edge.from) m_lines << line.arg(edgeText(here, edge));
    }

    /// The number of dots; their positions count as positions.
    void compareDots(const Edge& edge) {
        const auto was = std::ssize(m_before.dots(edge.to));
        const auto is = std::ssize(m_after.dots(edge.to));
        if (was != is)
            m_lines << DifferenceWords::tr("~ edge %1: dots %2 → %3")
                           .arg(edgeText(m_after, edge))
                           .arg(was)
                           .arg(is);
    }

    void lanes() {
        const auto text = [](const Lane& lane) {
            return lane.title.empty()
                       ? toQt(lane.device.toString())
                       : QStringLiteral("%1 · %2").arg(toQt(lane.device.toString()), toQt(lane.title));
        };
        for (const Lane& lane : m_before.lanes())
            if (!m_after.find(lane.id)) m_lines << DifferenceWords::tr("− lane %1").arg(text(lane));
        for (const Lane& lane : m_after.lanes()) {
            const Lane* was = m_before.find(lane.id);
            if (!was)
                m_lines << DifferenceWords::tr("+ lane %1").arg(text(lane));
            else if (text(*was) != text(lane))
                m_lines << DifferenceWords::tr("~ lane %1 → %2").arg(text(*was), text(lane));
        }
    }

    void compareInfo() {
        const GraphInfo& was = m_before.info();
        const GraphInfo& is = m_after.info();
        if (was.title != is.title)
            m_lines << DifferenceWords::tr("~ title %1 → %2").arg(toQt(was.title), toQt(is.title));
        if (was.description != is.description) m_lines << DifferenceWords::tr("~ description");
        if (was.policy != is.policy)
            m_lines << DifferenceWords::tr("~ policy %1 → %2")
                           .arg(toQt(was.policy.toString()), toQt(is.policy.toString()));
        if (was.iterations != is.iterations)
            m_lines << DifferenceWords::tr("~ iterations %1 → %2")
                           .arg(grouped(was.iterations), grouped(is.iterations));
    }

    struct CountWords {
        QString oneRemoved;
        QString manyRemoved;
        QString oneAdded;
        QString manyAdded;
    };

    template <class T> void count(const Table<T>& before, const Table<T>& after, const CountWords& words) {
        const auto removed =
            std::count_if(before.begin(), before.end(), [&](const T& x) { return !after.find(x.id); });
        const auto added =
            std::count_if(after.begin(), after.end(), [&](const T& x) { return !before.find(x.id); });
        if (removed > 0)
            m_lines << (removed == 1 ? words.oneRemoved : words.manyRemoved.arg(grouped(removed)));
        if (added > 0) m_lines << (added == 1 ? words.oneAdded : words.manyAdded.arg(grouped(added)));
    }

    const Graph& m_before;
    const Graph& m_after;
    QStringList m_lines;
};

} // namespace

QStringList differenceOf(const Graph& before, const Graph& after) {
    return Difference(before, after).lines();
}

void showDifference(const QString& title, const QString& heading, const QStringList& lines, QWidget* parent) {
    QDialog dialog(parent);
    dialog.setObjectName(QStringLiteral("difference"));
    dialog.setWindowTitle(title);
    dialog.resize(520, 380);
    auto* head = makeLabel(heading, TextRole::body, QStringLiteral("secondary"));
    head->setWordWrap(true);
    auto* list = new QListWidget;
    list->setAccessibleName(heading);
    list->setProperty("role", QStringLiteral("lines"));
    list->setSpacing(3);
    list->addItems(lines.isEmpty() ? QStringList{DifferenceWords::tr("No differences.")} : lines);
    auto* buttons = new QDialogButtonBox(QDialogButtonBox::Close);
    QObject::connect(buttons, &QDialogButtonBox::rejected, &dialog, &QDialog::reject);
    auto* layout = new QVBoxLayout(&dialog);
    layout->setContentsMargins(16, 16, 16, 16);
    layout->setSpacing(12);
    layout->addWidget(head);
    layout->addWidget(list, 1);
    layout->addWidget(buttons);
    dialog.exec();
}

} // namespace twb
