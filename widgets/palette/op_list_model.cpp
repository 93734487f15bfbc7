#include "widgets/palette/op_list_model.h"

#include "graph/composites.h"
#include "ops/op_table.h"
#include "widgets/engine_words.h"
#include "widgets/palette/fuzzy_match.h"
#include "widgets/palette/own_modules.h"
#include "widgets/text.h"

#include <QMimeData>

#include <algorithm>

namespace twb {

namespace {

bool containsAll(DTypeSet set, bool (*family)(DType)) {
    return std::all_of(kAllDTypes.begin(), kAllDTypes.end(),
                       [&](DType dtype) { return !family(dtype) || set.contains(dtype); });
}

/// "any", "float int", "f32 f64 bool": complete families by name, other dtypes one by one.
QString textOf(DTypeSet set) {
    if (set.size() == int(kDTypeCount)) return OpListModel::tr("any dtype");
    QStringList words;
    const std::pair<bool (*)(DType), QString> families[] = {
        {[](DType d) { return isFloating(d); }, QStringLiteral("float")},
        {[](DType d) { return isInteger(d); }, QStringLiteral("int")},
        {[](DType d) { return d == DType::boolean; }, QStringLiteral("bool")},
        {[](DType d) { return isNarrowFloat(d); }, QStringLiteral("f8 f4")},
        {[](DType d) { return isNarrow(d) && holdsIntegers(d); }, QStringLiteral("int4 int2")}};
    for (const auto& [family, word] : families) {
        if (containsAll(set, family)) {
            words << word;
            continue;
        }
        for (const DType dtype : kAllDTypes)
            if (family(dtype) && set.contains(dtype)) words << toQt(name(dtype));
    }
    return words.join(QLatin1Char(' '));
}

QString typesOf(const Op& op) {
    const QString out = op.outputs.empty() ? QString() : textOf(op.outputs[0].types);
    if (op.inputs.empty()) return out;
    const QString in = textOf(op.inputs[0].types);
    return in == out || out.isEmpty() ? in : in + QStringLiteral(" → ") + out;
}

/// Of the input and the output that a wire would get.
QString typesOf(const Fragment& fragment, const std::optional<EntryPort>& input,
                const std::optional<EntryPort>& output) {
    const auto portsOf = [&](const std::optional<EntryPort>& port, bool isInput) {
        const Op* op = port ? findOp(fragment.nodes[port->node].op) : nullptr;
        return !op ? QString() : textOf((isInput ? op->inputAt(port->port) : op->outputAt(port->port)).types);
    };
    const QString in = portsOf(input, true);
    const QString out = portsOf(output, false);
    return in == out || out.isEmpty() ? in : in + QStringLiteral(" → ") + out;
}

} // namespace

OpListModel::OpListModel(Order order, QObject* parent) : QAbstractListModel(parent), m_order(order) {
    reload();
}

void OpListModel::reload() {
    m_all.clear();
    for (const Op& op : opTable())
        m_all.push_back({toQt(op.name), toQt(op.category), toQt(op.doc), typesOf(op)});
    for (const Composite& c : composites())
        m_all.push_back(
            {toQt(c.name), QStringLiteral("Modules"), toQt(c.doc),
             typesOf(c.fragment, inputFor(c.fragment, allTypes()), outputFor(c.fragment, allTypes()))});
    for (const ModuleOp& op : ownModules()) {
        const QString name = toQt(op.name);
        m_all.push_back(
            {name, QStringLiteral("Your modules"), docOf(op),
             typesOf(op.fragment, inputOfEntry(name, allTypes()), outputOfEntry(name, allTypes()))});
    }
    setFilter(m_filter);
}

void OpListModel::setFilter(const QString& text) {
    m_filter = text;
    beginResetModel();
    m_shown = m_order == Order::sections ? matching(text) : nearestTo(text);
    endResetModel();
}

void OpListModel::setAccepted(std::function<bool(const QString&)> accepted,
                              std::function<int(const QString&)> usage) {
    m_accepted = std::move(accepted);
    m_usage = std::move(usage);
    setFilter(m_filter);
}

std::vector<OpListModel::Row> OpListModel::matching(const QString& text) const {
    const QStringList words = text.split(QLatin1Char(' '), Qt::SkipEmptyParts);
    std::vector<Row> shown;
    for (const Row& row : m_all) {
        const bool matches = std::all_of(words.begin(), words.end(), [&](const QString& word) {
            return row.name.contains(word, Qt::CaseInsensitive) ||
                   sectionWord(row.category).contains(word, Qt::CaseInsensitive) ||
                   row.doc.contains(word, Qt::CaseInsensitive);
        });
        if (!matches || (m_accepted && !m_accepted(row.name))) continue;
        if (m_order == Order::sections && (shown.empty() || shown.back().category != row.category))
            shown.push_back({sectionWord(row.category), row.category, {}, {}, true});
        shown.push_back(row);
    }
    return shown;
}

std::vector<OpListModel::Row> OpListModel::nearestTo(const QString& text) const {
    const QString letters = QString(text).remove(QLatin1Char(' '));
    using Score = std::pair<int, int>; // by match score and usage
    std::vector<std::pair<Score, Row>> scored;
    for (const Row& row : m_all) {
        if (m_accepted && !m_accepted(row.name)) continue;
        if (const auto score = fuzzyScore(letters, row.name))
            scored.emplace_back(Score{*score, m_usage ? m_usage(row.name) : 0}, row);
    }
    std::stable_sort(scored.begin(), scored.end(),
                     [](const auto& a, const auto& b) { return a.first > b.first; });
    std::vector<Row> shown;
    for (auto& [score, row] : scored) shown.push_back(std::move(row));
    // Ops that match only by their description come after ops that match by name.
    for (Row& row : matching(text)) {
        const bool isThere =
            std::any_of(shown.begin(), shown.end(), [&](const Row& other) { return other.name == row.name; });
        if (!isThere) shown.push_back(std::move(row));
    }
    return shown;
}

QString OpListModel::op(const QModelIndex& index) const {
    if (!index.isValid()) return {};
    const Row& row = m_shown[std::size_t(index.row())];
    return row.header ? QString() : row.name;
}

QModelIndex OpListModel::firstOp() const {
    return m_shown.empty() ? QModelIndex() : index(m_order == Order::sections ? 1 : 0);
}

int OpListModel::rowCount(const QModelIndex& parent) const {
    return parent.isValid() ? 0 : int(m_shown.size());
}

QVariant OpListModel::data(const QModelIndex& index, int role) const {
    const Row& row = m_shown[std::size_t(index.row())];
    switch (role) {
    case Qt::DisplayRole:
        return row.name;
    case Qt::ToolTipRole:
        return row.header ? QVariant() : row.doc;
    case Qt::AccessibleTextRole:
        return row.header ? tr("Section %1").arg(row.name) : row.name;
    case Qt::AccessibleDescriptionRole:
        return row.doc;
    case IsHeaderRole:
        return row.header;
    case CategoryRole:
        return row.category;
    case DocRole:
        return row.doc;
    case TypesRole:
        return row.types;
    default:
        return {};
    }
}

Qt::ItemFlags OpListModel::flags(const QModelIndex& index) const {
    if (!index.isValid() || m_shown[std::size_t(index.row())].header) return Qt::NoItemFlags;
    return Qt::ItemIsEnabled | Qt::ItemIsSelectable | Qt::ItemIsDragEnabled | Qt::ItemNeverHasChildren;
}

QStringList OpListModel::mimeTypes() const { return {QLatin1String(kOpMimeType)}; }

QMimeData* OpListModel::mimeData(const QModelIndexList& indexes) const {
    if (indexes.isEmpty()) return nullptr;
    auto* data = new QMimeData;
    data->setData(QLatin1String(kOpMimeType), op(indexes.first()).toUtf8());
    data->setText(op(indexes.first()));
    return data;
}

} // namespace twb
