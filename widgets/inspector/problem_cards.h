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

/// A button of two texts: what it does, and what that costs.
class FixButton : public QPushButton {
    Q_OBJECT

public:
    explicit FixButton(const Fix& fix, QWidget* parent = nullptr);
    const Fix& fix() const noexcept { return m_fix; }
    QSize sizeHint() const override;
    QSize minimumSizeHint() const override;
    bool hasHeightForWidth() const override { return true; }
    int heightForWidth(int width) const override;
    /// What it says when it is so wide: its words, then its price. A price is never cut.
    QStringList lines(int width) const;

protected:
    void paintEvent(QPaintEvent* event) override;

private:
    /// Whether the price has room beside the words; below them otherwise.
    bool isOneLine(int width) const;
    QStringList priceLines(int width) const;
    QFont priceFont() const;

    Fix m_fix;
    QString m_price;
    mutable std::map<int, int> m_heights; ///< by width: layouts ask again and again, and each lays out text
};

/// Diagnostics as cards, the form that they have everywhere: the message, where the trouble comes from, and
/// the fixes one click away.
class ProblemCards : public QWidget {
    Q_OBJECT

public:
    explicit ProblemCards(QWidget* parent = nullptr);
    /// `others`: how many more there are that these stand for. `causes`: what the badge counts, as the status
    /// line does; by default the problems, or, where there is nothing worse, the notes.
    void setProblems(const std::vector<const Diagnostic*>& problems, std::size_t others = 0,
                     std::optional<std::size_t> causes = std::nullopt);
    void setHeadingVisible(bool visible);

Q_SIGNALS:
    void fixRequested(const twb::Fix& fix);
    void allRequested();

private:
    QWidget* makeCard(const Diagnostic& problem);

    QLabel* m_heading;
    QLabel* m_badge;
    struct Card {
        Diagnostic problem;
        QWidget* widget;
    };
    QVBoxLayout* m_cards;
    std::vector<Card> m_shown; ///< in it, from the top
    QPushButton* m_more;
};

} // namespace twb
