#pragma once

#include <QFrame>

#include <functional>
#include <vector>

class QHBoxLayout;

namespace twb {

class ElidedLabel;

/// A question above the graph that waits while one works on: a sentence, and what can be done about it.
class NoticeBar : public QFrame {
    Q_OBJECT

public:
    explicit NoticeBar(QWidget* parent = nullptr);

    struct Answer {
        QString text;
        std::function<void()> take;
        bool ends = true; ///< the question is answered by it
    };
    /// In place of what it asked before.
    void ask(const QString& sentence, std::vector<Answer> answers);

private:
    ElidedLabel* m_sentence;
    QHBoxLayout* m_answers;
};

} // namespace twb
