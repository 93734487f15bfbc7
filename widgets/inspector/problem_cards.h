#pragma once

#include "graph/diagnostic.h"
#include "graph/graph.h"

#include <QPushButton>
#include <QStringList>
#include <QWidget>

#include <vector>

class QLabel;
class QVBoxLayout;

namespace twb {

/// A button of two texts: what it does on the left, what that costs on the right.
class FixButton : public QPushButton {
    Q_OBJECT

public:
    explicit FixButton(const Fix& fix, QWidget* parent = nullptr);
    const Fix& fix() const noexcept { return m_fix; }
    QSize sizeHint() const override;
    QSize minimumSizeHint() const override;

protected:
    void paintEvent(QPaintEvent* event) override;

private:
    Fix m_fix;
    QStringList m_prices; ///< the long form first; what has room is shown
};

/// "92.2 kB  0.012 ms", as fixes and edges are priced; "modelled" is said where there is room for it.
QString priceText(const Price& price);

/// Diagnostics as cards: the message, where the trouble comes from, and the fixes one click away.
class ProblemCards : public QWidget {
    Q_OBJECT

public:
    explicit ProblemCards(QWidget* parent = nullptr);
    void setProblems(const std::vector<const Diagnostic*>& problems);

Q_SIGNALS:
    void fixRequested(const twb::Fix& fix);
    void allRequested();

private:
    QWidget* makeCard(const Diagnostic& problem);

    QLabel* m_badge;
    QVBoxLayout* m_cards;
};

} // namespace twb
