#include "widgets/notice_bar.h"

#include "widgets/labels.h"

#include <QHBoxLayout>
#include <QPushButton>

namespace twb {

NoticeBar::NoticeBar(QWidget* parent)
    : QFrame(parent), m_sentence(new ElidedLabel), m_answers(new QHBoxLayout) {
    setObjectName(QStringLiteral("notice"));
    setProperty("role", QStringLiteral("notice"));
    auto* layout = new QHBoxLayout(this);
    layout->setContentsMargins(16, 6, 12, 6);
    layout->setSpacing(8);
    m_answers->setSpacing(8);
    layout->addWidget(m_sentence, 1);
    layout->addLayout(m_answers);
    hide();
}

void NoticeBar::ask(const QString& sentence, std::vector<Answer> answers) {
    m_question = {sentence, std::move(answers)};
    refresh();
}

int NoticeBar::tell(const QString& sentence, std::vector<Answer> answers) {
    m_remark = {sentence, std::move(answers)};
    if (!m_question) refresh();
    return ++m_number;
}

void NoticeBar::endQuestion() {
    m_question.reset();
    refresh();
}

void NoticeBar::endRemark(int number) {
    if (number != m_number) return;
    m_remark.reset();
    if (!m_question) refresh();
}

void NoticeBar::clear() {
    m_question.reset();
    m_remark.reset();
    refresh();
}

void NoticeBar::refresh() {
    std::optional<Notice>* const shown = m_question ? &m_question : &m_remark;
    if (!*shown) return hide();
    m_sentence->setText((*shown)->sentence);
    setAccessibleName((*shown)->sentence);
    while (const QLayoutItem* item = m_answers->takeAt(0)) {
        item->widget()->hide();
        item->widget()->deleteLater(); // it may be the pressed button
        delete item;
    }
    for (const Answer& answer : (*shown)->answers) {
        auto* button = new QPushButton(answer.text);
        button->setFocusPolicy(Qt::TabFocus);
        connect(button, &QPushButton::clicked, this, [this, shown, taken = answer] {
            if (taken.ends) {
                shown->reset();
                refresh();
            }
            taken.take();
        });
        m_answers->addWidget(button);
    }
    show();
}

} // namespace twb
