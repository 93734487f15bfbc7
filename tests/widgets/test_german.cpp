#include "graph/composites.h"
#include "ops/op_table.h"
#include "support/test_main.h"
#include "widgets/breakpoint_dialog.h"
#include "widgets/dialog_answer.h"
#include "widgets/engine_words.h"
#include "widgets/inspector/problem_cards.h"
#include "widgets/labels.h"
#include "widgets/language.h"
#include "widgets/learn_dialog.h"
#include "widgets/panels/ledger_csv.h"
#include "widgets/panels/ledger_model.h"
#include "widgets/panels/ledger_view.h"
#include "widgets/price.h"
#include "widgets/settings.h"
#include "widgets/text.h"
#include "widgets/window_fixture.h"

#include <QAbstractItemView>
#include <QComboBox>
#include <QDoubleSpinBox>
#include <QHeaderView>
#include <QLabel>
#include <QLineEdit>
#include <QMenu>
#include <QMenuBar>
#include <QRegularExpression>
#include <QTabBar>
#include <QXmlStreamReader>

using namespace twb;
using namespace twb::test;

namespace {

QString german() { return QStringLiteral("de"); }

/// Without the accelerator.
QString plain(QString text) { return text.remove(QLatin1Char('&')); }

/// Whether a user reads words in it.
bool hasWords(const QString& text) {
    static const QRegularExpression word(QStringLiteral("\\pL{2}"));
    return text.contains(word);
}

/// The texts of a widget and its children, with the places where they are.
QMap<QString, QString> textsOf(const QWidget& top) {
    QMap<QString, QString> out;
    const auto add = [&](const QObject& at, const QString& text) {
        if (hasWords(text))
            out.insert(plain(text), QStringLiteral("%1 \"%2\"")
                                        .arg(QLatin1String(at.metaObject()->className()), at.objectName()));
    };
    for (const QAction* action : top.findChildren<QAction*>()) {
        add(*action, action->text());
        add(*action, action->toolTip());
    }
    QList<QWidget*> widgets = top.findChildren<QWidget*>();
    widgets << const_cast<QWidget*>(&top);
    for (QWidget* widget : widgets) {
        add(*widget, widget->windowTitle());
        add(*widget, widget->toolTip());
        add(*widget, widget->accessibleName());
        if (const auto* label = qobject_cast<QLabel*>(widget)) add(*label, label->text());
        if (const auto* button = qobject_cast<QAbstractButton*>(widget)) add(*button, button->text());
        if (const auto* line = qobject_cast<QLineEdit*>(widget)) add(*line, line->placeholderText());
        if (const auto* box = qobject_cast<QComboBox*>(widget))
            for (int i = 0; i < box->count(); ++i) add(*box, box->itemText(i));
        if (const auto* tabs = qobject_cast<QTabBar*>(widget))
            for (int i = 0; i < tabs->count(); ++i) add(*tabs, tabs->tabText(i));
        const auto* view = qobject_cast<QAbstractItemView*>(widget);
        for (int i = 0; view && view->model() && i < view->model()->columnCount(); ++i) {
            add(*view, view->model()->headerData(i, Qt::Horizontal).toString());
            add(*view, view->model()->headerData(i, Qt::Horizontal, Qt::ToolTipRole).toString());
        }
    }
    return out;
}

/// The texts that are equal in English and German according to the translator.
QSet<QString> equalTexts() {
    QSet<QString> out;
    QFile file(sourcePath("resources/translations/tensor-workbench_de.ts"));
    if (!file.open(QIODevice::ReadOnly)) return out;
    QXmlStreamReader xml(&file);
    QString source;
    while (!xml.atEnd()) {
        if (!xml.readNextStartElement()) continue;
        if (xml.name() == QLatin1String("source"))
            source = xml.readElementText();
        else if (xml.name() == QLatin1String("translation") && plain(xml.readElementText()) == plain(source))
            out << plain(source);
    }
    return out;
}

/// Texts that are the same in every language: names, and the engine's sentences.
QSet<QString> names(const Document& document) {
    QSet<QString> out;
    for (const Op& op : opTable()) out << toQt(op.name) << toQt(op.doc);
    for (const Composite& composite : composites()) out << toQt(composite.name) << toQt(composite.doc);
    for (const Node& node : document.graph().nodes())
        out << toQt(node.name) << toQt(node.op)
            << QStringLiteral("%1 (%2)").arg(toQt(node.name), toQt(node.op));
    for (const DeviceProfile& profile : document.profiles().all()) out << toQt(profile.name);
    for (const OptimizerName& optimizer : optimizerNames()) out << toQt(optimizer.title);
    for (const Lane& lane : document.graph().lanes()) {
        const QString device = toQt(lane.device.toString());
        const QString backend = toQt(document.devices().find(lane.device)->info().name);
        out << device << QStringLiteral("%1 · %2").arg(device, toQt(lane.title)) << backend
            << QStringLiteral("%1: %2").arg(device, backend);
    }
    for (const Diagnostic& problem : document.analysis().diagnostics) {
        out << toQt(problem.message);
        for (const Fix& fix : problem.fixes) out << fixText(fix);
    }
    const GraphInfo& info = document.graph().info();
    out << toQt(info.title) << toQt(info.description) << toQt(info.policy.toString()) << document.title()
        << document.title() + QStringLiteral("[*] — Tensor Workbench");
    for (const char* name : {"NCHW", "NHWC", "OK", "English", "Deutsch"}) out << QLatin1String(name);
    return out;
}

std::unique_ptr<MainWindow> windowWithRun(const char* file = kDigits) {
    auto window = makeWindow();
    window->resize(1280, 800);
    window->load(sourcePath(file));
    window->runs().run(3);
    if (!waitForRun(*window)) return nullptr;
    for (const QString& page : window->bottom().keys()) window->bottom().showPage(page);
    QCoreApplication::processEvents();
    return window;
}

QMap<QString, QString> dialogTexts(MainWindow& window) {
    QMap<QString, QString> out = textsOf(LearnDialog(window.document(), &window));
    Breakpoint condition;
    condition.kind = Breakpoint::Kind::condition;
    out.insert(textsOf(BreakpointDialog(QStringLiteral("fc1"), condition, true)));
    DialogAnswer answer("settings", QDialogButtonBox::Cancel,
                        [&](QDialog& dialog) { out.insert(textsOf(dialog)); });
    for (QAction* action : window.findChildren<QAction*>())
        if (action->shortcut() == QKeySequence(QStringLiteral("Ctrl+,"))) action->trigger();
    return out;
}

/// Copies that only their consumers distinguish have words in their names.
QString transfersAsCsv() {
    const auto window = windowWithRun("resources/examples/06-a-transfer-in-a-tight-loop.twb");
    if (!window) return {};
    LedgerModel model(window->document(), window->runs());
    model.refresh();
    const LedgerFilter rows(model);
    return QString::fromStdString(toCsv(model, rows));
}

} // namespace

