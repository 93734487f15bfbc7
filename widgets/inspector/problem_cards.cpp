#include "widgets/inspector/problem_cards.h"

#include "profile/report.h"
#include "widgets/labels.h"
#include "widgets/text.h"

#include <QFrame>
#include <QHBoxLayout>
#include <QPainter>
#include <QStyleOptionButton>
#include <QVBoxLayout>

namespace twb {
namespace {

/// More cards than these nobody reads; the table below has them all.
constexpr std::size_t kMostCards = 12;
constexpr int kPadding = 8;

/// "insert To(cuda:0) on images -> fc1" as a button says it.
QString captionOf(const Fix& fix) {
    QString title = toQt(fix.title);
    if (!title.isEmpty()) title[0] = title[0].toUpper();
    return title.replace(QLatin1String("->"), QStringLiteral("→"));
}

QString severityName(Severity severity) { return toQt(name(severity)); }

} // namespace

QString priceText(const Price& price) {
    if (!price.isKnown) return {};
    return toQt(formatBytes(double(price.bytes))) + QStringLiteral("  ") + toQt(formatMs(price.ns));
}

FixButton::FixButton(const Fix& fix, QWidget* parent) : QPushButton(parent), m_fix(fix) {
    setProperty("role", QStringLiteral("fix"));
    setText(captionOf(fix));
    // A fix that copies nothing has no price worth a word.
    if (fix.price.bytes > 0 && fix.price.isKnown)
        m_prices = {priceText(fix.price), toQt(formatMs(fix.price.ns))};
    const QString price = m_prices.isEmpty()   ? QString()
                          : fix.price.modelled ? tr("%1 in each iteration, modelled").arg(m_prices.first())
                                               : tr("%1 in each iteration").arg(m_prices.first());
    setToolTip(price.isEmpty() ? text() : text() + QLatin1Char('\n') + price);
    setAccessibleName(text());
    setAccessibleDescription(price);
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
}

QSize FixButton::sizeHint() const { return {120, 30}; }

QSize FixButton::minimumSizeHint() const { return sizeHint(); }

void FixButton::paintEvent(QPaintEvent*) {
    QPainter painter(this);
    QStyleOptionButton option;
    initStyleOption(&option);
    option.text.clear();
    style()->drawControl(QStyle::CE_PushButton, &option, &painter, this);
    const Theme& theme = Theme::current();
    QRect room = rect().adjusted(kPadding, 0, -kPadding, 0);
    const QFontMetrics strong(twb::font(TextRole::strong));
    const QFontMetrics small(twb::font(TextRole::smallFigure));
    for (const QString& price : m_prices) {
        const int width = small.horizontalAdvance(price);
        if (price != m_prices.last() && strong.horizontalAdvance(text()) + kPadding + width > room.width())
            continue;
        painter.setFont(twb::font(TextRole::smallFigure));
        painter.setPen(theme.secondaryText);
        painter.drawText(room, Qt::AlignRight | Qt::AlignVCenter, price);
        room.setRight(room.right() - width - kPadding);
        break;
    }
    painter.setFont(twb::font(TextRole::strong));
    painter.setPen(theme.accent);
    painter.drawText(room, Qt::AlignLeft | Qt::AlignVCenter,
                     painter.fontMetrics().elidedText(text(), Qt::ElideRight, room.width()));
}

ProblemCards::ProblemCards(QWidget* parent)
    : QWidget(parent), m_badge(makeLabel({}, TextRole::small, QStringLiteral("badge"))),
      m_cards(new QVBoxLayout) {
    auto* header = new QHBoxLayout;
    header->setContentsMargins(0, 0, 0, 0);
    header->setSpacing(8);
    header->addWidget(makeHeading(tr("Problems")));
    header->addWidget(m_badge);
    header->addStretch(1);
    m_cards->setContentsMargins(0, 0, 0, 0);
    m_cards->setSpacing(8);
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(8);
    layout->addLayout(header);
    layout->addLayout(m_cards);
}

void ProblemCards::setProblems(const std::vector<const Diagnostic*>& problems) {
    while (QLayoutItem* item = m_cards->takeAt(0)) {
        // Its own button may be the one that asked for the change.
        item->widget()->hide();
        item->widget()->deleteLater();
        delete item;
    }
    const bool anyError = std::any_of(problems.begin(), problems.end(),
                                      [](const Diagnostic* d) { return d->severity == Severity::error; });
    m_badge->setText(grouped(qint64(problems.size())));
    setStyleProperty(m_badge, "severity", anyError ? QStringLiteral("error") : QStringLiteral("warning"));
    setVisible(!problems.empty());
    for (std::size_t i = 0; i < std::min(problems.size(), kMostCards); ++i)
        m_cards->addWidget(makeCard(*problems[i]));
    if (problems.size() <= kMostCards) return;
    auto* more = new QPushButton(tr("%1 more").arg(grouped(qint64(problems.size() - kMostCards))));
    more->setProperty("role", QStringLiteral("link"));
    connect(more, &QPushButton::clicked, this, &ProblemCards::allRequested);
    m_cards->addWidget(more);
}

QWidget* ProblemCards::makeCard(const Diagnostic& problem) {
    auto* card = new QFrame;
    card->setProperty("role", QStringLiteral("problem"));
    card->setProperty("severity", severityName(problem.severity));
    card->setAccessibleName(toQt(problem.message));
    auto* layout = new QVBoxLayout(card);
    layout->setContentsMargins(12, 12, 12, 12);
    layout->setSpacing(6);

    auto* message = makeLabel(toQt(problem.message), TextRole::strong);
    message->setWordWrap(true);
    message->setTextFormat(Qt::PlainText);
    message->setTextInteractionFlags(Qt::TextSelectableByMouse);
    layout->addWidget(message);
    for (const Operand& operand : problem.operands) {
        if (operand.origin.empty()) continue;
        QString origin = toQt(operand.origin);
        if (origin.startsWith(QLatin1String("from "))) origin.remove(0, 5);
        auto* line = makeLabel(QStringLiteral("%1 ← %2").arg(toQt(operand.label), origin), TextRole::small,
                               QStringLiteral("secondary"));
        line->setWordWrap(true);
        line->setTextFormat(Qt::PlainText);
        layout->addWidget(line);
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
