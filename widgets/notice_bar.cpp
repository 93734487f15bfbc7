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
    m_sentence->setText(sentence);
    setAccessibleName(sentence);
    while (const QLayoutItem* item = m_answers->takeAt(0)) {
        item->widget()->hide();
        item->widget()->deleteLater(); // it may be the pressed button
        delete item;
    }
    for (Answer& answer : answers) {
        auto* button = new QPushButton(answer.text);
        button->setFocusPolicy(Qt::TabFocus);
        connect(button, &QPushButton::clicked, this, [this, taken = std::move(answer)] {
            if (taken.ends) hide();
            taken.take();
        });
        m_answers->addWidget(button);
    }
    show();
}

} // namespace twb
