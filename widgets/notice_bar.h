#pragma once

#include <QFrame>

#include <functional>
#include <vector>

class QHBoxLayout;

namespace twb {

class ElidedLabel;

/// A question or remark above the graph that does not block the window: a sentence and buttons.
class NoticeBar : public QFrame {
    Q_OBJECT

public:
    explicit NoticeBar(QWidget* parent = nullptr);

    struct Answer {
        QString text;
        std::function<void()> take;
        bool ends = true; ///< a click on the button also hides the bar
    };
    /// Replaces the current question.
    void ask(const QString& sentence, std::vector<Answer> answers);

private:
    ElidedLabel* m_sentence;
    QHBoxLayout* m_answers;
};

} // namespace twb
