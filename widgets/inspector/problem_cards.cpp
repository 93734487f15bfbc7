#include "widgets/inspector/problem_cards.h"

#include "widgets/document.h"
#include "widgets/labels.h"
#include "widgets/price.h"
#include "widgets/source_editor.h"
#include "widgets/text.h"

#include <QFrame>
#include <QHBoxLayout>
#include <QPainter>
#include <QStyleOptionButton>
#include <QVBoxLayout>

#include <algorithm>
#include <utility>

namespace twb {
namespace {

/// More cards would not be read; the table below has all.
constexpr std::size_t kMostCards = 12;
constexpr int kPadding = 8;
constexpr int kLine = 30;
constexpr int kAbove = 5; ///< above the first of several lines
constexpr int kWordsLine = 17;
constexpr int kPriceLine = 16;

QString severityName(Severity severity) { return toQt(name(severity)); }

} // namespace

FixButton::FixButton(const Fix& fix, QWidget* parent) : QPushButton(parent), m_fix(fix) {
    setProperty("role", QStringLiteral("fix"));
    setText(fixText(fix));
    m_price = priceText(fix.price);
    setToolTip(m_price.isEmpty() ? text() : text() + QLatin1Char('\n') + m_price);
    setAccessibleName(text());
    setAccessibleDescription(m_price);
    // A click must not take the focus, since the button is deleted with its problem.
    setFocusPolicy(Qt::TabFocus);
    QSizePolicy policy(QSizePolicy::Expanding, QSizePolicy::Preferred);
    policy.setHeightForWidth(true);
    setSizePolicy(policy);
}

QSize FixButton::sizeHint() const { return {240, heightForWidth(240)}; }

QSize FixButton::minimumSizeHint() const { return {120, kLine}; }

bool FixButton::isOneLine(int width) const {
    const int words = QFontMetrics(twb::font(TextRole::strong)).horizontalAdvance(text()) + 2 * kPadding;
    if (m_price.isEmpty()) return words <= width;
    return words + QFontMetrics(priceFont()).horizontalAdvance(m_price) + 2 * kPadding <= width;
}

/// Figures are aligned in columns; words use the narrower text font.
QFont FixButton::priceFont() const {
    return twb::font(m_fix.price.bytes > 0 ? TextRole::smallFigure : TextRole::small);
}

/// As many figures and words per line as fit.
QStringList FixButton::priceLines(int width) const {
    if (m_price.isEmpty()) return {};
    const QFontMetrics metrics(priceFont());
    const QString dot = QStringLiteral(" · ");
    const QStringList parts = m_price.split(dot);
    if (parts.size() == 1) return wrapped(m_price, priceFont(), width - 2 * kPadding, 2);
    QStringList out{parts.front()};
    for (const QString& part : parts.mid(1)) {
        if (metrics.horizontalAdvance(out.back() + dot + part) <= width - 2 * kPadding)
            out.back() += dot + part;
        else
            out << part;
    }
    return out;
}

QStringList FixButton::lines(int width) const {
    if (isOneLine(width)) return {text(), m_price};
    return wrapped(text(), twb::font(TextRole::strong), width - 2 * kPadding, 2) + priceLines(width);
}

int FixButton::heightForWidth(int width) const {
    if (const auto known = m_heights.find(width); known != m_heights.end()) return known->second;
    int height = kLine;
    if (!isOneLine(width)) {
        const auto below = int(priceLines(width).size());
        height = 2 * kAbove + kWordsLine * (int(lines(width).size()) - below) + kPriceLine * below;
    }
    return m_heights[width] = height;
}

void FixButton::paintEvent(QPaintEvent*) {
    QPainter painter(this);
    QStyleOptionButton option;
    initStyleOption(&option);
    option.text.clear();
    style()->drawControl(QStyle::CE_PushButton, &option, &painter, this);
    const Theme& theme = Theme::current();
    const QRect room = rect().adjusted(kPadding, 0, -kPadding, 0);
    if (isOneLine(width())) {
        painter.setFont(priceFont());
        painter.setPen(theme.secondaryText);
        painter.drawText(room, Qt::AlignRight | Qt::AlignVCenter, m_price);
        painter.setFont(twb::font(TextRole::strong));
        painter.setPen(theme.accent);
        drawElided(painter, room, Qt::AlignLeft | Qt::AlignVCenter, text());
        return;
    }
    const QStringList all = lines(width());
    const qsizetype words = all.size() - priceLines(width()).size();
    int y = kAbove;
    for (qsizetype i = 0; i < all.size(); ++i) {
        const bool isPrice = i >= words;
        const int height = isPrice ? kPriceLine : kWordsLine;
        painter.setFont(isPrice ? priceFont() : twb::font(TextRole::strong));
        painter.setPen(isPrice ? theme.secondaryText : theme.accent);
        painter.drawText(QRect(room.left(), y, room.width(), height), Qt::AlignLeft | Qt::AlignVCenter,
                         all[i]);
        y += height;
    }
}

ProblemCards::ProblemCards(const Document& document, QWidget* parent)
    : QWidget(parent), m_document(document), m_heading(makeHeading({})),
      m_badge(makeLabel({}, TextRole::small, QStringLiteral("badge"))), m_cards(new QVBoxLayout),
      m_more(new QPushButton) {
    m_more->setProperty("role", QStringLiteral("link"));
    connect(m_more, &QPushButton::clicked, this, &ProblemCards::allRequested);
    auto* header = new QHBoxLayout;
    header->setContentsMargins(0, 0, 0, 0);
    header->setSpacing(8);
    header->addWidget(m_heading);
    header->addWidget(m_badge);
    header->addStretch(1);
    m_cards->setContentsMargins(0, 0, 0, 0);
    m_cards->setSpacing(8);
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(8);
    layout->addLayout(header);
    layout->addLayout(m_cards);
    layout->addWidget(m_more);
}

void ProblemCards::setProblems(const std::vector<const Diagnostic*>& problems, std::size_t others,
                               std::optional<std::size_t> causes) {
    // Notes are counted only if there are no errors and warnings.
    const auto notes = std::count_if(problems.begin(), problems.end(),
                                     [](const Diagnostic* d) { return d->severity == Severity::note; });
    const auto worse = std::ptrdiff_t(problems.size()) - notes;
    Severity worst = Severity::note;
    for (const Diagnostic* d : problems) worst = std::max(worst, d->severity);
    m_heading->setText(worse > 0 ? tr("Problems") : tr("Notes"));
    m_badge->setText(grouped(causes ? qint64(*causes) : qint64(worse > 0 ? worse : notes)));
    setStyleProperty(m_badge, "severity", severityName(worst));
    setVisible(!problems.empty());
    const std::size_t count = std::min(problems.size(), kMostCards);
    const std::size_t left = problems.size() - count + others;
    m_more->setVisible(left > 0);
    const bool ofTheseCauses = left == others;
    m_more->setText(
        (ofTheseCauses ? tr("%1 more with the same causes") : tr("%1 more")).arg(grouped(qint64(left))));
    // Most edits affect few nodes: the other cards stay.
    std::vector<Card> before = std::exchange(m_shown, {});
    for (std::size_t i = 0; i < count; ++i) {
        const QString pythonFix = m_document.pythonFix(*problems[i]);
        const auto known = std::find_if(before.begin(), before.end(), [&](const Card& card) {
            return card.widget && card.problem == *problems[i] && card.pythonFix == pythonFix;
        });
        const bool isNew = known == before.end();
        QWidget* card = isNew ? makeCard(*problems[i], pythonFix) : std::exchange(known->widget, nullptr);
        if (m_cards->indexOf(card) != int(i)) m_cards->insertWidget(int(i), card);
        m_shown.push_back({*problems[i], pythonFix, card});
    }
    for (const Card& card : before) {
        if (!card.widget) continue;
        // The button that caused the change may be on this card.
        m_cards->removeWidget(card.widget);
        card.widget->hide();
        card.widget->deleteLater();
    }
}

void ProblemCards::setHeadingVisible(bool visible) {
    m_heading->setVisible(visible);
    m_badge->setVisible(visible);
}

QWidget* ProblemCards::makeCard(const Diagnostic& problem, const QString& pythonFix) {
    auto* card = new QFrame;
    card->setProperty("role", QStringLiteral("problem"));
    card->setProperty("severity", severityName(problem.severity));
    card->setAccessibleName(toQt(problem.message));
    auto* layout = new QVBoxLayout(card);
    layout->setContentsMargins(12, 12, 12, 12);
    layout->setSpacing(6);

    const bool isNote = problem.severity == Severity::note;
    auto* message = new Paragraph(toQt(problem.message), isNote ? TextRole::body : TextRole::strong);
    message->setTextInteractionFlags(Qt::TextSelectableByMouse);
    layout->addWidget(message);
    const Node* node = m_document.graph().find(problem.node);
    if (node && node->source) {
        auto* link = new QPushButton(toQt(toShortString(*node->source)));
        link->setProperty("role", QStringLiteral("link"));
        link->setObjectName(QStringLiteral("sourceLine"));
        link->setToolTip(tr("Opens %1 in your editor.").arg(toQt(toString(*node->source))));
        link->setFocusPolicy(Qt::TabFocus);
        connect(link, &QPushButton::clicked, this,
                [this, source = *node->source] { openSource(source, window()); });
        layout->addWidget(link, 0, Qt::AlignLeft);
    }
    for (const Operand& operand : problem.operands) {
        if (operand.origin.empty()) continue;
        QString origin = toQt(operand.origin);
        if (origin.startsWith(QLatin1String("from "))) origin.remove(0, 5);
        layout->addWidget(new Paragraph(QStringLiteral("%1 ← %2").arg(toQt(operand.label), origin),
                                        TextRole::small, QStringLiteral("secondary")));
    }
    if (!pythonFix.isEmpty()) {
        auto* python = new Paragraph(tr("In Python: %1").arg(pythonFix), TextRole::body);
        python->setObjectName(QStringLiteral("pythonFix"));
        python->setTextInteractionFlags(Qt::TextSelectableByMouse);
        layout->addWidget(python);
    }
    if (!problem.fixes.empty()) layout->addSpacing(2);
    for (const Fix& fix : problem.fixes) {
        auto* button = new FixButton(fix);
        connect(button, &FixButton::clicked, this, [this, button] { Q_EMIT fixRequested(button->fix()); });
        layout->addWidget(button);
    }
    return card;
}

} // namespace twb