class TestGerman : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase() {
        isolateSettings();
        Theme::apply(*qobject_cast<QApplication*>(qApp), Theme::dark());
        if (languageFor(german(), {}) != german())
            QSKIP("The translations are not compiled in: qt6-l10n-tools is not installed.");
        const auto window = windowWithRun();
        QVERIFY(window);
        m_english = textsOf(*window);
        QVERIFY(m_english.size() > 400);
        m_english.insert(dialogTexts(*window));
        m_englishCsv = transfersAsCsv();
        useLanguage(german());
    }

    void theSystemsFirstKnownLanguageIsUsed() {
        const auto of = [](std::initializer_list<const char*> wanted) {
            QStringList tags;
            for (const char* tag : wanted) tags << QLatin1String(tag);
            return languageFor({}, tags);
        };
        QCOMPARE(of({"de-AT", "de"}), german());
        QCOMPARE(of({"fr-FR", "de-DE"}), german());
        QCOMPARE(of({"en-US", "de-DE"}), QStringLiteral("en"));
        QCOMPARE(of({"fr-FR"}), QStringLiteral("en"));
        QCOMPARE(of({}), QStringLiteral("en"));
        QCOMPARE(languageFor(german(), {QStringLiteral("en")}), german());
    }

    void theLanguageIsASetting() {
        const auto window = makeWindow();
        QCOMPARE(settings::language(), QString());
        DialogAnswer answer("settings", QDialogButtonBox::Ok, [](QDialog& dialog) {
            auto* box = find<QComboBox>(dialog, "settingsLanguage");
            box->setCurrentText(QStringLiteral("Deutsch"));
        });
        action(*window, QStringLiteral("Einstellungen\u00a0…"))->trigger();
        QVERIFY(answer.answered());
        QCOMPARE(settings::language(), german());
    }

    void noTextIsEnglish() {
        const auto window = windowWithRun();
        QVERIFY(window);
        QMap<QString, QString> texts = textsOf(*window);
        texts.insert(dialogTexts(*window));
        const QSet<QString> allowed = equalTexts() + names(window->document());
        QStringList faults;
        for (auto text = m_english.begin(); text != m_english.end(); ++text)
            // "name: value", the name of a fact for screen readers
            if (texts.contains(text.key()) && !allowed.contains(text.key()) &&
                !allowed.contains(text.key().section(QStringLiteral(": "), 0, 0)))
                faults << QStringLiteral("%1 in %2").arg(text.key(), text.value());
        QVERIFY2(faults.isEmpty(), qPrintable(QLatin1Char('\n') + faults.join(QLatin1Char('\n'))));
    }

    void eachPaletteSectionHasAWord() {
        for (const Op& op : opTable()) {
            const QString section = toQt(op.category);
            QVERIFY2(sectionWord(section) != section || equalTexts().contains(section), op.category.c_str());
        }
    }

    void acceleratorsOfAMenuDiffer() {
        const auto window = windowWithRun();
        QList<QMenu*> menus = window->findChildren<QMenu*>();
        QVERIFY(menus.size() > 10);
        QStringList faults;
        const auto check = [&](const QString& title, const QList<QAction*>& actions) {
            QMap<QString, QString> taken;
            for (const QAction* action : actions) {
                const QKeySequence key = QKeySequence::mnemonic(action->text());
                if (key.isEmpty() || !action->isVisible()) continue;
                const QString letter = key.toString();
                if (taken.contains(letter))
                    faults << QStringLiteral("%1: %2 and %3").arg(title, taken[letter], action->text());
                taken[letter] = action->text();
            }
        };
        check(QStringLiteral("menu bar"), window->menuBar()->actions());
        for (const QMenu* menu : menus) check(menu->title(), menu->actions());
        QVERIFY2(faults.isEmpty(), qPrintable(QLatin1Char('\n') + faults.join(QLatin1Char('\n'))));
    }

    /// The ledger's widths once were those of English headers, whose longer words were cut off at the left.
    void theHeadersOfTheLedgerFit() {
        const auto window = windowWithRun();
        auto& ledger = *find<LedgerView>(*window, "ledgerTable");
        QFont font = ledger.horizontalHeader()->font();
        font.setPixelSize(11);
        font.setWeight(QFont::DemiBold); // as in the style sheet
        for (int column = LedgerModel::EdgeColumn + 1; column < LedgerModel::ColumnCount; ++column) {
            const QString text = ledger.model()->headerData(column, Qt::Horizontal).toString();
            ledger.setColumnHidden(column, false);
            QVERIFY2(ledger.columnWidth(column) >= QFontMetrics(font).horizontalAdvance(text) + 16,
                     qPrintable(text));
        }
    }

    void noTextIsClippedAt1280By800() {
        const auto window = windowWithRun();
        QVERIFY(window);
        const auto faultsOn = [&](const QString& page) {
            QStringList faults;
            for (QWidget* widget : window->findChildren<QWidget*>()) {
                if (!widget->isVisible()) continue;
                if (auto* tabs = qobject_cast<QTabBar*>(widget)) {
                    for (int i = 0; i < tabs->count(); ++i)
                        if (tabs->isTabVisible(i) &&
                            (tabs->tabRect(i).width() <
                                 tabs->fontMetrics().horizontalAdvance(tabs->tabText(i)) ||
                             !tabs->rect().contains(tabs->tabRect(i))))
                            faults << QStringLiteral("%1: tab %2; %3 of %4 px")
                                          .arg(page, tabs->tabText(i))
                                          .arg(tabs->width())
                                          .arg(tabs->sizeHint().width());
                    continue;
                }
                const auto* label = qobject_cast<QLabel*>(widget);
                const bool isLine = label && !label->wordWrap() && !dynamic_cast<ElidedLabel*>(widget);
                const auto* button = qobject_cast<QAbstractButton*>(widget);
                const bool isButton =
                    (button && !button->text().isEmpty() && !qobject_cast<FixButton*>(widget)) ||
                    qobject_cast<QComboBox*>(widget);
                if ((isLine || isButton) && widget->width() < widget->sizeHint().width())
                    faults << QStringLiteral("%1: %2 %3: %4 of %5 px")
                                  .arg(page, widget->objectName(),
                                       label ? label->text() : widget->accessibleName())
                                  .arg(widget->width())
                                  .arg(widget->sizeHint().width());
            }
            return faults;
        };
        QStringList faults;
        for (const QString& page : window->bottom().keys()) {
            window->bottom().showPage(page);
            QTest::qWait(50);
            QStringList clipped; // until the layout has followed
            (void)QTest::qWaitFor([&] { return (clipped = faultsOn(page)).isEmpty(); }, 60'000);
            faults += clipped;
        }
        faults.removeDuplicates();
        QVERIFY2(faults.isEmpty(), qPrintable(QLatin1Char('\n') + faults.join(QLatin1Char('\n'))));
    }

    void figuresHaveTheLocalesSeparators() {
        QCOMPARE(localized(QStringLiteral("1,234.5 ms")), QStringLiteral("1.234,5 ms"));
        QCOMPARE(localized(QStringLiteral("[2,3] 1e-05")), QStringLiteral("[2,3] 1e-05"));
        QCOMPARE(grouped(1234567), QStringLiteral("1.234.567"));
        QCOMPARE(compact(0.5), QStringLiteral("0,5"));
        QCOMPARE(compact(1e-7), QStringLiteral("1e-07"));
        QCOMPARE(percentage(12.34, 1), QStringLiteral("12,3 %"));
        QCOMPARE(duration(1.5e9), QStringLiteral("1,5 s"));
        QCOMPARE(withoutLocale(localized(QStringLiteral("+1,234.5 ms"))), QStringLiteral("+1,234.5 ms"));
    }

    void numbersMayBeTypedEitherWay() {
        QCOMPARE(typedNumber(QStringLiteral("0,25")), std::optional(0.25));
        QCOMPARE(typedNumber(QStringLiteral("0.25")), std::optional(0.25));
        QCOMPARE(typedNumber(QStringLiteral("-2,5e-3")), std::optional(-0.0025));
        QVERIFY(!typedNumber(QStringLiteral("0,25,5")));
        QVERIFY(!typedNumber(QStringLiteral("viel")));
        const auto window = makeWindow();
        LearnDialog dialog(window->document(), window.get());
        auto* rate = find<QDoubleSpinBox>(dialog, "rate");
        for (const char* typed : {"0.25", "0,25"}) {
            rate->setValue(1);
            rate->selectAll();
            QTest::keyClicks(rate, QLatin1String(typed));
            QCOMPARE(rate->value(), 0.25);
        }
    }

    void filesAreTheSameInEveryLanguage() {
        const QString csv = transfersAsCsv();
        // Measured times differ from run to run; the words and separators do not.
        const auto form = [](QString text) {
            static const QRegularExpression digits(QStringLiteral("[0-9]+(\\.[0-9]+)?(e-?[0-9]+)?"));
            return text.replace(digits, QStringLiteral("0"));
        };
        QVERIFY(csv.contains(QStringLiteral("x → cuda:0 for halve")));
        QCOMPARE(form(csv), form(m_englishCsv));
    }

private:
    QMap<QString, QString> m_english;
    QString m_englishCsv;
};

TWB_GUI_TEST_MAIN(TestGerman)
#include "test_german.moc"
