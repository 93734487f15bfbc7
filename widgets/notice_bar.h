#pragma once

#include <QFrame>

#include <functional>
#include <optional>
#include <vector>

class QHBoxLayout;

namespace twb {

class ElidedLabel;

/// Questions and remarks above the graph that do not block the window: a sentence and buttons. A remark is
/// shown when no question is open.
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
    /// Replaces the current remark. Returns the new one's number, which is never 0.
    int tell(const QString& sentence, std::vector<Answer> answers);
    void endQuestion();
    /// Ends this remark, unless another one has replaced it.
    void endRemark(int number);
    /// Ends the question and the remark.
    void clear();

private:
    struct Notice {
        QString sentence;
        std::vector<Answer> answers;
    };
    void refresh();

    std::optional<Notice> m_question;
    std::optional<Notice> m_remark;
    int m_number = 0; ///< of the last remark
    ElidedLabel* m_sentence;
    QHBoxLayout* m_answers;
};

} // namespace twb
