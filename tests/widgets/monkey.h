#pragma once

#include "widgets/window_hand.h"

#include <QStringList>

#include <random>
#include <vector>

namespace twb::test {

/// Works in the real window as nobody would: gestures, keys, menus and edits that a seed picks, by mouse and
/// key events alone. Menus and dialogs that it opens it answers, too.
class Monkey : public QObject {
public:
    Monkey(WindowHand& hand, std::uint64_t seed);

    /// One of all that it can do. What it did, for the report.
    QString doSomething();

private:
    struct Trick {
        const char* name;
        int weight;
        void (Monkey::*act)();
    };
    static const std::vector<Trick>& tricks();

    // Chance.
    int below(int bound) { return int(m_random() % std::uint64_t(bound)); }
    bool oneIn(int n) { return below(n) == 0; }
    QPoint anywhere();
    QPoint somewhereOn(NodeId id);
    std::optional<NodeId> anyNode();
    /// The end of a wire that can be seen.
    std::optional<Edge> anyWire();
    /// A dot that is shown.
    std::optional<QPoint> anyDot();
    Qt::KeyboardModifiers anyModifiers();
    QString anyText();
    QString anyOp();

    // Tricks.
    void clickNode();
    void clickAnywhere();
    void clickWire();
    void putDot();
    void dragDot();
    void doubleClick();
    void dragNode();
    void connectPorts();
    void plugElsewhere();
    void drawIntoTheVoid();
    void replug();
    void rubberBand();
    void cutByStroke();
    void searchByKey();
    void addFromPalette();
    void dropOp();
    void pressShortcut();
    void undoSome();
    void redoSome();
    void pressArrow();
    void editAttribute();
    void rename();
    void contextMenu();
    void laneMenu();
    void dragLane();
    void dragModule();
    void collapseLane();
    void clickStub();
    void clickHistory();
    void zoomAndPan();
    void save();
    void runAndWait();
    void runAndStop();
    void runOnAndOn();
    void deleteSome();

    /// A drag that may be given up by Esc, or disturbed by an undo, on the way.
    void dragSomehow(QPoint from, QPoint to, Qt::KeyboardModifiers modifiers = {});
    void answerSearch();
    /// Of what is open at the moment: a menu, a question.
    void answerWhatIsOpen();

    WindowHand& m_hand;
    std::mt19937_64 m_random;
    QTimer m_answers;
};

} // namespace twb::test
