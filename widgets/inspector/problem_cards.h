#pragma once

#include "graph/diagnostic.h"
#include "graph/graph.h"

#include <QPushButton>
#include <QWidget>

#include <map>
#include <optional>
#include <vector>

class QLabel;
class QVBoxLayout;

namespace twb {

class Document;

/// A button with two texts: the fix and its price.
class FixButton : public QPushButton {
    Q_OBJECT

public:
    explicit FixButton(const Fix& fix, QWidget* parent = nullptr);
    const Fix& fix() const noexcept { return m_fix; }
    QSize sizeHint() const override;
    QSize minimumSizeHint() const override;
    bool hasHeightForWidth() const override { return true; }
    int heightForWidth(int width) const override;
    /// The texts for a width: the words, then the price. The price is never elided.
    QStringList lines(int width) const;

protected:
    void paintEvent(QPaintEvent* event) override;

private:
    /// Whether the price fits beside the words; otherwise it is below them.
    bool isOneLine(int width) const;
    QStringList priceLines(int width) const;
    QFont priceFont() const;

    Fix m_fix;
    QString m_price;
    mutable std::map<int, int>
        m_heights; ///< cache by width, since layouts ask repeatedly and each answer lays out text
};

/// Diagnostics as cards: the message, the origin of the problem, and buttons for the fixes.
class ProblemCards : public QWidget {
    Q_OBJECT

public:
    explicit ProblemCards(const Document& document, QWidget* parent = nullptr);
    /// `others`: the number of further problems with the same causes. `causes`: the number on the badge, as
    /// in the status line; by default the number of problems, or of notes if there is nothing worse.
    void setProblems(const std::vector<const Diagnostic*>& problems, std::size_t others = 0,
                     std::optional<std::size_t> causes = std::nullopt);
    void setHeadingVisible(bool visible);

Q_SIGNALS:
    void fixRequested(const twb::Fix& fix);
    void allRequested();

private:
    QWidget* makeCard(const Diagnostic& problem, const QString& pythonFix);

    const Document& m_document;
    QLabel* m_heading;
    QLabel* m_badge;
    struct Card {
        Diagnostic problem;
        QString pythonFix;
        QWidget* widget;
    };
    QVBoxLayout* m_cards;
    std::vector<Card> m_shown; ///< the shown cards, from the top
    QPushButton* m_more;
};

} // namespace twb
