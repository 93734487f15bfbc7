<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE TS>
<TS version="2.1" language="de_DE" sourcelanguage="en">
<context>
    <name>AddOp</name>
    <message>
        <source>There is no op %1. Choose an op from the palette.</source>
        <translation>Es gibt keine Op %1. Eine Op aus der Palette wählen.</translation>
    </message>
</context>
<context>
    <name>AnalysisActions</name>
    <message>
        <source>allow</source>
        <translation>erlauben</translation>
    </message>
    <message>
        <source>log</source>
        <translation>protokollieren</translation>
    </message>
    <message>
        <source>disallow</source>
        <translation>verbieten</translation>
    </message>
    <message>
        <source>%1 from host to device, %2 from device to host, %3 from device to device</source>
        <translation>Host zu Gerät: %1, Gerät zu Host: %2, Gerät zu Gerät: %3</translation>
    </message>
    <message>
        <source>Fix &amp;all mismatches…</source>
        <translation>&amp;Alle Mismatches beheben&#xa0;…</translation>
    </message>
    <message>
        <source>Finds the fixes that minimise the total time of all steps and copies.</source>
        <translation>Findet die Korrekturen, die die Gesamtzeit aller Schritte und Kopien minimieren.</translation>
    </message>
    <message>
        <source>&amp;Propose placement…</source>
        <translation>&amp;Platzierung vorschlagen&#xa0;…</translation>
    </message>
    <message>
        <source>Finds the lanes that minimise the total time of all steps and copies. Pinned nodes stay.</source>
        <translation>Findet die Spuren, die die Gesamtzeit aller Schritte und Kopien minimieren. Angeheftete Knoten bleiben.</translation>
    </message>
    <message>
        <source>&amp;What if…</source>
        <translation>&amp;Was wäre wenn&#xa0;…</translation>
    </message>
    <message>
        <source>Predicts the time of an iteration on other GPUs.</source>
        <translation>Sagt die Zeit einer Iteration auf anderen GPUs vorher.</translation>
    </message>
    <message>
        <source>&amp;Compare policies…</source>
        <translation>Policies &amp;vergleichen&#xa0;…</translation>
    </message>
    <message>
        <source>Lists the edges that fail or cause a copy under each policy.</source>
        <translation>Listet die Kanten, die unter jeder Policy fehlschlagen oder eine Kopie auslösen.</translation>
    </message>
    <message>
        <source>P&amp;in to lane</source>
        <translation>An Spur an&amp;heften</translation>
    </message>
    <message>
        <source>Proposed fixes and placements do not move a pinned node.</source>
        <translation>Vorgeschlagene Korrekturen und Platzierungen verschieben angeheftete Knoten nicht.</translation>
    </message>
    <message>
        <source>Cannot compute fixes</source>
        <translation>Korrekturen nicht berechenbar</translation>
    </message>
    <message>
        <source>Computing the cheapest fixes…</source>
        <translation>Die günstigsten Korrekturen werden berechnet&#xa0;…</translation>
    </message>
    <message>
        <source>No device mismatches.</source>
        <translation>Keine Geräte-Mismatches.</translation>
    </message>
    <message>
        <source>Fix all mismatches</source>
        <translation>Alle Mismatches beheben</translation>
    </message>
    <message>
        <source>These changes fix all device mismatches and minimise the total time of all steps and copies.</source>
        <translation>Diese Änderungen beheben alle Geräte-Mismatches und minimieren die Gesamtzeit aller Schritte und Kopien.</translation>
    </message>
    <message>
        <source>change</source>
        <translation>Änderung</translation>
    </message>
    <message>
        <source>bytes per iteration</source>
        <translation>Bytes pro Iteration</translation>
    </message>
    <message>
        <source>time, modelled</source>
        <translation>Zeit, modelliert</translation>
    </message>
    <message>
        <source>The steps and copies of an iteration take %1 in total; with a To on each mismatched edge, they would take %2. %3. The times are modelled %4.</source>
        <translation>Die Schritte und Kopien einer Iteration dauern insgesamt %1; mit einem To auf jeder Mismatch-Kante wären es %2. %3. Die Zeiten sind modelliert: %4.</translation>
    </message>
    <message>
        <source>No set of fixes has a smaller total time</source>
        <translation>Kein Satz von Korrekturen hat eine kürzere Gesamtzeit</translation>
    </message>
    <message>
        <source>No set of fixes has a total time below %1</source>
        <translation>Kein Satz von Korrekturen hat eine Gesamtzeit unter %1</translation>
    </message>
    <message>
        <source>Apply</source>
        <translation>Anwenden</translation>
    </message>
    <message>
        <source>Cannot apply the fixes</source>
        <translation>Korrekturen nicht anwendbar</translation>
    </message>
    <message>
        <source>Fix the errors of the graph before proposing a placement.</source>
        <translation>Vor dem Vorschlag einer Platzierung die Fehler des Graphen beheben.</translation>
    </message>
    <message>
        <source>Cannot propose a placement</source>
        <translation>Keine Platzierung möglich</translation>
    </message>
    <message>
        <source>Searching for a better placement…</source>
        <translation>Eine bessere Platzierung wird gesucht&#xa0;…</translation>
    </message>
    <message>
        <source>No better placement found.</source>
        <translation>Keine bessere Platzierung gefunden.</translation>
    </message>
    <message>
        <source>Propose placement</source>
        <translation>Platzierung vorschlagen</translation>
    </message>
    <message>
        <source>An iteration would take %1 instead of %2 (modelled). Pinned nodes stay.</source>
        <translation>Eine Iteration würde %1 statt %2 dauern (modelliert). Angeheftete Knoten bleiben.</translation>
    </message>
    <message>
        <source>move</source>
        <translation>Verschiebung</translation>
    </message>
    <message>
        <source>copies, change</source>
        <translation>Kopien, Änderung</translation>
    </message>
    <message>
        <source>step time, change</source>
        <translation>Schrittzeit, Änderung</translation>
    </message>
    <message>
        <source>total time, change</source>
        <translation>Gesamtzeit, Änderung</translation>
    </message>
    <message>
        <source>Total time of all steps and copies: %1 now, %2 after the moves. %3. The times are modelled %4.</source>
        <translation>Gesamtzeit aller Schritte und Kopien: jetzt %1, nach den Verschiebungen %2. %3. Die Zeiten sind modelliert: %4.</translation>
    </message>
    <message>
        <source>No placement has a smaller total time</source>
        <translation>Keine Platzierung hat eine kürzere Gesamtzeit</translation>
    </message>
    <message>
        <source>No placement has a total time below %1</source>
        <translation>Keine Platzierung hat eine Gesamtzeit unter %1</translation>
    </message>
    <message>
        <source>This placement exceeds the devices&apos; memory.</source>
        <translation>Diese Platzierung übersteigt den Speicher der Geräte.</translation>
    </message>
    <message>
        <source>Fix the errors of the graph before predicting an iteration.</source>
        <translation>Vor der Vorhersage einer Iteration die Fehler des Graphen beheben.</translation>
    </message>
    <message>
        <source>Cannot predict an iteration</source>
        <translation>Keine Vorhersage möglich</translation>
    </message>
    <message>
        <source>What if</source>
        <translation>Was wäre wenn</translation>
    </message>
    <message>
        <source>Predicted time of an iteration: this graph, its saved version, and this graph on other GPUs.</source>
        <translation>Vorhergesagte Zeit einer Iteration: dieser Graph, seine gespeicherte Fassung und dieser Graph auf anderen GPUs.</translation>
    </message>
    <message>
        <source>variant</source>
        <translation>Variante</translation>
    </message>
    <message>
        <source>iteration</source>
        <translation>Iteration</translation>
    </message>
    <message>
        <source>latency</source>
        <translation>Latenz</translation>
    </message>
    <message>
        <source>transfers</source>
        <translation>Transfers</translation>
    </message>
    <message>
        <source>launches</source>
        <translation>Launches</translation>
    </message>
    <message>
        <source>GPU memory</source>
        <translation>GPU-Speicher</translation>
    </message>
    <message>
        <source>fits</source>
        <translation>passt</translation>
    </message>
    <message>
        <source>yes</source>
        <translation>ja</translation>
    </message>
    <message>
        <source>no</source>
        <translation>nein</translation>
    </message>
    <message>
        <source>Predicting…</source>
        <translation>Vorhersage läuft&#xa0;…</translation>
    </message>
    <message>
        <source>this graph</source>
        <translation>dieser Graph</translation>
    </message>
    <message>
        <source>saved version</source>
        <translation>gespeicherte Fassung</translation>
    </message>
    <message>
        <source>Iteration: time per iteration in a long run. Latency: time of a single iteration. Transfers and launches: shares of the latency. The times are modelled %1.</source>
        <translation>Iteration: Zeit pro Iteration in einem langen Lauf. Latenz: Zeit einer einzelnen Iteration. Transfers und Launches: Anteile an der Latenz. Die Zeiten sind modelliert: %1.</translation>
    </message>
    <message>
        <source>Strict</source>
        <translation>Strict</translation>
    </message>
    <message>
        <source>Implicit</source>
        <translation>Implicit</translation>
    </message>
    <message>
        <source>Guard</source>
        <translation>Guard</translation>
    </message>
    <message>
        <source>fails</source>
        <translation>schlägt fehl</translation>
    </message>
    <message>
        <source>copied once, before the iterations</source>
        <translation>einmal kopiert, vor den Iterationen</translation>
    </message>
    <message>
        <source>copied, %1</source>
        <translation>kopiert, %1</translation>
    </message>
    <message>
        <source>No device mismatches: all policies agree.</source>
        <translation>Keine Geräte-Mismatches: Alle Policies stimmen überein.</translation>
    </message>
    <message>
        <source>Compare policies</source>
        <translation>Policies vergleichen</translation>
    </message>
    <message>
        <source>Edges with an operand on another device, and their result under each policy.</source>
        <translation>Kanten mit einem Operanden auf einem anderen Gerät und ihr Ergebnis unter jeder Policy.</translation>
    </message>
    <message>
        <source>edge</source>
        <translation>Kante</translation>
    </message>
    <message>
        <source>%1: %2 of %3 fails</source>
        <translation>%1: %2 von %3 schlägt fehl</translation>
    </message>
    <message>
        <source>%1: %2 of %3 fail</source>
        <translation>%1: %2 von %3 schlagen fehl</translation>
    </message>
    <message>
        <source>1 edge</source>
        <translation>1 Kante</translation>
    </message>
    <message>
        <source>%1 edges</source>
        <translation>%1 Kanten</translation>
    </message>
    <message>
        <source>%1: %2 copy per iteration takes %3</source>
        <translation>%1: %2 Kopie pro Iteration dauert %3</translation>
    </message>
    <message>
        <source>%1: %2 copies per iteration take %3</source>
        <translation>%1: %2 Kopien pro Iteration dauern %3</translation>
    </message>
    <message>
        <source>%1. Guard: %2. Consumers on one device share a copy. Times are modelled.</source>
        <translation>%1. Guard: %2. Verbraucher auf einem Gerät teilen sich eine Kopie. Die Zeiten sind modelliert.</translation>
    </message>
    <message>
        <source>Proposed placements can move this selection.</source>
        <translation>Vorgeschlagene Platzierungen dürfen diese Auswahl verschieben.</translation>
    </message>
    <message>
        <source>Proposed placements do not move this selection.</source>
        <translation>Vorgeschlagene Platzierungen verschieben diese Auswahl nicht.</translation>
    </message>
    <message>
        <source>Predicts the time of an iteration on several ranks, connected by NVLink, PCIe or Ethernet.</source>
        <translation>Sagt die Zeit einer Iteration auf mehreren Rängen voraus, die NVLink, PCIe oder Ethernet verbindet.</translation>
    </message>
    <message>
        <source>%1 ranks on %2</source>
        <translation>%1 Ränge an %2</translation>
    </message>
    <message>
        <source>communication</source>
        <translation>Kommunikation</translation>
    </message>
    <message>
        <source>throughput</source>
        <translation>Durchsatz</translation>
    </message>
    <message>
        <source>waiting</source>
        <translation>Warten</translation>
    </message>
    <message>
        <source>Predict on several &amp;ranks…</source>
        <translation>Vorhersage für mehrere &amp;Ränge&#xa0;…</translation>
    </message>
    <message>
        <source>1 rank (this graph)</source>
        <translation>1 Rang (dieser Graph)</translation>
    </message>
    <message>
        <source>This graph has no communication between ranks. Add training, or an op from the palette section Ranks.</source>
        <translation>Dieser Graph hat keine Kommunikation zwischen Rängen. Training oder eine Op aus dem Palettenabschnitt Ränge hinzufügen.</translation>
    </message>
    <message>
        <source>Predict on several ranks</source>
        <translation>Vorhersage für mehrere Ränge</translation>
    </message>
    <message>
        <source>Predicted time of an iteration on several ranks. Each rank has the hardware of this graph and its own batch. Nothing is measured.</source>
        <translation>Vorhergesagte Zeit einer Iteration auf mehreren Rängen. Jeder Rang hat die Hardware dieses Graphen und einen eigenen Batch. Nichts ist gemessen.</translation>
    </message>
    <message>
        <source>simulated ranks and link</source>
        <translation>simulierte Ränge und Verbindung</translation>
    </message>
    <message>
        <source>overlapped</source>
        <translation>überlappt</translation>
    </message>
    <message>
        <source>Communication: time per iteration in collective calls. Overlapped: share of that time during which a step computes. Waiting: the rest of it, in which the rank computes nothing. Throughput: batches per second relative to one rank. The times are modelled %1. Links: %2.</source>
        <translation>Kommunikation: Zeit je Iteration in kollektiven Aufrufen. Überlappt: Anteil dieser Zeit, während dessen ein Schritt rechnet. Warten: der Rest davon, in dem der Rang nichts rechnet. Durchsatz: Batches pro Sekunde im Verhältnis zu einem Rang. Die Zeiten sind modelliert %1. Verbindungen: %2.</translation>
    </message>
    <message>
        <source>Predicted time of an iteration of this graph, whose lanes belong to %1 ranks, by the link between them. Nothing is measured.</source>
        <translation>Vorhergesagte Zeit einer Iteration dieses Graphen, dessen Spuren zu %1 Rängen gehören, je nach der Verbindung zwischen ihnen. Nichts ist gemessen.</translation>
    </message>
    <message>
        <source>link</source>
        <translation>Verbindung</translation>
    </message>
    <message>
        <source>Iteration: time per iteration in a long run. Latency: time of a single iteration. Transfers: share of the latency. The times are modelled %1. Links: %2.</source>
        <translation>Iteration: Zeit pro Iteration in einem langen Lauf. Latenz: Zeit einer einzelnen Iteration. Transfers: Anteil an der Latenz. Die Zeiten sind modelliert: %1. Verbindungen: %2.</translation>
    </message>
</context>
<context>
    <name>Attribute</name>
    <message>
        <source>“%1” is not a whole number; separate sizes by commas, such as 360, 64.</source>
        <translation>„%1“ ist keine ganze Zahl; Größen durch Kommas trennen, etwa 360, 64.</translation>
    </message>
    <message>
        <source>“%1” is not a number; separate values by commas, such as 1.5, 2.</source>
        <translation>„%1“ ist keine Zahl; Werte durch Kommas trennen, etwa 1.5, 2.</translation>
    </message>
    <message>
        <source>“%1” is not true or false.</source>
        <translation>„%1“ ist weder true noch false.</translation>
    </message>
    <message>
        <source>“%1” is not a whole number.</source>
        <translation>„%1“ ist keine ganze Zahl.</translation>
    </message>
    <message>
        <source>“%1” is not a number.</source>
        <translation>„%1“ ist keine Zahl.</translation>
    </message>
</context>
<context>
    <name>Breakpoint</name>
    <message>
        <source>before the node</source>
        <translation>vor dem Knoten</translation>
    </message>
    <message>
        <source>before the node, when %1 of an input %2</source>
        <translation>vor dem Knoten, wenn %1 eines Eingangs %2</translation>
    </message>
    <message>
        <source>after the node</source>
        <translation>nach dem Knoten</translation>
    </message>
    <message>
        <source>on NaN or inf</source>
        <translation>bei NaN oder inf</translation>
    </message>
    <message>
        <source>when %1 %2</source>
        <translation>wenn %1 %2</translation>
    </message>
</context>
<context>
    <name>BusyDialog</name>
    <message>
        <source>Cancel</source>
        <translation>Abbrechen</translation>
    </message>
</context>
<context>
    <name>Canvas</name>
    <message>
        <source>type unknown</source>
        <translation>Typ unbekannt</translation>
    </message>
    <message>
        <source>measured, %1</source>
        <translation>gemessen, %1</translation>
    </message>
    <message>
        <source>created on %1 by %2</source>
        <translation>erzeugt auf %1 von %2</translation>
    </message>
    <message>
        <source>copied to %1 by the policy</source>
        <translation>durch die Policy nach %1 kopiert</translation>
    </message>
    <message>
        <source>copied to %1 by %2</source>
        <translation>nach %1 kopiert durch %2</translation>
    </message>
    <message>
        <source>no consumer</source>
        <translation>kein Verbraucher</translation>
    </message>
    <message>
        <source>last read by %1</source>
        <translation>zuletzt gelesen von %1</translation>
    </message>
    <message>
        <source>Modelled times: %1.</source>
        <translation>Modellierte Zeiten: %1.</translation>
    </message>
    <message>
        <source>Predictions: %1.</source>
        <translation>Vorhersagen: %1.</translation>
    </message>
    <message>
        <source>Drag this dot to reroute the wire. Press Del to remove it.</source>
        <translation>Den Punkt ziehen, um die Verbindung umzuleiten. Entf entfernt ihn.</translation>
    </message>
    <message>
        <source>outside this module, on %1</source>
        <translation>außerhalb dieses Moduls, auf %1</translation>
    </message>
    <message>
        <source>1 wire ends here, on the collapsed lane %1</source>
        <translation>1 Verbindung endet hier, auf der eingeklappten Spur %1</translation>
    </message>
    <message>
        <source>%1 wires end here, on the collapsed lane %2</source>
        <translation>%1 Verbindungen enden hier, auf der eingeklappten Spur %2</translation>
    </message>
    <message>
        <source>Double-click to open the lane.</source>
        <translation>Doppelklick öffnet die Spur.</translation>
    </message>
    <message>
        <source>Double-click to go there.</source>
        <translation>Doppelklick führt dorthin.</translation>
    </message>
    <message>
        <source>&lt;b&gt;%1&lt;/b&gt; of %2</source>
        <translation>&lt;b&gt;%1&lt;/b&gt; von %2</translation>
    </message>
    <message>
        <source>input %1</source>
        <translation>Eingang %1</translation>
    </message>
    <message>
        <source>optional, not connected</source>
        <translation>optional, nicht verbunden</translation>
    </message>
    <message>
        <source>not connected</source>
        <translation>nicht verbunden</translation>
    </message>
    <message>
        <source>output %1</source>
        <translation>Ausgang %1</translation>
    </message>
    <message>
        <source>Double-click to open the module.</source>
        <translation>Doppelklick öffnet das Modul.</translation>
    </message>
    <message>
        <source>%1, total of its nodes</source>
        <translation>%1, Summe seiner Knoten</translation>
    </message>
    <message>
        <source>&lt;b&gt;%1&lt;/b&gt; · %2 on %3</source>
        <translation>&lt;b&gt;%1&lt;/b&gt; · %2 auf %3</translation>
    </message>
    <message>
        <source>from %1</source>
        <translation>aus %1</translation>
    </message>
    <message>
        <source>, once before the iterations</source>
        <translation>, einmal vor den Iterationen</translation>
    </message>
    <message>
        <source>%1 · disabled</source>
        <translation>%1 · deaktiviert</translation>
    </message>
    <message>
        <source>1 op</source>
        <translation>1 Op</translation>
    </message>
    <message>
        <source>%1 ops</source>
        <translation>%1 Ops</translation>
    </message>
    <message>
        <source>1 parameter</source>
        <translation>1 Parameter</translation>
    </message>
    <message>
        <source>%1 parameters</source>
        <translation>%1 Parameter</translation>
    </message>
    <message>
        <source>modelled, once</source>
        <translation>modelliert, einmal</translation>
    </message>
    <message>
        <source>modelled</source>
        <translation>modelliert</translation>
    </message>
    <message>
        <source>once</source>
        <translation>einmal</translation>
    </message>
    <message>
        <source>%1 modelled</source>
        <translation>%1 modelliert</translation>
    </message>
    <message>
        <source>partly modelled</source>
        <translation>teils modelliert</translation>
    </message>
    <message>
        <source>copy to %1</source>
        <translation>Kopie nach %1</translation>
    </message>
    <message>
        <source>%1 of %2</source>
        <translation>%1 von %2</translation>
    </message>
    <message>
        <source>%1 nodes</source>
        <translation>%1 Knoten</translation>
    </message>
    <message>
        <source>empty</source>
        <translation>leer</translation>
    </message>
    <message>
        <source>1 node</source>
        <translation>1 Knoten</translation>
    </message>
    <message>
        <source>, with errors</source>
        <translation>, mit Fehlern</translation>
    </message>
    <message>
        <source>size known at run time</source>
        <translation>Größe erst im Lauf bekannt</translation>
    </message>
    <message>
        <source>on %1, needed on %2</source>
        <translation>auf %1, benötigt auf %2</translation>
    </message>
    <message>
        <source>shapes do not match</source>
        <translation>Shapes passen nicht</translation>
    </message>
    <message>
        <source>dtypes do not match</source>
        <translation>dtypes passen nicht</translation>
    </message>
    <message>
        <source>already on %1</source>
        <translation>bereits auf %1</translation>
    </message>
    <message>
        <source>staging</source>
        <translation>Staging</translation>
    </message>
    <message>
        <source>passed by value</source>
        <translation>als Wert übergeben</translation>
    </message>
    <message>
        <source>read on the host</source>
        <translation>auf dem Host gelesen</translation>
    </message>
    <message>
        <source>implicit</source>
        <translation>implizit</translation>
    </message>
    <message>
        <source>Wire from %1 to %2</source>
        <translation>Verbindung von %1 nach %2</translation>
    </message>
    <message>
        <source>Module %1</source>
        <translation>Modul %1</translation>
    </message>
    <message>
        <source>%1, %2 on %3</source>
        <translation>%1, %2 auf %3</translation>
    </message>
    <message>
        <source>%1, error</source>
        <translation>%1, Fehler</translation>
    </message>
    <message>
        <source>transfer from %1 to %2</source>
        <translation>Transfer von %1 nach %2</translation>
    </message>
    <message>
        <source>%1 in %2, %3</source>
        <translation>%1 in %2, %3</translation>
    </message>
    <message>
        <source>%1, %2</source>
        <translation>%1, %2</translation>
    </message>
    <message>
        <source>predicted</source>
        <translation>vorhergesagt</translation>
    </message>
    <message>
        <source>Rank %1 · %2</source>
        <translation>Rang %1 · %2</translation>
    </message>
</context>
<context>
    <name>ConnectGesture</name>
    <message>
        <source>%1 has no inputs.</source>
        <translation>%1 hat keine Eingänge.</translation>
    </message>
    <message>
        <source>This would form a cycle: %1 depends on %2.</source>
        <translation>Das ergäbe einen Zyklus: %1 hängt von %2 ab.</translation>
    </message>
    <message>
        <source>No input of %1 accepts %2.</source>
        <translation>Kein Eingang von %1 nimmt %2 an.</translation>
    </message>
    <message>
        <source>%1 of %2 does not accept %3.</source>
        <translation>%1 von %2 nimmt %3 nicht an.</translation>
    </message>
</context>
<context>
    <name>CrashReport</name>
    <message>
        <source>Crash report</source>
        <translation>Absturzbericht</translation>
    </message>
    <message>
        <source>This report is only on this computer, in %1. It names the last actions, which can contain names of nodes.</source>
        <translation>Dieser Bericht liegt nur auf diesem Rechner, in %1. Er nennt die letzten Aktionen, die Namen von Knoten enthalten können.</translation>
    </message>
    <message>
        <source>Copy</source>
        <translation>Kopieren</translation>
    </message>
</context>
<context>
    <name>EditActions</name>
    <message>
        <source>Cu&amp;t</source>
        <translation>Ausschnei&amp;den</translation>
    </message>
    <message>
        <source>&amp;Copy</source>
        <translation>&amp;Kopieren</translation>
    </message>
    <message>
        <source>&amp;Paste</source>
        <translation>&amp;Einfügen</translation>
    </message>
    <message>
        <source>&amp;Duplicate</source>
        <translation>D&amp;uplizieren</translation>
    </message>
    <message>
        <source>Duplicate with &amp;inputs</source>
        <translation>Mit Ein&amp;gängen duplizieren</translation>
    </message>
    <message>
        <source>Disc&amp;onnect</source>
        <translation>&amp;Trennen</translation>
    </message>
    <message>
        <source>De&amp;lete</source>
        <translation>&amp;Löschen</translation>
    </message>
    <message>
        <source>Delete and reco&amp;nnect</source>
        <translation>Löschen und &amp;verbinden</translation>
    </message>
    <message>
        <source>Select &amp;all</source>
        <translation>&amp;Alles auswählen</translation>
    </message>
    <message>
        <source>Select mo&amp;re</source>
        <translation>Aus&amp;wahl erweitern</translation>
    </message>
    <message>
        <source>Ali&amp;gn</source>
        <translation>Aus&amp;richten</translation>
    </message>
    <message>
        <source>&amp;Upstream</source>
        <translation>&amp;Vorgelagerte</translation>
    </message>
    <message>
        <source>Adds all nodes upstream of the selection.</source>
        <translation>Nimmt alle vorgelagerten Knoten in die Auswahl auf.</translation>
    </message>
    <message>
        <source>&amp;Downstream</source>
        <translation>&amp;Nachgelagerte</translation>
    </message>
    <message>
        <source>Adds all nodes downstream of the selection.</source>
        <translation>Nimmt alle nachgelagerten Knoten in die Auswahl auf.</translation>
    </message>
    <message>
        <source>&amp;Connected</source>
        <translation>Ver&amp;bundene</translation>
    </message>
    <message>
        <source>Adds all nodes that are connected to the selection.</source>
        <translation>Nimmt alle mit der Auswahl verbundenen Knoten auf.</translation>
    </message>
    <message>
        <source>Same &amp;op</source>
        <translation>Gleiche &amp;Op</translation>
    </message>
    <message>
        <source>Selects all nodes with the same op.</source>
        <translation>Wählt alle Knoten mit derselben Op aus.</translation>
    </message>
    <message>
        <source>All on &amp;lane</source>
        <translation>Alle der &amp;Spur</translation>
    </message>
    <message>
        <source>Selects all nodes on the same lanes.</source>
        <translation>Wählt alle Knoten derselben Spuren aus.</translation>
    </message>
    <message>
        <source>Aligns nodes lane by lane. Nodes stay on their lanes.</source>
        <translation>Richtet Knoten Spur für Spur aus. Knoten bleiben auf ihren Spuren.</translation>
    </message>
    <message>
        <source>&amp;Left</source>
        <translation>&amp;Links</translation>
    </message>
    <message>
        <source>Aligns left edges with the leftmost node.</source>
        <translation>Richtet die linken Kanten am linkesten Knoten aus.</translation>
    </message>
    <message>
        <source>&amp;Centre</source>
        <translation>&amp;Zentriert</translation>
    </message>
    <message>
        <source>Aligns centres on a vertical line.</source>
        <translation>Richtet die Mitten an einer senkrechten Linie aus.</translation>
    </message>
    <message>
        <source>&amp;Right</source>
        <translation>&amp;Rechts</translation>
    </message>
    <message>
        <source>Aligns right edges with the rightmost node.</source>
        <translation>Richtet die rechten Kanten am rechtesten Knoten aus.</translation>
    </message>
    <message>
        <source>&amp;Top</source>
        <translation>&amp;Oben</translation>
    </message>
    <message>
        <source>&amp;Middle</source>
        <translation>&amp;Mittig</translation>
    </message>
    <message>
        <source>Distribute &amp;horizontally</source>
        <translation>&amp;Horizontal verteilen</translation>
    </message>
    <message>
        <source>Makes the gaps equal. Select at least three nodes.</source>
        <translation>Macht die Abstände gleich. Mindestens drei Knoten auswählen.</translation>
    </message>
    <message>
        <source>Distribute &amp;vertically</source>
        <translation>&amp;Vertikal verteilen</translation>
    </message>
    <message>
        <source>The clipboard holds no nodes</source>
        <translation>Die Zwischenablage enthält keine Knoten</translation>
    </message>
    <message>
        <source>Connect to an &amp;input…</source>
        <translation>&amp;Mit Eingang verbinden&#xa0;…</translation>
    </message>
    <message>
        <source>Connect to an input</source>
        <translation>Mit Eingang verbinden</translation>
    </message>
    <message>
        <source>Input for the output of %1</source>
        <translation>Eingang für den Ausgang von %1</translation>
    </message>
    <message>
        <source>Select one node to connect its output.</source>
        <translation>Einen Knoten auswählen, um seinen Ausgang zu verbinden.</translation>
    </message>
    <message>
        <source>No other input accepts the output of %1.</source>
        <translation>Kein anderer Eingang nimmt den Ausgang von %1 an.</translation>
    </message>
    <message>
        <source>%1 (replaces its wire)</source>
        <translation>%1 (ersetzt seine Verbindung)</translation>
    </message>
    <message>
        <source>Undo</source>
        <translation>Rückgängig</translation>
    </message>
    <message>
        <source>Redo</source>
        <translation>Wiederholen</translation>
    </message>
</context>
<context>
    <name>EditTitle</name>
    <message>
        <source>Edit note</source>
        <translation>Notiz bearbeiten</translation>
    </message>
    <message>
        <source>Unpin from lane</source>
        <translation>Von Spur lösen</translation>
    </message>
    <message>
        <source>Pin to lane</source>
        <translation>An Spur anheften</translation>
    </message>
    <message>
        <source>Rename lane</source>
        <translation>Spur umbenennen</translation>
    </message>
    <message>
        <source>Set lane to %1</source>
        <translation>Spur auf %1 setzen</translation>
    </message>
    <message>
        <source>Set iterations to %1</source>
        <translation>Iterationen auf %1 setzen</translation>
    </message>
    <message>
        <source>Set policy to %1</source>
        <translation>Policy auf %1 setzen</translation>
    </message>
    <message>
        <source>Add %1</source>
        <translation>%1 hinzufügen</translation>
    </message>
    <message>
        <source>Add %1 after %2</source>
        <translation>%1 nach %2 hinzufügen</translation>
    </message>
    <message>
        <source>Add %1 before %2</source>
        <translation>%1 vor %2 hinzufügen</translation>
    </message>
    <message>
        <source>Insert %1 between %2 and %3</source>
        <translation>%1 zwischen %2 und %3 einfügen</translation>
    </message>
    <message>
        <source>Remove breakpoint of %1</source>
        <translation>Haltepunkt von %1 entfernen</translation>
    </message>
    <message>
        <source>Enable breakpoint of %1</source>
        <translation>Haltepunkt von %1 aktivieren</translation>
    </message>
    <message>
        <source>Disable breakpoint of %1</source>
        <translation>Haltepunkt von %1 deaktivieren</translation>
    </message>
    <message>
        <source>Pause before %1</source>
        <translation>Vor %1 pausieren</translation>
    </message>
    <message>
        <source>Pause after %1</source>
        <translation>Nach %1 pausieren</translation>
    </message>
    <message>
        <source>Pause on NaN or inf of %1</source>
        <translation>Bei NaN oder inf von %1 pausieren</translation>
    </message>
    <message>
        <source>Pause on a condition of %1</source>
        <translation>Unter einer Bedingung bei %1 pausieren</translation>
    </message>
    <message>
        <source>Disconnect %1 from %2</source>
        <translation>%1 von %2 trennen</translation>
    </message>
    <message>
        <source>Connect %1 to %2</source>
        <translation>%1 mit %2 verbinden</translation>
    </message>
    <message>
        <source>dot</source>
        <translation>Punkt</translation>
    </message>
    <message>
        <source>%1 dots</source>
        <translation>%1 Punkte</translation>
    </message>
    <message>
        <source>%1 things</source>
        <translation>%1 Elemente</translation>
    </message>
    <message>
        <source>note</source>
        <translation>Notiz</translation>
    </message>
    <message>
        <source>Move %1 to %2 into %3</source>
        <translation>%1 nach %2 in %3 verschieben</translation>
    </message>
    <message>
        <source>Move %1 to %2</source>
        <translation>%1 nach %2 verschieben</translation>
    </message>
    <message>
        <source>Move %1 into %2</source>
        <translation>%1 in %2 verschieben</translation>
    </message>
    <message>
        <source>Move %1</source>
        <translation>%1 verschieben</translation>
    </message>
    <message>
        <source>%1 nodes</source>
        <translation>%1 Knoten</translation>
    </message>
    <message>
        <source>Disconnect</source>
        <translation>Trennen</translation>
    </message>
    <message>
        <source>Delete %1 dots</source>
        <translation>%1 Punkte löschen</translation>
    </message>
    <message>
        <source>Delete %1 things</source>
        <translation>%1 Elemente löschen</translation>
    </message>
    <message>
        <source>Delete %1</source>
        <translation>%1 löschen</translation>
    </message>
    <message>
        <source>Delete dot</source>
        <translation>Punkt löschen</translation>
    </message>
    <message>
        <source>Delete note</source>
        <translation>Notiz löschen</translation>
    </message>
    <message>
        <source>Paste</source>
        <translation>Einfügen</translation>
    </message>
    <message>
        <source>Duplicate</source>
        <translation>Duplizieren</translation>
    </message>
    <message>
        <source>Duplicate with inputs</source>
        <translation>Mit Eingängen duplizieren</translation>
    </message>
    <message>
        <source>Send to %1</source>
        <translation>An %1 senden</translation>
    </message>
    <message>
        <source>Insert To</source>
        <translation>To einfügen</translation>
    </message>
    <message>
        <source>Enable %1</source>
        <translation>%1 aktivieren</translation>
    </message>
    <message>
        <source>Disable %1</source>
        <translation>%1 deaktivieren</translation>
    </message>
    <message>
        <source>Add lane %1</source>
        <translation>Spur %1 hinzufügen</translation>
    </message>
    <message>
        <source>Move lane %1 up</source>
        <translation>Spur %1 nach oben verschieben</translation>
    </message>
    <message>
        <source>Move lane %1 down</source>
        <translation>Spur %1 nach unten verschieben</translation>
    </message>
    <message>
        <source>Resize lane %1</source>
        <translation>Höhe der Spur %1 ändern</translation>
    </message>
    <message>
        <source>Collapse lane %1</source>
        <translation>Spur %1 einklappen</translation>
    </message>
    <message>
        <source>Expand lane %1</source>
        <translation>Spur %1 ausklappen</translation>
    </message>
    <message>
        <source>Remove lane %1</source>
        <translation>Spur %1 entfernen</translation>
    </message>
    <message>
        <source>Add note</source>
        <translation>Notiz hinzufügen</translation>
    </message>
    <message>
        <source>Rename %1 to %2</source>
        <translation>%1 in %2 umbenennen</translation>
    </message>
    <message>
        <source>Set %1 of %2</source>
        <translation>%1 von %2 setzen</translation>
    </message>
    <message>
        <source>Make module</source>
        <translation>Modul bilden</translation>
    </message>
    <message>
        <source>Rename module %1 to %2</source>
        <translation>Modul %1 in %2 umbenennen</translation>
    </message>
    <message>
        <source>Colour module %1</source>
        <translation>Modul %1 einfärben</translation>
    </message>
    <message>
        <source>Collapse module %1</source>
        <translation>Modul %1 einklappen</translation>
    </message>
    <message>
        <source>Dissolve module %1</source>
        <translation>Modul %1 auflösen</translation>
    </message>
    <message>
        <source>Delete and reconnect %1</source>
        <translation>%1 löschen und verbinden</translation>
    </message>
    <message>
        <source>Cut %1 wires</source>
        <translation>%1 Verbindungen trennen</translation>
    </message>
    <message>
        <source>Add dot</source>
        <translation>Punkt hinzufügen</translation>
    </message>
    <message>
        <source>Straighten wires</source>
        <translation>Verbindungen begradigen</translation>
    </message>
    <message>
        <source>Straighten wire</source>
        <translation>Verbindung begradigen</translation>
    </message>
    <message>
        <source>Update module %1</source>
        <translation>Modul %1 aktualisieren</translation>
    </message>
    <message>
        <source>Update %1 modules</source>
        <translation>%1 Module aktualisieren</translation>
    </message>
</context>
<context>
    <name>EngineWords</name>
    <message>
        <source>Tensors</source>
        <translation>Tensoren</translation>
    </message>
    <message>
        <source>Move</source>
        <translation>Transport</translation>
    </message>
    <message>
        <source>Linear algebra</source>
        <translation>Lineare Algebra</translation>
    </message>
    <message>
        <source>Activation</source>
        <translation>Aktivierung</translation>
    </message>
    <message>
        <source>Pointwise</source>
        <translation>Elementweise</translation>
    </message>
    <message>
        <source>Math</source>
        <translation>Mathematik</translation>
    </message>
    <message>
        <source>Logic</source>
        <translation>Logik</translation>
    </message>
    <message>
        <source>Shape</source>
        <translation>Shape</translation>
    </message>
    <message>
        <source>Training</source>
        <translation>Training</translation>
    </message>
    <message>
        <source>Reduce</source>
        <translation>Reduktion</translation>
    </message>
    <message>
        <source>Indexing</source>
        <translation>Indizierung</translation>
    </message>
    <message>
        <source>Selection</source>
        <translation>Auswahl</translation>
    </message>
    <message>
        <source>Convolution</source>
        <translation>Faltung</translation>
    </message>
    <message>
        <source>Pooling</source>
        <translation>Pooling</translation>
    </message>
    <message>
        <source>Normalization</source>
        <translation>Normalisierung</translation>
    </message>
    <message>
        <source>Recurrent</source>
        <translation>Rekurrent</translation>
    </message>
    <message>
        <source>Attention</source>
        <translation>Attention</translation>
    </message>
    <message>
        <source>Image</source>
        <translation>Bild</translation>
    </message>
    <message>
        <source>Loss</source>
        <translation>Loss</translation>
    </message>
    <message>
        <source>Signal</source>
        <translation>Signal</translation>
    </message>
    <message>
        <source>Random</source>
        <translation>Zufall</translation>
    </message>
    <message>
        <source>Quantize</source>
        <translation>Quantisierung</translation>
    </message>
    <message>
        <source>Classic ML</source>
        <translation>Klassisches ML</translation>
    </message>
    <message>
        <source>Control flow</source>
        <translation>Kontrollfluss</translation>
    </message>
    <message>
        <source>Imported</source>
        <translation>Importiert</translation>
    </message>
    <message>
        <source>Look</source>
        <translation>Ansehen</translation>
    </message>
    <message>
        <source>Modules</source>
        <translation>Module</translation>
    </message>
    <message>
        <source>Your modules</source>
        <translation>Eigene Module</translation>
    </message>
    <message>
        <source>note</source>
        <comment>severity</comment>
        <translation>Hinweis</translation>
    </message>
    <message>
        <source>warning</source>
        <comment>severity</comment>
        <translation>Warnung</translation>
    </message>
    <message>
        <source>error</source>
        <comment>severity</comment>
        <translation>Fehler</translation>
    </message>
    <message>
        <source>pending</source>
        <translation>wartet</translation>
    </message>
    <message>
        <source>running</source>
        <translation>läuft</translation>
    </message>
    <message>
        <source>done</source>
        <translation>fertig</translation>
    </message>
    <message>
        <source>cached</source>
        <translation>im Cache</translation>
    </message>
    <message>
        <source>failed</source>
        <translation>fehlgeschlagen</translation>
    </message>
    <message>
        <source>skipped</source>
        <translation>übersprungen</translation>
    </message>
    <message>
        <source>poisoned</source>
        <translation>Eingang fehlgeschlagen</translation>
    </message>
    <message>
        <source>cancelled</source>
        <translation>abgebrochen</translation>
    </message>
    <message>
        <source>explicit</source>
        <translation>explizit</translation>
    </message>
    <message>
        <source>implicit</source>
        <translation>implizit</translation>
    </message>
    <message>
        <source>staging</source>
        <translation>Staging</translation>
    </message>
    <message>
        <source>loss</source>
        <translation>Loss</translation>
    </message>
    <message>
        <source>validation loss</source>
        <translation>Validierungs-Loss</translation>
    </message>
    <message>
        <source>accuracy</source>
        <translation>Genauigkeit</translation>
    </message>
    <message>
        <source>collective</source>
        <translation>kollektiv</translation>
    </message>
    <message>
        <source>Ranks</source>
        <translation>Ränge</translation>
    </message>
</context>
<context>
    <name>ExportActions</name>
    <message>
        <source>Export &amp;image…</source>
        <translation>B&amp;ild exportieren&#xa0;…</translation>
    </message>
    <message>
        <source>Export for P&amp;yTorch…</source>
        <translation>Für P&amp;yTorch exportieren&#xa0;…</translation>
    </message>
    <message>
        <source>Export O&amp;NNX model…</source>
        <translation>&amp;ONNX-Modell exportieren&#xa0;…</translation>
    </message>
    <message>
        <source>Export r&amp;eport…</source>
        <translation>Be&amp;richt exportieren&#xa0;…</translation>
    </message>
    <message>
        <source>P&amp;rint…</source>
        <translation>&amp;Drucken&#xa0;…</translation>
    </message>
    <message>
        <source>Export for PyTorch</source>
        <translation>Für PyTorch exportieren</translation>
    </message>
    <message>
        <source>Python modules (*.py)</source>
        <translation>Python-Module (*.py)</translation>
    </message>
    <message>
        <source>Cannot export the graph for PyTorch</source>
        <translation>PyTorch-Export nicht möglich</translation>
    </message>
    <message>
        <source>Written to %1. Run it with python3.</source>
        <translation>Nach %1 geschrieben. Start mit python3.</translation>
    </message>
    <message>
        <source>Export an ONNX model</source>
        <translation>ONNX-Modell exportieren</translation>
    </message>
    <message>
        <source>ONNX models (*.onnx)</source>
        <translation>ONNX-Modelle (*.onnx)</translation>
    </message>
    <message>
        <source>Cannot export the graph as an ONNX model</source>
        <translation>ONNX-Export nicht möglich</translation>
    </message>
    <message>
        <source>Written to %1.</source>
        <translation>Nach %1 geschrieben.</translation>
    </message>
    <message>
        <source>Nothing to report yet</source>
        <translation>Noch nichts zu berichten</translation>
    </message>
    <message>
        <source>Run the graph first, then export its report.</source>
        <translation>Erst den Graphen ausführen, dann seinen Bericht exportieren.</translation>
    </message>
    <message>
        <source>Export the report</source>
        <translation>Bericht exportieren</translation>
    </message>
    <message>
        <source>HTML pages (*.html)</source>
        <translation>HTML-Seiten (*.html)</translation>
    </message>
    <message>
        <source>JSON reports (*.json)</source>
        <translation>JSON-Berichte (*.json)</translation>
    </message>
    <message>
        <source>Cannot write the report</source>
        <translation>Bericht nicht geschrieben</translation>
    </message>
    <message>
        <source>Export image</source>
        <translation>Bild exportieren</translation>
    </message>
    <message>
        <source>PNG image (*.png)</source>
        <translation>PNG-Bild (*.png)</translation>
    </message>
    <message>
        <source>SVG drawing (*.svg)</source>
        <translation>SVG-Zeichnung (*.svg)</translation>
    </message>
    <message>
        <source>PDF page (*.pdf)</source>
        <translation>PDF-Seite (*.pdf)</translation>
    </message>
    <message>
        <source>Cannot write the image</source>
        <translation>Bild nicht geschrieben</translation>
    </message>
    <message>
        <source>Cannot write %1. Choose a writable folder and a name that ends in .png, .svg or .pdf.</source>
        <translation>%1 kann nicht geschrieben werden. Einen beschreibbaren Ordner und einen Namen mit der Endung .png, .svg oder .pdf wählen.</translation>
    </message>
    <message>
        <source>Print the canvas</source>
        <translation>Zeichenfläche drucken</translation>
    </message>
    <message>
        <source>Cannot print the canvas</source>
        <translation>Zeichenfläche nicht gedruckt</translation>
    </message>
    <message>
        <source>The printer %1 is not available. Choose another printer or a writable file.</source>
        <translation>Der Drucker %1 ist nicht verfügbar. Einen anderen Drucker oder eine beschreibbare Datei wählen.</translation>
    </message>
    <message>
        <source>Exporting…</source>
        <translation>Exportieren&#xa0;…</translation>
    </message>
</context>
<context>
    <name>FixActions</name>
    <message>
        <source>Cannot apply the fix</source>
        <translation>Korrektur nicht anwendbar</translation>
    </message>
    <message>
        <source>Cannot apply the fixes</source>
        <translation>Korrekturen nicht anwendbar</translation>
    </message>
    <message>
        <source>None of the problems has a fix.</source>
        <translation>Für keines der Probleme gibt es eine Korrektur.</translation>
    </message>
</context>
<context>
    <name>GraphDifference</name>
    <message>
        <source>not set</source>
        <translation>nicht gesetzt</translation>
    </message>
    <message>
        <source>− node %1 (%2)</source>
        <translation>− Knoten %1 (%2)</translation>
    </message>
    <message>
        <source>− edge %1</source>
        <translation>− Kante %1</translation>
    </message>
    <message>
        <source>+ edge %1</source>
        <translation>+ Kante %1</translation>
    </message>
    <message>
        <source>− 1 note</source>
        <translation>− 1 Notiz</translation>
    </message>
    <message>
        <source>− %1 notes</source>
        <translation>− %1 Notizen</translation>
    </message>
    <message>
        <source>+ 1 note</source>
        <translation>+ 1 Notiz</translation>
    </message>
    <message>
        <source>+ %1 notes</source>
        <translation>+ %1 Notizen</translation>
    </message>
    <message>
        <source>− 1 module</source>
        <translation>− 1 Modul</translation>
    </message>
    <message>
        <source>− %1 modules</source>
        <translation>− %1 Module</translation>
    </message>
    <message>
        <source>+ 1 module</source>
        <translation>+ 1 Modul</translation>
    </message>
    <message>
        <source>+ %1 modules</source>
        <translation>+ %1 Module</translation>
    </message>
    <message>
        <source>Only positions on the canvas differ.</source>
        <translation>Nur Positionen auf der Zeichenfläche unterscheiden sich.</translation>
    </message>
    <message>
        <source>+ node %1 (%2 on %3)</source>
        <translation>+ Knoten %1 (%2 auf %3)</translation>
    </message>
    <message>
        <source>renamed from %1</source>
        <translation>umbenannt aus %1</translation>
    </message>
    <message>
        <source>disabled</source>
        <translation>deaktiviert</translation>
    </message>
    <message>
        <source>enabled</source>
        <translation>aktiviert</translation>
    </message>
    <message>
        <source>no breakpoint</source>
        <translation>kein Haltepunkt</translation>
    </message>
    <message>
        <source>pauses %1</source>
        <translation>pausiert %1</translation>
    </message>
    <message>
        <source> and </source>
        <translation> und </translation>
    </message>
    <message>
        <source>folded into a card</source>
        <translation>in eine Karte gefaltet</translation>
    </message>
    <message>
        <source>unfolded to a card</source>
        <translation>als Karte entfaltet</translation>
    </message>
    <message>
        <source>~ edge %1: dots %2 → %3</source>
        <translation>~ Kante %1: Punkte %2 → %3</translation>
    </message>
    <message>
        <source>− lane %1</source>
        <translation>− Spur %1</translation>
    </message>
    <message>
        <source>+ lane %1</source>
        <translation>+ Spur %1</translation>
    </message>
    <message>
        <source>~ lane %1 → %2</source>
        <translation>~ Spur %1 → %2</translation>
    </message>
    <message>
        <source>~ title %1 → %2</source>
        <translation>~ Titel %1 → %2</translation>
    </message>
    <message>
        <source>~ description</source>
        <translation>~ Beschreibung</translation>
    </message>
    <message>
        <source>~ policy %1 → %2</source>
        <translation>~ Policy %1 → %2</translation>
    </message>
    <message>
        <source>~ iterations %1 → %2</source>
        <translation>~ Iterationen %1 → %2</translation>
    </message>
    <message>
        <source>No differences.</source>
        <translation>Keine Unterschiede.</translation>
    </message>
</context>
<context>
    <name>Heat</name>
    <message>
        <source>exact</source>
        <translation>exakt</translation>
    </message>
    <message>
        <source>partly modelled</source>
        <translation>teils modelliert</translation>
    </message>
    <message>
        <source>modelled</source>
        <translation>modelliert</translation>
    </message>
    <message>
        <source>time</source>
        <translation>Zeit</translation>
    </message>
    <message>
        <source>bytes</source>
        <translation>Bytes</translation>
    </message>
    <message>
        <source>run to see values</source>
        <translation>Werte erst nach einem Lauf</translation>
    </message>
    <message>
        <source>unknown</source>
        <translation>unbekannt</translation>
    </message>
</context>
<context>
    <name>Journey</name>
    <message>
        <source>created on %1</source>
        <translation>erzeugt auf %1</translation>
    </message>
    <message>
        <source>copy %1, on %2</source>
        <translation>Kopie %1, auf %2</translation>
    </message>
    <message>
        <source>last read on %1</source>
        <translation>zuletzt gelesen auf %1</translation>
    </message>
</context>
<context>
    <name>LaneOutlook</name>
    <message>
        <source>no transfer</source>
        <translation>kein Transfer</translation>
    </message>
    <message>
        <source>1 transfer, %1</source>
        <translation>1 Transfer, %1</translation>
    </message>
    <message>
        <source>%1 transfers, %2</source>
        <translation>%1 Transfers, %2</translation>
    </message>
    <message>
        <source>breaks %1</source>
        <translation>bricht %1</translation>
    </message>
    <message>
        <source>fixes %1</source>
        <translation>behebt %1</translation>
    </message>
    <message>
        <source>breaks %1: %2</source>
        <translation>bricht %1: %2</translation>
    </message>
    <message>
        <source>fixes %1: %2</source>
        <translation>behebt %1: %2</translation>
    </message>
    <message>
        <source>modelled</source>
        <translation>modelliert</translation>
    </message>
</context>
<context>
    <name>Lessons</name>
    <message>
        <source>Lesson %1</source>
        <translation>Lektion %1</translation>
    </message>
</context>
<context>
    <name>MainWindow</name>
    <message>
        <source>Cannot write the model&apos;s tensors to %1: %2. Free some disk space there, or make the folder writable.</source>
        <translation>Die Tensoren des Modells können nicht nach %1 geschrieben werden: %2. Dort Speicherplatz freigeben oder den Ordner beschreibbar machen.</translation>
    </message>
    <message>
        <source>Reading %1…</source>
        <translation>%1 wird gelesen&#xa0;…</translation>
    </message>
</context>
<context>
    <name>Overlay</name>
    <message>
        <source>%1: %3 of %4 steps and %5 of %6 transfers match ops of %2; the matched ops take %7 % of the profile&apos;s op time</source>
        <translation>%1: %3 von %4 Schritten und %5 von %6 Transfers entsprechen Ops aus %2; auf diese Ops entfallen %7 % der Op-Zeit des Profils</translation>
    </message>
    <message>
        <source>%1; operands on the wrong device are treated as copied</source>
        <translation>%1; Operanden auf dem falschen Gerät gelten als kopiert</translation>
    </message>
    <message>
        <source>The graph has problems, so its steps are not known. Fix the problems, then try again.</source>
        <translation>Der Graph hat Probleme, daher sind seine Schritte nicht bekannt. Die Probleme beheben und erneut versuchen.</translation>
    </message>
</context>
<context>
    <name>OwnModules</name>
    <message>
        <source>Your module of 1 node</source>
        <translation>Eigenes Modul mit 1 Knoten</translation>
    </message>
    <message>
        <source>Your module of %1 nodes</source>
        <translation>Eigenes Modul mit %1 Knoten</translation>
    </message>
    <message>
        <source>A module needs a name.</source>
        <translation>Ein Modul braucht einen Namen.</translation>
    </message>
    <message>
        <source>A name can have at most 60 letters.</source>
        <translation>Ein Name darf höchstens 60 Zeichen haben.</translation>
    </message>
    <message>
        <source>The palette already has a module %1. Choose another name.</source>
        <translation>Die Palette enthält bereits ein Modul %1. Einen anderen Namen wählen.</translation>
    </message>
    <message>
        <source>%1 is already an op of %2. Choose another name.</source>
        <translation>%1 ist bereits eine Op aus %2. Einen anderen Namen wählen.</translation>
    </message>
</context>
<context>
    <name>PlotValues</name>
    <message>
        <source>Timeline</source>
        <translation>Zeitachse</translation>
    </message>
    <message>
        <source>stream</source>
        <translation>Stream</translation>
    </message>
    <message>
        <source>step</source>
        <translation>Schritt</translation>
    </message>
    <message>
        <source>iteration</source>
        <translation>Iteration</translation>
    </message>
    <message>
        <source>start, ms</source>
        <translation>Beginn, ms</translation>
    </message>
    <message>
        <source>duration, ms</source>
        <translation>Dauer, ms</translation>
    </message>
    <message>
        <source>in the queue, ms</source>
        <translation>in der Warteschlange, ms</translation>
    </message>
    <message>
        <source>bytes</source>
        <translation>Bytes</translation>
    </message>
    <message>
        <source>critical path</source>
        <translation>kritischer Pfad</translation>
    </message>
    <message>
        <source>modelled</source>
        <translation>modelliert</translation>
    </message>
    <message>
        <source>Memory of %1</source>
        <translation>Speicher von %1</translation>
    </message>
    <message>
        <source>time, ms</source>
        <translation>Zeit, ms</translation>
    </message>
    <message>
        <source>all, bytes</source>
        <translation>gesamt, Bytes</translation>
    </message>
    <message>
        <source>%1, bytes</source>
        <translation>%1, Bytes</translation>
    </message>
    <message>
        <source>Training</source>
        <translation>Training</translation>
    </message>
    <message>
        <source>run</source>
        <translation>Lauf</translation>
    </message>
    <message>
        <source>loss</source>
        <translation>Loss</translation>
    </message>
    <message>
        <source>epoch</source>
        <translation>Epoche</translation>
    </message>
    <message>
        <source>validation loss</source>
        <translation>Validierungs-Loss</translation>
    </message>
    <message>
        <source>accuracy</source>
        <translation>Genauigkeit</translation>
    </message>
    <message>
        <source>learning rate</source>
        <translation>Lernrate</translation>
    </message>
</context>
<context>
    <name>PrecisionActions</name>
    <message>
        <source>exact</source>
        <translation>exakt</translation>
    </message>
    <message>
        <source>%1 dB</source>
        <translation>%1 dB</translation>
    </message>
    <message>
        <source>Quantize to int8</source>
        <translation>Nach int8 quantisieren</translation>
    </message>
    <message>
        <source>Convert to bf16</source>
        <translation>Nach bf16 konvertieren</translation>
    </message>
    <message>
        <source>Accuracy lost in %3. Convolutions converted: %1. Products converted: %2.</source>
        <translation>Genauigkeitsverlust in %3. Konvertierte Faltungen: %1. Konvertierte Produkte: %2.</translation>
    </message>
    <message>
        <source>output</source>
        <translation>Ausgabe</translation>
    </message>
    <message>
        <source>largest error</source>
        <translation>größter Fehler</translation>
    </message>
    <message>
        <source>relative error</source>
        <translation>relativer Fehler</translation>
    </message>
    <message>
        <source>SQNR</source>
        <translation>SQNR</translation>
    </message>
    <message>
        <source>agreement</source>
        <translation>Übereinstimmung</translation>
    </message>
    <message>
        <source>Samples: %1. Time of an iteration: %2 before, %3 after (%4). Weights: %5 before, %6 after. Agreement: rows with the largest element at the same place.</source>
        <translation>Samples: %1. Zeit einer Iteration: vorher %2, nachher %3 (%4). Gewichte: vorher %5, nachher %6. Übereinstimmung: Zeilen mit dem größten Element an derselben Stelle.</translation>
    </message>
    <message>
        <source>modelled</source>
        <translation>modelliert</translation>
    </message>
    <message>
        <source>measured</source>
        <translation>gemessen</translation>
    </message>
    <message>
        <source>Apply</source>
        <translation>Anwenden</translation>
    </message>
    <message>
        <source>Convert to &amp;bf16…</source>
        <translation>Nach &amp;bf16 konvertieren&#xa0;…</translation>
    </message>
    <message>
        <source>Computes products and convolutions in bf16, and shows the accuracy lost.</source>
        <translation>Berechnet Produkte und Faltungen in bf16 und zeigt den Genauigkeitsverlust.</translation>
    </message>
    <message>
        <source>&amp;Quantize to int8…</source>
        <translation>Nach int8 &amp;quantisieren&#xa0;…</translation>
    </message>
    <message>
        <source>Computes products and convolutions in int8, and shows the accuracy lost.</source>
        <translation>Berechnet Produkte und Faltungen in int8 und zeigt den Genauigkeitsverlust.</translation>
    </message>
    <message>
        <source>Fix the errors of the graph before changing its precision.</source>
        <translation>Vor einer Änderung der Genauigkeit die Fehler des Graphen beheben.</translation>
    </message>
    <message>
        <source>Save the project first: the new weights are written beside it.</source>
        <translation>Das Projekt zuerst speichern: Die neuen Gewichte werden daneben abgelegt.</translation>
    </message>
    <message>
        <source>Folder of sample inputs</source>
        <translation>Ordner mit Beispieleingaben</translation>
    </message>
    <message>
        <source>Cannot change the precision</source>
        <translation>Genauigkeit nicht änderbar</translation>
    </message>
    <message>
        <source>Comparing with %1…</source>
        <translation>Vergleich mit %1 läuft&#xa0;…</translation>
    </message>
    <message>
        <source>No Conv, MatMul or Gemm in f32 with fixed weights.</source>
        <translation>Kein Conv, MatMul oder Gemm in f32 mit festen Gewichten.</translation>
    </message>
    <message>
        <source>%1: %2 in %3, relative error %4</source>
        <translation>%1: %2 in %3, relativer Fehler %4</translation>
    </message>
    <message>
        <source>Wrote the new weights to %1</source>
        <translation>Neue Gewichte nach %1 geschrieben</translation>
    </message>
    <message>
        <source>%1: %2, %3 on %4 samples</source>
        <translation>%1: %2, %3 bei %4 Samples</translation>
    </message>
    <message>
        <source>No Conv, MatMul or Gemm in f32 with fixed weights between the first and the last one.</source>
        <translation>Zwischen dem ersten und dem letzten gibt es kein Conv, MatMul oder Gemm in f32 mit festen Gewichten.</translation>
    </message>
</context>
<context>
    <name>Price</name>
    <message>
        <source>predicted</source>
        <translation>vorhergesagt</translation>
    </message>
    <message>
        <source>modelled</source>
        <translation>modelliert</translation>
    </message>
    <message>
        <source>no transfer in the iteration</source>
        <translation>kein Transfer in der Iteration</translation>
    </message>
    <message>
        <source>measured</source>
        <translation>gemessen</translation>
    </message>
    <message>
        <source>measured on %1</source>
        <translation>gemessen auf %1</translation>
    </message>
</context>
<context>
    <name>QObject</name>
    <message>
        <source>scalar</source>
        <translation>Skalar</translation>
    </message>
    <message>
        <source>no hardware</source>
        <translation>keine Hardware</translation>
    </message>
    <message>
        <source>Simulated %1</source>
        <translation>%1 simuliert</translation>
    </message>
    <message>
        <source>Real GPU (%1)</source>
        <translation>Echte GPU (%1)</translation>
    </message>
</context>
<context>
    <name>SettingsDialog</name>
    <message>
        <source>Simplify the graph</source>
        <translation>Graph vereinfachen</translation>
    </message>
    <message>
        <source>Reopen the files of the last session</source>
        <translation>Dateien der letzten Sitzung öffnen</translation>
    </message>
    <message>
        <source>Same as system</source>
        <translation>Wie das System</translation>
    </message>
    <message>
        <source>Dark</source>
        <translation>Dunkel</translation>
    </message>
    <message>
        <source>Light</source>
        <translation>Hell</translation>
    </message>
    <message>
        <source>Strict</source>
        <translation>Strict</translation>
    </message>
    <message>
        <source>Implicit</source>
        <translation>Implicit</translation>
    </message>
    <message>
        <source>All</source>
        <translation>Alle</translation>
    </message>
    <message>
        <source>Sets the number of CPU threads for runs, after a restart.</source>
        <translation>Legt die Zahl der CPU-Threads für Läufe fest, nach einem Neustart.</translation>
    </message>
    <message>
        <source> s</source>
        <translation> s</translation>
    </message>
    <message>
        <source>Same as desktop</source>
        <translation>Wie die Arbeitsumgebung</translation>
    </message>
    <message>
        <source>Sets the command that opens a line of an imported program, such as: code -g %f:%l</source>
        <translation>Legt den Befehl fest, der eine Zeile eines importierten Programms öffnet, etwa: code -g %f:%l</translation>
    </message>
    <message>
        <source>Computes constants and replaces composed ops, such as a layer norm, with one op. Undo restores the imported graph.</source>
        <translation>Berechnet Konstanten und ersetzt zusammengesetzte Ops, etwa eine Layer-Norm, durch eine Op. Rückgängig stellt den importierten Graphen wieder her.</translation>
    </message>
    <message>
        <source>&amp;Theme</source>
        <translation>&amp;Design</translation>
    </message>
    <message>
        <source>&amp;Language (after restart)</source>
        <translation>&amp;Sprache (nach Neustart)</translation>
    </message>
    <message>
        <source>&amp;Policy of new graphs</source>
        <translation>&amp;Policy neuer Graphen</translation>
    </message>
    <message>
        <source>Simulate a missing &amp;GPU as</source>
        <translation>Fehlende &amp;GPU simulieren als</translation>
    </message>
    <message>
        <source>CPU t&amp;hreads (after restart)</source>
        <translation>CPU-&amp;Threads (nach Neustart)</translation>
    </message>
    <message>
        <source>&amp;Autosave after</source>
        <translation>&amp;Autosicherung nach</translation>
    </message>
    <message>
        <source>&amp;Editor for source lines</source>
        <translation>&amp;Editor für Quellzeilen</translation>
    </message>
    <message>
        <source>On import</source>
        <translation>Beim Import</translation>
    </message>
    <message>
        <source>On startup</source>
        <translation>Beim Start</translation>
    </message>
    <message>
        <source>Settings</source>
        <translation>Einstellungen</translation>
    </message>
    <message>
        <source>General</source>
        <translation>Allgemein</translation>
    </message>
    <message>
        <source>Shortcuts</source>
        <translation>Tastenkürzel</translation>
    </message>
    <message>
        <source>High contrast</source>
        <translation>Hoher Kontrast</translation>
    </message>
    <message>
        <source>Plug-ins</source>
        <translation>Plug-ins</translation>
    </message>
</context>
<context>
    <name>SourceEditor</name>
    <message>
        <source>%1 does not exist on this machine. Import the program from its own folder.</source>
        <translation>%1 gibt es auf diesem Rechner nicht. Das Programm aus seinem eigenen Ordner importieren.</translation>
    </message>
    <message>
        <source>The desktop has no program for %1. Choose an editor in the settings.</source>
        <translation>Die Arbeitsumgebung hat kein Programm für %1. In den Einstellungen einen Editor wählen.</translation>
    </message>
    <message>
        <source>Cannot start %1. Choose another editor in the settings.</source>
        <translation>%1 kann nicht gestartet werden. In den Einstellungen einen anderen Editor wählen.</translation>
    </message>
    <message>
        <source>Cannot open the source line</source>
        <translation>Quellzeile nicht geöffnet</translation>
    </message>
</context>
<context>
    <name>SystemReport</name>
    <message>
        <source>About Tensor Workbench</source>
        <translation>Über Tensor Workbench</translation>
    </message>
    <message>
        <source>Which device holds each tensor, and what each transfer costs.
Free software under the GNU General Public License, version 3 or later.</source>
        <translation>Welches Gerät hält welchen Tensor, und was kostet jeder Transfer?
Freie Software unter der GNU General Public License, Version 3 oder neuer.</translation>
    </message>
    <message>
        <source>System report</source>
        <translation>Systembericht</translation>
    </message>
    <message>
        <source>Copy system report</source>
        <translation>Systembericht kopieren</translation>
    </message>
    <message>
        <source>Tensor Workbench %1</source>
        <translation>Tensor Workbench %1</translation>
    </message>
</context>
<context>
    <name>TensorWords</name>
    <message>
        <source>true</source>
        <translation>true</translation>
    </message>
    <message>
        <source>false</source>
        <translation>false</translation>
    </message>
</context>
<context>
    <name>TrainingActions</name>
    <message>
        <source>&amp;Add training…</source>
        <translation>Training hin&amp;zufügen&#xa0;…</translation>
    </message>
    <message>
        <source>Mixed precision with &amp;bf16</source>
        <translation>Gemischte Genauigkeit mit &amp;bf16</translation>
    </message>
    <message>
        <source>Mixed precision with &amp;f16</source>
        <translation>Gemischte Genauigkeit mit &amp;f16</translation>
    </message>
    <message>
        <source>Go to &amp;gradient or forward node</source>
        <translation>Zum &amp;Gradienten- oder Vorwärtsknoten</translation>
    </message>
    <message>
        <source>&amp;Remove training</source>
        <translation>Training &amp;entfernen</translation>
    </message>
    <message>
        <source>The graph already has a training module. Remove it first.</source>
        <translation>Der Graph hat bereits ein Trainingsmodul. Dieses zuerst entfernen.</translation>
    </message>
    <message>
        <source>Cannot add training</source>
        <translation>Training nicht hinzugefügt</translation>
    </message>
    <message>
        <source>The graph has no training module. Choose Add training first.</source>
        <translation>Der Graph hat kein Trainingsmodul. Zuerst „Training hinzufügen“ wählen.</translation>
    </message>
    <message>
        <source>Cannot use mixed precision</source>
        <translation>Gemischte Genauigkeit nicht möglich</translation>
    </message>
    <message>
        <source>The graph already computes in mixed precision.</source>
        <translation>Der Graph rechnet bereits in gemischter Genauigkeit.</translation>
    </message>
    <message>
        <source>The graph has no training module.</source>
        <translation>Der Graph hat kein Trainingsmodul.</translation>
    </message>
    <message>
        <source>Select a node of the backward pass, or a forward node that has a gradient.</source>
        <translation>Einen Knoten des Backward-Pass auswählen oder einen Vorwärtsknoten, der einen Gradienten hat.</translation>
    </message>
    <message>
        <source>Adding training…</source>
        <translation>Training wird hinzugefügt&#xa0;…</translation>
    </message>
    <message>
        <source>Changing precision…</source>
        <translation>Genauigkeit wird geändert&#xa0;…</translation>
    </message>
</context>
<context>
    <name>Units</name>
    <message>
        <source>%1 ms</source>
        <translation>%1 ms</translation>
    </message>
    <message>
        <source>%1 s</source>
        <translation>%1 s</translation>
    </message>
    <message>
        <source>%1 min %2 s</source>
        <translation>%1 min %2 s</translation>
    </message>
    <message>
        <source>%1 %</source>
        <translation>%1 %</translation>
    </message>
</context>
<context>
    <name>ViewActions</name>
    <message>
        <source>Zoom &amp;in</source>
        <translation>Vergr&amp;ößern</translation>
    </message>
    <message>
        <source>Zoom &amp;out</source>
        <translation>&amp;Verkleinern</translation>
    </message>
    <message>
        <source>Zoom to &amp;fit</source>
        <translation>&amp;Einpassen</translation>
    </message>
    <message>
        <source>Zoom to 100 %</source>
        <translation>Zoom auf 100 %</translation>
    </message>
    <message>
        <source>Zoom to &amp;selection</source>
        <translation>Zoom auf Aus&amp;wahl</translation>
    </message>
    <message>
        <source>&amp;Palette</source>
        <translation>&amp;Palette</translation>
    </message>
    <message>
        <source>&amp;Inspector</source>
        <translation>&amp;Inspektor</translation>
    </message>
    <message>
        <source>&amp;Bottom panel</source>
        <translation>&amp;Unterer Bereich</translation>
    </message>
    <message>
        <source>&amp;Minimap</source>
        <translation>&amp;Übersichtskarte</translation>
    </message>
    <message>
        <source>Le&amp;gend</source>
        <translation>&amp;Legende</translation>
    </message>
    <message>
        <source>&amp;Heat</source>
        <translation>Heat&amp;map</translation>
    </message>
    <message>
        <source>&amp;None</source>
        <translation>Ke&amp;ine</translation>
    </message>
    <message>
        <source>By &amp;time</source>
        <translation>Nach &amp;Zeit</translation>
    </message>
    <message>
        <source>By &amp;bytes</source>
        <translation>Nach &amp;Bytes</translation>
    </message>
    <message>
        <source>&amp;Transfers</source>
        <translation>&amp;Transfers</translation>
    </message>
    <message>
        <source>Time&amp;line</source>
        <translation>&amp;Zeitachse</translation>
    </message>
    <message>
        <source>M&amp;emory</source>
        <translation>&amp;Speicher</translation>
    </message>
    <message>
        <source>P&amp;roblems</source>
        <translation>Pro&amp;bleme</translation>
    </message>
    <message>
        <source>Lo&amp;g</source>
        <translation>Lo&amp;g</translation>
    </message>
    <message>
        <source>&amp;Node table</source>
        <translation>&amp;Knotentabelle</translation>
    </message>
    <message>
        <source>Undo &amp;history</source>
        <translation>Verlau&amp;f</translation>
    </message>
    <message>
        <source>&amp;Breakpoints</source>
        <translation>&amp;Haltepunkte</translation>
    </message>
    <message>
        <source>Tra&amp;ining</source>
        <translation>Tr&amp;aining</translation>
    </message>
    <message>
        <source>&amp;Dark</source>
        <translation>&amp;Dunkel</translation>
    </message>
    <message>
        <source>&amp;Light</source>
        <translation>&amp;Hell</translation>
    </message>
    <message>
        <source>&amp;Same as system</source>
        <translation>&amp;Wie das System</translation>
    </message>
    <message>
        <source>&amp;High contrast</source>
        <translation>Hoher &amp;Kontrast</translation>
    </message>
    <message>
        <source>Reset layout</source>
        <translation>Anordnung zurücksetzen</translation>
    </message>
</context>
<context>
    <name>twb::AddActions</name>
    <message>
        <source>Add an o&amp;p…</source>
        <translation>&amp;Op hinzufügen&#xa0;…</translation>
    </message>
    <message>
        <source>Searches for an op and puts it under the pointer. On the canvas, Shift+A and a double click do the same.</source>
        <translation>Sucht eine Op und setzt sie unter den Mauszeiger. Auf der Zeichenfläche tun Umschalt+A und ein Doppelklick dasselbe.</translation>
    </message>
    <message>
        <source>Add &amp;note…</source>
        <translation>&amp;Notiz hinzufügen&#xa0;…</translation>
    </message>
    <message>
        <source>No lane for %1. Add one with Graph ▸ Add lane.</source>
        <translation>Keine Spur für %1. Eine mit Graph ▸ Spur hinzufügen anlegen.</translation>
    </message>
    <message>
        <source>Cannot add the op</source>
        <translation>Op nicht hinzugefügt</translation>
    </message>
    <message>
        <source>Ops that accept %1 from %2</source>
        <translation>Ops, die %1 von %2 annehmen</translation>
    </message>
    <message>
        <source>Ops that accept a tensor from %1</source>
        <translation>Ops, die einen Tensor von %1 annehmen</translation>
    </message>
    <message>
        <source>Ops with an output for %1 of %2</source>
        <translation>Ops mit einem Ausgang für %1 von %2</translation>
    </message>
    <message>
        <source>A module cannot contain notes. Leave the module to add one.</source>
        <translation>Ein Modul kann keine Notizen enthalten. Zum Hinzufügen das Modul verlassen.</translation>
    </message>
    <message>
        <source>Add note</source>
        <translation>Notiz hinzufügen</translation>
    </message>
    <message>
        <source>Text of the note</source>
        <translation>Text der Notiz</translation>
    </message>
    <message>
        <source>Edit note</source>
        <translation>Notiz bearbeiten</translation>
    </message>
</context>
<context>
    <name>twb::AttributeEditor</name>
    <message>
        <source>Reset %1 to its default</source>
        <translation>%1 auf den Standardwert zurücksetzen</translation>
    </message>
    <message>
        <source>not set</source>
        <translation>nicht gesetzt</translation>
    </message>
    <message>
        <source>Choose a file…</source>
        <translation>Datei wählen&#xa0;…</translation>
    </message>
    <message>
        <source>true</source>
        <translation>true</translation>
    </message>
    <message>
        <source>false</source>
        <translation>false</translation>
    </message>
    <message>
        <source>required</source>
        <translation>erforderlich</translation>
    </message>
    <message>
        <source>several</source>
        <translation>mehrere</translation>
    </message>
</context>
<context>
    <name>twb::BottomPanel</name>
    <message>
        <source>Panels</source>
        <translation>Bereiche</translation>
    </message>
</context>
<context>
    <name>twb::Breadcrumb</name>
    <message>
        <source>Press Esc to leave the module</source>
        <translation>Esc verlässt das Modul</translation>
    </message>
    <message>
        <source>Path to the open module</source>
        <translation>Pfad zum offenen Modul</translation>
    </message>
    <message>
        <source>Collapse one level</source>
        <translation>Eine Ebene einklappen</translation>
    </message>
    <message>
        <source>Collapses the innermost expanded modules (Ctrl+[).</source>
        <translation>Klappt die innersten offenen Module ein (Strg+[).</translation>
    </message>
    <message>
        <source>Expand one level</source>
        <translation>Eine Ebene ausklappen</translation>
    </message>
    <message>
        <source>Expands the outermost collapsed modules (Ctrl+]).</source>
        <translation>Klappt die äußersten geschlossenen Module aus (Strg+]).</translation>
    </message>
    <message>
        <source>Back to %1</source>
        <translation>Zurück zu %1</translation>
    </message>
    <message>
        <source>Levels expanded: %1 of %2</source>
        <translation>Ausgeklappte Ebenen: %1 von %2</translation>
    </message>
</context>
<context>
    <name>twb::BreakpointActions</name>
    <message>
        <source>Pause &amp;after the node</source>
        <translation>&amp;Nach dem Knoten pausieren</translation>
    </message>
    <message>
        <source>Pause &amp;before the node</source>
        <translation>&amp;Vor dem Knoten pausieren</translation>
    </message>
    <message>
        <source>Pause on &amp;NaN or inf</source>
        <translation>Bei NaN oder &amp;inf pausieren</translation>
    </message>
    <message>
        <source>Pause on a &amp;condition…</source>
        <translation>Unter einer &amp;Bedingung pausieren&#xa0;…</translation>
    </message>
    <message>
        <source>&amp;Disable breakpoints</source>
        <translation>Haltepunkte &amp;deaktivieren</translation>
    </message>
    <message>
        <source>&amp;Remove all breakpoints</source>
        <translation>Alle Haltepunkte &amp;entfernen</translation>
    </message>
    <message>
        <source>each of %1 nodes</source>
        <translation>jedem von %1 Knoten</translation>
    </message>
    <message>
        <source>&amp;Enable breakpoints</source>
        <translation>Haltepunkte &amp;aktivieren</translation>
    </message>
</context>
<context>
    <name>twb::BreakpointDialog</name>
    <message>
        <source>Pause on a condition</source>
        <translation>Unter einer Bedingung pausieren</translation>
    </message>
    <message>
        <source>after the node, on its output</source>
        <translation>nach dem Knoten, an seiner Ausgabe</translation>
    </message>
    <message>
        <source>before the node, on any of its inputs</source>
        <translation>vor dem Knoten, an einem seiner Eingänge</translation>
    </message>
    <message>
        <source>Where the run pauses</source>
        <translation>Wo der Lauf pausiert</translation>
    </message>
    <message>
        <source>minimum</source>
        <translation>Minimum</translation>
    </message>
    <message>
        <source>maximum</source>
        <translation>Maximum</translation>
    </message>
    <message>
        <source>mean</source>
        <translation>Mittelwert</translation>
    </message>
    <message>
        <source>standard deviation</source>
        <translation>Standardabweichung</translation>
    </message>
    <message>
        <source>largest magnitude</source>
        <translation>größter Betrag</translation>
    </message>
    <message>
        <source>number of NaNs</source>
        <translation>Anzahl der NaN</translation>
    </message>
    <message>
        <source>number of infs</source>
        <translation>Anzahl der inf</translation>
    </message>
    <message>
        <source>Statistic of the tensor</source>
        <translation>Statistik des Tensors</translation>
    </message>
    <message>
        <source>Comparison</source>
        <translation>Vergleich</translation>
    </message>
    <message>
        <source>Number to compare with</source>
        <translation>Vergleichszahl</translation>
    </message>
    <message>
        <source>The run pauses at %1 in each iteration that meets this condition:</source>
        <translation>Der Lauf pausiert bei %1 in jeder Iteration, die diese Bedingung erfüllt:</translation>
    </message>
    <message>
        <source>Minimum, maximum, mean, standard deviation and magnitude count only the finite elements.</source>
        <translation>Minimum, Maximum, Mittelwert, Standardabweichung und Betrag zählen nur die endlichen Elemente.</translation>
    </message>
</context>
<context>
    <name>twb::BreakpointModel</name>
    <message>
        <source>node</source>
        <translation>Knoten</translation>
    </message>
    <message>
        <source>stops</source>
        <translation>hält an</translation>
    </message>
    <message>
        <source>device</source>
        <translation>Gerät</translation>
    </message>
    <message>
        <source>state</source>
        <translation>Zustand</translation>
    </message>
    <message>
        <source>paused here: %1</source>
        <translation>hier pausiert: %1</translation>
    </message>
    <message>
        <source>off</source>
        <translation>aus</translation>
    </message>
    <message>
        <source>never: the node is disabled</source>
        <translation>nie: Der Knoten ist deaktiviert</translation>
    </message>
    <message>
        <source>never: the run has no separate step for this node</source>
        <translation>nie: Der Lauf hat keinen eigenen Schritt für diesen Knoten</translation>
    </message>
</context>
<context>
    <name>twb::BreakpointsPanel</name>
    <message>
        <source>Breakpoints</source>
        <translation>Haltepunkte</translation>
    </message>
    <message>
        <source>No breakpoints. Select a node and press B to pause the run after it.
Run ▸ Breakpoint has more: before the node, on NaN or inf, on a condition.</source>
        <translation>Keine Haltepunkte. Einen Knoten auswählen und B drücken, um den Lauf nach ihm zu pausieren.
Mehr unter Lauf ▸ Haltepunkt: vor dem Knoten, bei NaN oder inf, unter einer Bedingung.</translation>
    </message>
</context>
<context>
    <name>twb::CanvasWidget</name>
    <message>
        <source>A wire can have %1 dots. Remove some first.</source>
        <translation>Eine Verbindung kann %1 Punkte haben. Zuerst einige entfernen.</translation>
    </message>
    <message>
        <source>Graph canvas</source>
        <translation>Zeichenfläche des Graphen</translation>
    </message>
    <message>
        <source>Module %1</source>
        <translation>Modul %1</translation>
    </message>
    <message>
        <source>1 node on a lane</source>
        <translation>1 Knoten auf einer Spur</translation>
    </message>
    <message>
        <source>%1 nodes on lanes</source>
        <translation>%1 Knoten auf Spuren</translation>
    </message>
    <message>
        <source>Drag an op from the palette to a lane, or press Shift+A to search for one</source>
        <translation>Eine Op aus der Palette auf eine Spur ziehen oder mit Umschalt+A suchen</translation>
    </message>
</context>
<context>
    <name>twb::ConfusionTable</name>
    <message>
        <source>The model predicts %1 for %2 of %3 rows with label %4 (%5 %).</source>
        <translation>Das Modell sagt für %2 von %3 Zeilen mit Label %4 den Wert %1 vorher (%5 %).</translation>
    </message>
</context>
<context>
    <name>twb::DevicePill</name>
    <message>
        <source>Device %1</source>
        <translation>Gerät %1</translation>
    </message>
</context>
<context>
    <name>twb::Document</name>
    <message>
        <source>Untitled</source>
        <translation>Unbenannt</translation>
    </message>
    <message>
        <source>the project</source>
        <translation>das Projekt</translation>
    </message>
    <message>
        <source>the new file</source>
        <translation>die neue Datei</translation>
    </message>
</context>
<context>
    <name>twb::EdgeTableModel</name>
    <message>
        <source>from</source>
        <translation>von</translation>
    </message>
    <message>
        <source>to</source>
        <translation>nach</translation>
    </message>
    <message>
        <source>input</source>
        <translation>Eingang</translation>
    </message>
    <message>
        <source>tensor</source>
        <translation>Tensor</translation>
    </message>
    <message>
        <source>transfer</source>
        <translation>Transfer</translation>
    </message>
    <message>
        <source>time</source>
        <translation>Zeit</translation>
    </message>
    <message>
        <source>timing</source>
        <translation>Zeitquelle</translation>
    </message>
    <message>
        <source>predicted</source>
        <translation>vorhergesagt</translation>
    </message>
    <message>
        <source>modelled</source>
        <translation>modelliert</translation>
    </message>
</context>
<context>
    <name>twb::FileActions</name>
    <message>
        <source>Tensor Workbench projects (*.twb);;All files (*)</source>
        <translation>Tensor-Workbench-Projekte (*.twb);;Alle Dateien (*)</translation>
    </message>
    <message>
        <source>&amp;New</source>
        <translation>&amp;Neu</translation>
    </message>
    <message>
        <source>&amp;Open…</source>
        <translation>Ö&amp;ffnen&#xa0;…</translation>
    </message>
    <message>
        <source>Open &amp;recent</source>
        <translation>Zuletzt &amp;geöffnet</translation>
    </message>
    <message>
        <source>&amp;Examples</source>
        <translation>&amp;Beispiele</translation>
    </message>
    <message>
        <source>&amp;Save</source>
        <translation>&amp;Speichern</translation>
    </message>
    <message>
        <source>Save &amp;as…</source>
        <translation>Speichern &amp;unter&#xa0;…</translation>
    </message>
    <message>
        <source>No recent files</source>
        <translation>Keine zuletzt geöffneten Dateien</translation>
    </message>
    <message>
        <source>Opened %1</source>
        <translation>%1 geöffnet</translation>
    </message>
    <message>
        <source>Open</source>
        <translation>Öffnen</translation>
    </message>
    <message>
        <source>Projects and models (*.twb *.onnx *.pt2 *.twbcap);;All files (*)</source>
        <translation>Projekte und Modelle (*.twb *.onnx *.pt2 *.twbcap);;Alle Dateien (*)</translation>
    </message>
    <message>
        <source>Cannot open the file</source>
        <translation>Datei nicht geöffnet</translation>
    </message>
    <message>
        <source>Cannot open the example</source>
        <translation>Beispiel nicht geöffnet</translation>
    </message>
    <message>
        <source>Run in progress</source>
        <translation>Lauf aktiv</translation>
    </message>
    <message>
        <source>Stop run %1?</source>
        <translation>Lauf %1 anhalten?</translation>
    </message>
    <message>
        <source>The graph is still running. Its results will be lost.</source>
        <translation>Der Graph läuft noch. Seine Ergebnisse gehen verloren.</translation>
    </message>
    <message>
        <source>Stop watching the program?</source>
        <translation>Beobachtung des Programms beenden?</translation>
    </message>
    <message>
        <source>The watched program keeps running. Its figures in this window will be lost.</source>
        <translation>Das beobachtete Programm läuft weiter. Seine Werte in diesem Fenster gehen verloren.</translation>
    </message>
    <message>
        <source>Stop watching</source>
        <translation>Beobachtung beenden</translation>
    </message>
    <message>
        <source>Stop run</source>
        <translation>Lauf anhalten</translation>
    </message>
    <message>
        <source>Stopping run %1…</source>
        <translation>Lauf %1 wird angehalten&#xa0;…</translation>
    </message>
    <message>
        <source>Unsaved changes</source>
        <translation>Ungespeicherte Änderungen</translation>
    </message>
    <message>
        <source>Save the changes to %1?</source>
        <translation>Die Änderungen an %1 speichern?</translation>
    </message>
    <message>
        <source>If you do not save, the changes are lost.</source>
        <translation>Ohne Speichern gehen die Änderungen verloren.</translation>
    </message>
    <message>
        <source>untitled.twb</source>
        <translation>unbenannt.twb</translation>
    </message>
    <message>
        <source>Save as</source>
        <translation>Speichern unter</translation>
    </message>
    <message>
        <source>Cannot save the file</source>
        <translation>Datei nicht gespeichert</translation>
    </message>
    <message>
        <source>Copy the tensor files?</source>
        <translation>Tensordateien kopieren?</translation>
    </message>
    <message>
        <source>The graph reads 1 tensor file that is not in the new folder.</source>
        <translation>Der Graph liest 1 Tensordatei, die nicht im neuen Ordner liegt.</translation>
    </message>
    <message>
        <source>The graph reads %1 tensor files that are not in the new folder.</source>
        <translation>Der Graph liest %1 Tensordateien, die nicht im neuen Ordner liegen.</translation>
    </message>
    <message>
        <source>The saved graph needs them to run.</source>
        <translation>Der gespeicherte Graph braucht sie zum Ausführen.</translation>
    </message>
    <message>
        <source>Copy</source>
        <translation>Kopieren</translation>
    </message>
    <message>
        <source>Do not copy</source>
        <translation>Nicht kopieren</translation>
    </message>
    <message>
        <source>Rename tensor files</source>
        <translation>Tensordateien umbenennen</translation>
    </message>
    <message>
        <source>Copying tensors…</source>
        <translation>Tensoren werden kopiert&#xa0;…</translation>
    </message>
    <message>
        <source>Cannot copy a tensor file</source>
        <translation>Tensordatei nicht kopiert</translation>
    </message>
    <message>
        <source>Cannot write %1. Choose a writable folder with enough space.</source>
        <translation>%1 kann nicht geschrieben werden. Einen beschreibbaren Ordner mit genug Platz wählen.</translation>
    </message>
    <message>
        <source>Next lesson</source>
        <translation>Nächste Lektion</translation>
    </message>
    <message>
        <source>Close</source>
        <translation>Schließen</translation>
    </message>
    <message>
        <source>Use the project&apos;s plug-ins?</source>
        <translation>Plug-ins des Projekts verwenden?</translation>
    </message>
    <message>
        <source>Use</source>
        <translation>Verwenden</translation>
    </message>
    <message>
        <source>Do not use</source>
        <translation>Nicht verwenden</translation>
    </message>
    <message>
        <source>Cannot remember the answer</source>
        <translation>Antwort kann nicht gespeichert werden</translation>
    </message>
    <message>
        <source>Stop run %1 on %2?</source>
        <translation>Lauf %1 auf %2 anhalten?</translation>
    </message>
    <message>
        <source>Not now</source>
        <translation>Jetzt nicht</translation>
    </message>
    <message>
        <source>The folder of %1 contains a plug-in that adds ops.</source>
        <translation>Der Ordner von %1 enthält ein Plug-in, das Ops hinzufügt.</translation>
    </message>
    <message>
        <source>The folder of %1 contains plug-ins that add ops.</source>
        <translation>Der Ordner von %1 enthält Plug-ins, die Ops hinzufügen.</translation>
    </message>
    <message>
        <source>A plug-in is a program. It runs with your permissions and can read and change your files. Use it only if you trust its author. “Use” and “Do not use” are remembered for this folder.

%1: %2</source>
        <translation>Ein Plug-in ist ein Programm. Es läuft mit den Rechten des Benutzers und kann dessen Dateien lesen und ändern. Nur verwenden, wenn der Autor vertrauenswürdig ist. „Verwenden“ und „Nicht verwenden“ gelten auch künftig für diesen Ordner.

%1: %2</translation>
    </message>
    <message>
        <source>Keep running</source>
        <translation>Weiterlaufen lassen</translation>
    </message>
    <message>
        <source>Keep running: the run continues on %1. To see its results later, run the unchanged project there with the same number of iterations. Stop run: its results are lost.</source>
        <translation>Weiterlaufen lassen: Der Lauf geht auf %1 weiter. Um seine Ergebnisse später zu sehen, das unveränderte Projekt dort mit derselben Zahl von Iterationen ausführen. Lauf anhalten: Seine Ergebnisse gehen verloren.</translation>
    </message>
    <message>
        <source>Training in progress</source>
        <translation>Training aktiv</translation>
    </message>
    <message>
        <source>Trained weights</source>
        <translation>Trainierte Gewichte</translation>
    </message>
    <message>
        <source>Stop training run %1?</source>
        <translation>Training %1 anhalten?</translation>
    </message>
    <message>
        <source>Discard the weights of training run %1?</source>
        <translation>Die Gewichte von Training %1 verwerfen?</translation>
    </message>
    <message>
        <source>The training run has not ended. Its weights will be lost.</source>
        <translation>Das Training ist nicht beendet. Seine Gewichte gehen verloren.</translation>
    </message>
    <message>
        <source>They were not exported. To keep them, choose Cancel, then Export weights in the Training panel.</source>
        <translation>Sie wurden nicht exportiert. Um sie zu behalten, Abbrechen wählen, dann Gewichte exportieren im Bereich Training.</translation>
    </message>
    <message>
        <source>Stop training</source>
        <translation>Training anhalten</translation>
    </message>
    <message>
        <source>Discard weights</source>
        <translation>Gewichte verwerfen</translation>
    </message>
    <message>
        <source>Reading %1…</source>
        <translation>%1 wird gelesen&#xa0;…</translation>
    </message>
</context>
<context>
    <name>twb::FileChooser</name>
    <message>
        <source>Choose a tensor</source>
        <translation>Tensor wählen</translation>
    </message>
    <message>
        <source>Tensors (*.npy *.npz *.safetensors);;All files (*)</source>
        <translation>Tensoren (*.npy *.npz *.safetensors);;Alle Dateien (*)</translation>
    </message>
    <message>
        <source>Contents of the file</source>
        <translation>Inhalt der Datei</translation>
    </message>
    <message>
        <source>Tensors in the file</source>
        <translation>Tensoren in der Datei</translation>
    </message>
    <message>
        <source>Preview</source>
        <translation>Vorschau</translation>
    </message>
    <message>
        <source>Choose a file to see its contents.</source>
        <translation>Eine Datei wählen, um ihren Inhalt zu sehen.</translation>
    </message>
    <message>
        <source>column-major, transposed on load</source>
        <translation>spaltenweise, beim Laden transponiert</translation>
    </message>
    <message>
        <source>row-major</source>
        <translation>zeilenweise</translation>
    </message>
    <message>
        <source>big-endian, byte-swapped on load</source>
        <translation>Big-Endian, beim Laden umgekehrt</translation>
    </message>
    <message>
        <source>1 tensor</source>
        <translation>1 Tensor</translation>
    </message>
    <message>
        <source>%1 tensors; choose one</source>
        <translation>%1 Tensoren; einen wählen</translation>
    </message>
</context>
<context>
    <name>twb::FileSafety</name>
    <message>
        <source>The changes cannot be compared</source>
        <translation>Änderungen nicht vergleichbar</translation>
    </message>
    <message>
        <source>Compare</source>
        <translation>Vergleichen</translation>
    </message>
    <message>
        <source>Unsaved changes compared with the file: added (+), removed (−), changed (~)
%1</source>
        <translation>Ungespeicherte Änderungen gegenüber der Datei: hinzugefügt (+), entfernt (−), geändert (~)
%1</translation>
    </message>
    <message>
        <source>The graph was never saved. It contains:</source>
        <translation>Der Graph wurde nie gespeichert. Er enthält:</translation>
    </message>
    <message>
        <source>Unsaved changes</source>
        <translation>Ungespeicherte Änderungen</translation>
    </message>
    <message>
        <source>Restore the unsaved changes to %1?</source>
        <translation>Die ungespeicherten Änderungen an %1 wiederherstellen?</translation>
    </message>
    <message>
        <source>The program ended before these changes were saved. The last autosave was on %1 at %2.</source>
        <translation>Das Programm endete, bevor diese Änderungen gespeichert waren. Letzte Autosicherung: %1, %2.</translation>
    </message>
    <message>
        <source>&amp;Restore</source>
        <translation>&amp;Wiederherstellen</translation>
    </message>
    <message>
        <source>&amp;Discard</source>
        <translation>Ver&amp;werfen</translation>
    </message>
    <message>
        <source>&amp;Compare</source>
        <translation>Ver&amp;gleichen</translation>
    </message>
    <message>
        <source>&amp;Later</source>
        <translation>&amp;Später</translation>
    </message>
    <message>
        <source>The changes cannot be restored</source>
        <translation>Änderungen nicht wiederhergestellt</translation>
    </message>
    <message>
        <source>Restored the unsaved changes to %1</source>
        <translation>Die ungespeicherten Änderungen an %1 wurden wiederhergestellt</translation>
    </message>
    <message>
        <source>%1 was changed on disk and in this window. Reloading discards the changes in this window.</source>
        <translation>%1 wurde auf der Platte und in diesem Fenster geändert. Neu laden verwirft die Änderungen in diesem Fenster.</translation>
    </message>
    <message>
        <source>%1 was changed on disk.</source>
        <translation>%1 wurde auf der Platte geändert.</translation>
    </message>
    <message>
        <source>&amp;Reload</source>
        <translation>&amp;Neu laden</translation>
    </message>
    <message>
        <source>&amp;Keep the version in this window</source>
        <translation>Fassung im Fenster &amp;behalten</translation>
    </message>
    <message>
        <source>%1 is no longer on disk. Save writes this version again.</source>
        <translation>%1 ist nicht mehr auf der Platte. Speichern schreibt diese Fassung neu.</translation>
    </message>
    <message>
        <source>&amp;Save</source>
        <translation>&amp;Speichern</translation>
    </message>
    <message>
        <source>&amp;Not now</source>
        <translation>&amp;Jetzt nicht</translation>
    </message>
    <message>
        <source>The file cannot be read</source>
        <translation>Datei nicht lesbar</translation>
    </message>
    <message>
        <source>Reloaded %1</source>
        <translation>%1 neu geladen</translation>
    </message>
    <message>
        <source>The file compared with this window: added (+), removed (−), changed (~)</source>
        <translation>Die Datei gegenüber diesem Fenster: hinzugefügt (+), entfernt (−), geändert (~)</translation>
    </message>
    <message>
        <source>Tensor Workbench crashed on %1 at %2. A report is on this computer.</source>
        <translation>Tensor Workbench ist am %1 um %2 abgestürzt. Ein Bericht liegt auf diesem Rechner.</translation>
    </message>
    <message>
        <source>&amp;Show report</source>
        <translation>Bericht an&amp;zeigen</translation>
    </message>
    <message>
        <source>&amp;Delete report</source>
        <translation>Bericht &amp;löschen</translation>
    </message>
    <message>
        <source>File changed on disk</source>
        <translation>Datei auf der Platte geändert</translation>
    </message>
    <message>
        <source>Replace the changed %1?</source>
        <translation>Die geänderte Datei %1 ersetzen?</translation>
    </message>
    <message>
        <source>Another program has changed this file since it was opened. Save replaces that version. To see the differences, choose Cancel, then Compare above the graph.</source>
        <translation>Ein anderes Programm hat diese Datei seit dem Öffnen geändert. Speichern ersetzt diese Version. Um die Unterschiede zu sehen, Abbrechen wählen, dann Vergleichen über dem Graphen.</translation>
    </message>
    <message>
        <source>Replace</source>
        <translation>Ersetzen</translation>
    </message>
    <message>
        <source>Reading %1…</source>
        <translation>%1 wird gelesen&#xa0;…</translation>
    </message>
</context>
<context>
    <name>twb::HeatMap</name>
    <message>
        <source>Heat map</source>
        <translation>Heatmap</translation>
    </message>
    <message>
        <source>[%1, %2] = %3</source>
        <translation>[%1, %2] = %3</translation>
    </message>
</context>
<context>
    <name>twb::HeatScale</name>
    <message>
        <source>%1: colours from %2 to %3</source>
        <translation>%1: Farben von %2 bis %3</translation>
    </message>
</context>
<context>
    <name>twb::HistogramView</name>
    <message>
        <source>Histogram</source>
        <translation>Histogramm</translation>
    </message>
    <message>
        <source>largest bin: %1</source>
        <translation>größte Klasse: %1</translation>
    </message>
</context>
<context>
    <name>twb::Inspector</name>
    <message>
        <source>Tensor</source>
        <translation>Tensor</translation>
    </message>
    <message>
        <source>Gradient</source>
        <translation>Gradient</translation>
    </message>
    <message>
        <source>Inspector</source>
        <translation>Inspektor</translation>
    </message>
    <message>
        <source>Name of the node</source>
        <translation>Name des Knotens</translation>
    </message>
    <message>
        <source>lane</source>
        <translation>Spur</translation>
    </message>
    <message>
        <source>Lane of the selection</source>
        <translation>Spur der Auswahl</translation>
    </message>
    <message>
        <source>Unknown op. It is saved unchanged, but cannot run.</source>
        <translation>Unbekannte Op. Sie wird unverändert gespeichert, kann aber nicht laufen.</translation>
    </message>
    <message>
        <source>Edge to input %1 of %2</source>
        <translation>Kante zum Eingang %1 von %2</translation>
    </message>
    <message>
        <source>Edge</source>
        <translation>Kante</translation>
    </message>
    <message>
        <source>%1 nodes</source>
        <translation>%1 Knoten</translation>
    </message>
    <message>
        <source>All are %1. Changes apply to all of them.</source>
        <translation>Alle sind %1. Änderungen gelten für alle.</translation>
    </message>
    <message>
        <source>Move, copy or delete them together.</source>
        <translation>Gemeinsam verschieben, kopieren oder löschen.</translation>
    </message>
    <message>
        <source>Changes apply to all of them.</source>
        <translation>Änderungen gelten für alle.</translation>
    </message>
    <message>
        <source>Select a node to see its settings and output.</source>
        <translation>Einen Knoten auswählen, um seine Einstellungen und seine Ausgabe zu sehen.</translation>
    </message>
    <message>
        <source>several</source>
        <translation>mehrere</translation>
    </message>
    <message>
        <source>Output</source>
        <translation>Ausgabe</translation>
    </message>
    <message>
        <source>Transfer</source>
        <translation>Transfer</translation>
    </message>
    <message>
        <source>tensor</source>
        <translation>Tensor</translation>
    </message>
    <message>
        <source>unknown</source>
        <translation>unbekannt</translation>
    </message>
    <message>
        <source>transfer</source>
        <translation>Transfer</translation>
    </message>
    <message>
        <source>none: both ends are on one device</source>
        <translation>keiner: Beide Enden sind auf einem Gerät</translation>
    </message>
    <message>
        <source>bytes</source>
        <translation>Bytes</translation>
    </message>
    <message>
        <source>time, %1</source>
        <translation>Zeit, %1</translation>
    </message>
    <message>
        <source>time, modelled</source>
        <translation>Zeit, modelliert</translation>
    </message>
    <message>
        <source>rate, %1</source>
        <translation>Rate, %1</translation>
    </message>
    <message>
        <source>Graph</source>
        <translation>Graph</translation>
    </message>
    <message>
        <source>Selection</source>
        <translation>Auswahl</translation>
    </message>
    <message>
        <source>nodes</source>
        <translation>Knoten</translation>
    </message>
    <message>
        <source>edges</source>
        <translation>Kanten</translation>
    </message>
    <message>
        <source>policy</source>
        <translation>Policy</translation>
    </message>
    <message>
        <source>The tensor is shown after the run.</source>
        <translation>Der Tensor wird nach dem Lauf gezeigt.</translation>
    </message>
    <message>
        <source>This tensor is not available at this breakpoint: the run computes it later in the iteration, or has reused its memory.</source>
        <translation>Dieser Tensor ist an diesem Haltepunkt nicht verfügbar: Der Lauf berechnet ihn erst später in der Iteration oder hat seinen Speicher wiederverwendet.</translation>
    </message>
    <message>
        <source>Run the graph to see this tensor.</source>
        <translation>Den Graphen ausführen, um diesen Tensor zu sehen.</translation>
    </message>
    <message>
        <source>A profile has no tensors. Run the graph to see them.</source>
        <translation>Ein Profil enthält keine Tensoren. Den Graphen ausführen, um sie zu sehen.</translation>
    </message>
    <message>
        <source>The last run did not keep this tensor.</source>
        <translation>Der letzte Lauf hat diesen Tensor nicht behalten.</translation>
    </message>
    <message>
        <source>The gradient is shown after the run.</source>
        <translation>Der Gradient wird nach dem Lauf gezeigt.</translation>
    </message>
    <message>
        <source>The gradient is shown after a complete epoch.</source>
        <translation>Der Gradient wird nach einer vollen Epoche gezeigt.</translation>
    </message>
    <message>
        <source>Train or run the graph to see this gradient.</source>
        <translation>Den Graphen trainieren oder ausführen, um diesen Gradienten zu sehen.</translation>
    </message>
    <message>
        <source>%1 gradient</source>
        <translation>Gradient von %1</translation>
    </message>
    <message>
        <source>shape</source>
        <translation>Shape</translation>
    </message>
    <message>
        <source>dtype</source>
        <translation>dtype</translation>
    </message>
    <message>
        <source>device</source>
        <translation>Gerät</translation>
    </message>
    <message>
        <source>source</source>
        <translation>Quelle</translation>
    </message>
    <message>
        <source>state</source>
        <translation>Zustand</translation>
    </message>
    <message>
        <source>disabled</source>
        <translation>deaktiviert</translation>
    </message>
    <message>
        <source>values</source>
        <translation>Werte</translation>
    </message>
    <message>
        <source>trained, 1 step</source>
        <translation>trainiert, 1 Schritt</translation>
    </message>
    <message>
        <source>trained, %1 steps</source>
        <translation>trainiert, %1 Schritte</translation>
    </message>
    <message>
        <source>value</source>
        <translation>Wert</translation>
    </message>
    <message>
        <source>shown below</source>
        <translation>siehe unten</translation>
    </message>
    <message>
        <source>not run yet</source>
        <translation>noch nicht gelaufen</translation>
    </message>
    <message>
        <source>computed in this iteration</source>
        <translation>in dieser Iteration berechnet</translation>
    </message>
    <message>
        <source>time</source>
        <translation>Zeit</translation>
    </message>
    <message>
        <source>in one step with %1</source>
        <translation>in einem Schritt mit %1</translation>
    </message>
    <message>
        <source>modelled %1</source>
        <translation>modelliert %1</translation>
    </message>
    <message>
        <source>, once</source>
        <translation>, einmal</translation>
    </message>
    <message>
        <source>, step of %1 ops</source>
        <translation>, Schritt aus %1 Ops</translation>
    </message>
    <message>
        <source>modelled</source>
        <translation>modelliert</translation>
    </message>
    <message>
        <source>iteration %1, computed again</source>
        <translation>Iteration %1, erneut</translation>
    </message>
    <message>
        <source>value shown</source>
        <translation>Wert aus</translation>
    </message>
    <message>
        <source>gradient shown</source>
        <translation>Gradient aus</translation>
    </message>
    <message>
        <source>buffer</source>
        <translation>Puffer</translation>
    </message>
    <message>
        <source>buffer of %1 (in place)</source>
        <translation>Puffer von %1 (in-place)</translation>
    </message>
    <message>
        <source>reused by %1 (in place)</source>
        <translation>wiederverwendet von %1 (in-place)</translation>
    </message>
    <message>
        <source>shared with %1</source>
        <translation>geteilt mit %1</translation>
    </message>
    <message>
        <source>own buffer</source>
        <translation>eigener Puffer</translation>
    </message>
    <message>
        <source>It is in the plug-in %1, which is not loaded.</source>
        <translation>Sie gehört zum Plug-in %1, das nicht geladen ist.</translation>
    </message>
    <message>
        <source>Available at %1</source>
        <translation>Erhältlich unter %1</translation>
    </message>
    <message>
        <source>Select one node to see the help for its op.</source>
        <translation>Einen Knoten auswählen, um die Hilfe zu seiner Op zu sehen.</translation>
    </message>
    <message>
        <source>Runs on another machine return no tensors. Run the graph here to see this tensor.</source>
        <translation>Läufe auf einem anderen Rechner liefern keine Tensoren. Den Graphen hier ausführen, um diesen Tensor zu sehen.</translation>
    </message>
    <message>
        <source>A trace has no tensors. Run the graph to see this tensor.</source>
        <translation>Ein Trace enthält keine Tensoren. Den Graphen ausführen, um diesen Tensor zu sehen.</translation>
    </message>
    <message>
        <source>%1, version %2. %3</source>
        <translation>%1, Version %2. %3</translation>
    </message>
</context>
<context>
    <name>twb::LaneActions</name>
    <message>
        <source>cpu lane</source>
        <translation>cpu-Spur</translation>
    </message>
    <message>
        <source>New cuda lane</source>
        <translation>Neue cuda-Spur</translation>
    </message>
    <message>
        <source>auto lane</source>
        <translation>auto-Spur</translation>
    </message>
    <message>
        <source>Runs its nodes on cuda:0 if there is one, else on cpu.</source>
        <translation>Führt ihre Knoten auf cuda:0 aus, falls vorhanden, sonst auf cpu.</translation>
    </message>
    <message>
        <source>Applies to the lane of the selection, or to the lane in the middle of the view.</source>
        <translation>Gilt für die Spur der Auswahl oder für die Spur in der Mitte der Ansicht.</translation>
    </message>
    <message>
        <source>Move &amp;up</source>
        <translation>Nach &amp;oben</translation>
    </message>
    <message>
        <source>Move &amp;down</source>
        <translation>Nach &amp;unten</translation>
    </message>
    <message>
        <source>C&amp;ollapse or expand</source>
        <translation>&amp;Ein- oder ausklappen</translation>
    </message>
    <message>
        <source>Re&amp;name lane…</source>
        <translation>Spur um&amp;benennen&#xa0;…</translation>
    </message>
    <message>
        <source>&amp;Remove lane…</source>
        <translation>Spur ent&amp;fernen&#xa0;…</translation>
    </message>
    <message>
        <source>&amp;Send all to lane</source>
        <translation>Alle an Sp&amp;ur senden</translation>
    </message>
    <message>
        <source>&amp;Send to lane</source>
        <translation>An Sp&amp;ur senden</translation>
    </message>
    <message>
        <source>New %1 lane</source>
        <translation>Neue Spur %1</translation>
    </message>
    <message>
        <source>Rename lane</source>
        <translation>Spur umbenennen</translation>
    </message>
    <message>
        <source>Title of the lane</source>
        <translation>Titel der Spur</translation>
    </message>
    <message>
        <source>To lane %1: %2</source>
        <translation>An Spur %1: %2</translation>
    </message>
    <message>
        <source>Delete the items</source>
        <translation>Die Elemente löschen</translation>
    </message>
    <message>
        <source>Move the item on %1 to:</source>
        <translation>Das Element auf %1 verschieben nach:</translation>
    </message>
    <message>
        <source>Move the %2 items on %1 to:</source>
        <translation>Die %2 Elemente auf %1 verschieben nach:</translation>
    </message>
    <message>
        <source>Remove lane</source>
        <translation>Spur entfernen</translation>
    </message>
    <message>
        <source>Device of this lane</source>
        <translation>Gerät dieser Spur</translation>
    </message>
    <message>
        <source>Hardware for %1</source>
        <translation>Hardware für %1</translation>
    </message>
    <message>
        <source>Expand lane</source>
        <translation>Spur ausklappen</translation>
    </message>
    <message>
        <source>Collapse lane</source>
        <translation>Spur einklappen</translation>
    </message>
    <message>
        <source>Rename lane…</source>
        <translation>Spur umbenennen&#xa0;…</translation>
    </message>
    <message>
        <source>Select all nodes</source>
        <translation>Alle Knoten auswählen</translation>
    </message>
    <message>
        <source>Move up</source>
        <translation>Nach oben</translation>
    </message>
    <message>
        <source>Move down</source>
        <translation>Nach unten</translation>
    </message>
    <message>
        <source>Remove lane…</source>
        <translation>Spur entfernen&#xa0;…</translation>
    </message>
    <message>
        <source>De&amp;vice of this lane</source>
        <translation>&amp;Gerät dieser Spur</translation>
    </message>
    <message>
        <source>&amp;Hardware</source>
        <translation>&amp;Hardware</translation>
    </message>
    <message>
        <source>Lane of another &amp;rank</source>
        <translation>Spur eines anderen &amp;Rangs</translation>
    </message>
    <message>
        <source>%1 lane</source>
        <translation>Spur %1</translation>
    </message>
    <message>
        <source>Its nodes are computed by another process. Here, it is simulated.</source>
        <translation>Ihre Knoten berechnet ein anderer Prozess. Hier wird sie simuliert.</translation>
    </message>
    <message>
        <source>Of another &amp;rank</source>
        <translation>Eines anderen &amp;Rangs</translation>
    </message>
</context>
<context>
    <name>twb::LearnDialog</name>
    <message>
        <source>Add training to the graph</source>
        <translation>Training zum Graphen hinzufügen</translation>
    </message>
    <message>
        <source>Parameters</source>
        <translation>Parameter</translation>
    </message>
    <message>
        <source>Constant</source>
        <translation>Konstant</translation>
    </message>
    <message>
        <source>Step</source>
        <translation>Stufen</translation>
    </message>
    <message>
        <source>Exponential</source>
        <translation>Exponentiell</translation>
    </message>
    <message>
        <source>Cosine</source>
        <translation>Kosinus</translation>
    </message>
    <message>
        <source>One cycle</source>
        <translation>One Cycle</translation>
    </message>
    <message>
        <source>Off</source>
        <translation>Aus</translation>
    </message>
    <message>
        <source>Loss</source>
        <translation>Loss</translation>
    </message>
    <message>
        <source>Optimizer</source>
        <translation>Optimizer</translation>
    </message>
    <message>
        <source>Learning rate</source>
        <translation>Lernrate</translation>
    </message>
    <message>
        <source>Momentum</source>
        <translation>Momentum</translation>
    </message>
    <message>
        <source>Weight decay</source>
        <translation>Weight Decay</translation>
    </message>
    <message>
        <source>Schedule</source>
        <translation>Zeitplan</translation>
    </message>
    <message>
        <source>Schedule steps</source>
        <translation>Schritte im Zeitplan</translation>
    </message>
    <message>
        <source>Warm-up steps</source>
        <translation>Warm-up-Schritte</translation>
    </message>
    <message>
        <source>Max gradient norm</source>
        <translation>Max. Gradientennorm</translation>
    </message>
    <message>
        <source>Adds the backward pass and the optimizer to the graph, in one module.</source>
        <translation>Fügt dem Graphen den Backward-Pass und den Optimizer in einem Modul hinzu.</translation>
    </message>
    <message>
        <source>Add training</source>
        <translation>Training hinzufügen</translation>
    </message>
    <message>
        <source>The graph has no loss. Add a node that computes one floating-point number, such as SoftmaxCrossEntropyLoss.</source>
        <translation>Der Graph hat keinen Loss. Einen Knoten hinzufügen, der eine Gleitkommazahl berechnet, etwa SoftmaxCrossEntropyLoss.</translation>
    </message>
    <message>
        <source>Choose at least one parameter.</source>
        <translation>Mindestens einen Parameter wählen.</translation>
    </message>
    <message>
        <source>Length of the schedule after the warm-up. The schedule “Step” divides the learning rate by 10 after each third; “Exponential” ends at 1 % of the initial rate.</source>
        <translation>Länge des Lernratenplans nach dem Warm-up. Der Plan „Stufen“ teilt die Lernrate nach jedem Drittel durch 10; „Exponentiell“ endet bei 1 % der anfänglichen Rate.</translation>
    </message>
    <message>
        <source>The loss does not depend on any parameter. Add Parameter nodes upstream of it.</source>
        <translation>Der Loss hängt von keinem Parameter ab. Davor Parameter-Knoten hinzufügen.</translation>
    </message>
</context>
<context>
    <name>twb::LedgerModel</name>
    <message>
        <source>edge</source>
        <translation>Kante</translation>
    </message>
    <message>
        <source>Tensor and destination</source>
        <translation>Tensor und Ziel</translation>
    </message>
    <message>
        <source>source line</source>
        <translation>Quellzeile</translation>
    </message>
    <message>
        <source>Line of the imported program. Click it to open your editor.</source>
        <translation>Zeile des importierten Programms. Ein Klick öffnet den Editor.</translation>
    </message>
    <message>
        <source>kind</source>
        <translation>Art</translation>
    </message>
    <message>
        <source>Explicit (a To), implicit (by the policy) or staging (a File to its GPU)</source>
        <translation>Explizit (ein To), implizit (durch die Policy) oder Staging (File zu seiner GPU)</translation>
    </message>
    <message>
        <source>count</source>
        <translation>Anzahl</translation>
    </message>
    <message>
        <source>Number of copies</source>
        <translation>Zahl der Kopien</translation>
    </message>
    <message>
        <source>bytes per copy</source>
        <translation>Bytes pro Kopie</translation>
    </message>
    <message>
        <source>Size of one copy</source>
        <translation>Größe einer Kopie</translation>
    </message>
    <message>
        <source>moved</source>
        <translation>bewegt</translation>
    </message>
    <message>
        <source>Total size of all copies</source>
        <translation>Gesamtgröße aller Kopien</translation>
    </message>
    <message>
        <source>last ms</source>
        <translation>zuletzt ms</translation>
    </message>
    <message>
        <source>Time of the latest copy</source>
        <translation>Zeit der jüngsten Kopie</translation>
    </message>
    <message>
        <source>min ms</source>
        <translation>min ms</translation>
    </message>
    <message>
        <source>Time of the fastest copy</source>
        <translation>Zeit der schnellsten Kopie</translation>
    </message>
    <message>
        <source>median ms</source>
        <translation>Median ms</translation>
    </message>
    <message>
        <source>Median time of a copy</source>
        <translation>Median der Zeit einer Kopie</translation>
    </message>
    <message>
        <source>p95 ms</source>
        <translation>p95 ms</translation>
    </message>
    <message>
        <source>95th percentile of a copy&apos;s time</source>
        <translation>95. Perzentil der Zeit einer Kopie</translation>
    </message>
    <message>
        <source>total ms</source>
        <translation>gesamt ms</translation>
    </message>
    <message>
        <source>Total time of all copies</source>
        <translation>Gesamtzeit aller Kopien</translation>
    </message>
    <message>
        <source>GB/s</source>
        <translation>GB/s</translation>
    </message>
    <message>
        <source>Rate of the median copy</source>
        <translation>Rate der Median-Kopie</translation>
    </message>
    <message>
        <source>of peak</source>
        <translation>vom Peak</translation>
    </message>
    <message>
        <source>Rate as a share of the profile&apos;s link rate for pinned memory</source>
        <translation>Rate als Anteil an der Link-Rate des Profils für pinned Speicher</translation>
    </message>
    <message>
        <source>memory</source>
        <translation>Speicher</translation>
    </message>
    <message>
        <source>waited ms</source>
        <translation>gewartet ms</translation>
    </message>
    <message>
        <source>Time that a copy waits in the queue after its tensor is ready</source>
        <translation>Zeit, die eine Kopie in der Queue wartet, nachdem ihr Tensor bereit ist</translation>
    </message>
    <message>
        <source>overlap</source>
        <translation>Überlappung</translation>
    </message>
    <message>
        <source>Share of the copies&apos; time that overlaps with compute</source>
        <translation>Anteil der Kopierzeit, der sich mit Rechnen überlappt</translation>
    </message>
    <message>
        <source>predicted ms</source>
        <translation>Vorhersage ms</translation>
    </message>
    <message>
        <source>Time of one copy, from the profile of the lane&apos;s hardware</source>
        <translation>Zeit einer Kopie nach dem Profil der Hardware der Spur</translation>
    </message>
    <message>
        <source>error</source>
        <translation>Abweichung</translation>
    </message>
    <message>
        <source>Difference between the measured median and the prediction</source>
        <translation>Differenz zwischen gemessenem Median und Vorhersage</translation>
    </message>
    <message>
        <source>timing</source>
        <translation>Zeitquelle</translation>
    </message>
    <message>
        <source>measured: timed in a run; modelled: of a run on a simulated device; predicted: before a run</source>
        <translation>gemessen: in einem Lauf gestoppt; modelliert: Lauf auf einem simulierten Gerät; vorhergesagt: vor einem Lauf</translation>
    </message>
    <message>
        <source>%1, once</source>
        <translation>%1, einmal</translation>
    </message>
    <message>
        <source>%1, peer</source>
        <translation>%1, Peer</translation>
    </message>
    <message>
        <source>pinned</source>
        <translation>pinned</translation>
    </message>
    <message>
        <source>pageable</source>
        <translation>pageable</translation>
    </message>
    <message>
        <source>predicted</source>
        <translation>vorhergesagt</translation>
    </message>
    <message>
        <source>modelled</source>
        <translation>modelliert</translation>
    </message>
    <message>
        <source>%1: %2, %3 %4%5</source>
        <translation>%1: %2, %3 %4%5</translation>
    </message>
    <message>
        <source>, once before the iterations</source>
        <translation>, einmal vor den Iterationen</translation>
    </message>
    <message>
        <source> for %1</source>
        <translation> für %1</translation>
    </message>
    <message>
        <source>Host memory: pageable or pinned; of a copy to another rank, the link</source>
        <translation>Host-Speicher: pageable oder pinned; bei einer Kopie zu einem anderen Rang die Verbindung</translation>
    </message>
</context>
<context>
    <name>twb::LedgerView</name>
    <message>
        <source>Ledger: cost of each transfer</source>
        <translation>Bilanz: Kosten jedes Transfers</translation>
    </message>
</context>
<context>
    <name>twb::Legend</name>
    <message>
        <source>floating point</source>
        <translation>Gleitkomma</translation>
    </message>
    <message>
        <source>integers</source>
        <translation>Ganzzahlen</translation>
    </message>
    <message>
        <source>bool</source>
        <translation>bool</translation>
    </message>
    <message>
        <source>type unknown</source>
        <translation>Typ unbekannt</translation>
    </message>
    <message>
        <source>thickness: bytes</source>
        <translation>Dicke: Bytes</translation>
    </message>
    <message>
        <source>strokes: dimensions</source>
        <translation>Striche: Dimensionen</translation>
    </message>
    <message>
        <source>scalar (0-dimensional)</source>
        <translation>Skalar (0-dimensional)</translation>
    </message>
    <message>
        <source>dot on a wire</source>
        <translation>Punkt auf einer Verbindung</translation>
    </message>
    <message>
        <source>mismatch (see Problems)</source>
        <translation>Mismatch (siehe Probleme)</translation>
    </message>
    <message>
        <source>copied by a To</source>
        <translation>durch ein To kopiert</translation>
    </message>
    <message>
        <source>copied by the policy</source>
        <translation>durch die Policy kopiert</translation>
    </message>
    <message>
        <source>number of wires to a collapsed lane</source>
        <translation>Verbindungen zu einer eingeklappten Spur</translation>
    </message>
    <message>
        <source>required input</source>
        <translation>erforderlicher Eingang</translation>
    </message>
    <message>
        <source>optional input</source>
        <translation>optionaler Eingang</translation>
    </message>
    <message>
        <source>Legend</source>
        <translation>Legende</translation>
    </message>
</context>
<context>
    <name>twb::LineView</name>
    <message>
        <source>Line</source>
        <translation>Linie</translation>
    </message>
    <message>
        <source>%1 to %2</source>
        <translation>%1 bis %2</translation>
    </message>
</context>
<context>
    <name>twb::LogPanel</name>
    <message>
        <source>Log</source>
        <translation>Log</translation>
    </message>
    <message>
        <source>No messages yet.</source>
        <translation>Noch keine Meldungen.</translation>
    </message>
</context>
<context>
    <name>twb::MainWindow</name>
    <message>
        <source>&amp;File</source>
        <translation>&amp;Datei</translation>
    </message>
    <message>
        <source>New &amp;window</source>
        <translation>Neues Fens&amp;ter</translation>
    </message>
    <message>
        <source>Start &amp;page</source>
        <translation>St&amp;artseite</translation>
    </message>
    <message>
        <source>&amp;Close window</source>
        <translation>Fenster s&amp;chließen</translation>
    </message>
    <message>
        <source>&amp;Quit</source>
        <translation>B&amp;eenden</translation>
    </message>
    <message>
        <source>&amp;Edit</source>
        <translation>&amp;Bearbeiten</translation>
    </message>
    <message>
        <source>&amp;Rename</source>
        <translation>Umbe&amp;nennen</translation>
    </message>
    <message>
        <source>Se&amp;ttings…</source>
        <translation>Ein&amp;stellungen&#xa0;…</translation>
    </message>
    <message>
        <source>&amp;Find an op</source>
        <translation>Op &amp;finden</translation>
    </message>
    <message>
        <source>&amp;Search actions and nodes</source>
        <translation>Aktionen und Knoten su&amp;chen</translation>
    </message>
    <message>
        <source>&amp;Graph</source>
        <translation>&amp;Graph</translation>
    </message>
    <message>
        <source>&amp;Add lane</source>
        <translation>&amp;Spur hinzufügen</translation>
    </message>
    <message>
        <source>&amp;Lane</source>
        <translation>S&amp;pur</translation>
    </message>
    <message>
        <source>&amp;Send to lane</source>
        <translation>An Sp&amp;ur senden</translation>
    </message>
    <message>
        <source>&amp;Module</source>
        <translation>&amp;Modul</translation>
    </message>
    <message>
        <source>S&amp;implify</source>
        <translation>&amp;Vereinfachen</translation>
    </message>
    <message>
        <source>Computes constants, removes nodes without effect, and replaces each group of composed ops with one op.</source>
        <translation>Berechnet Konstanten, entfernt wirkungslose Knoten und ersetzt jede Gruppe zusammengesetzter Ops durch eine Op.</translation>
    </message>
    <message>
        <source>A&amp;nalyse</source>
        <translation>&amp;Analyse</translation>
    </message>
    <message>
        <source>&amp;Training</source>
        <translation>&amp;Training</translation>
    </message>
    <message>
        <source>Pre&amp;cision</source>
        <translation>&amp;Genauigkeit</translation>
    </message>
    <message>
        <source>Apply first &amp;fix</source>
        <translation>Erste Korrektur an&amp;wenden</translation>
    </message>
    <message>
        <source>Ne&amp;xt problem</source>
        <translation>Nä&amp;chstes Problem</translation>
    </message>
    <message>
        <source>&amp;Previous problem</source>
        <translation>Vor&amp;heriges Problem</translation>
    </message>
    <message>
        <source>&amp;Run</source>
        <translation>&amp;Lauf</translation>
    </message>
    <message>
        <source>&amp;Breakpoint</source>
        <translation>Halte&amp;punkt</translation>
    </message>
    <message>
        <source>&amp;View</source>
        <translation>&amp;Ansicht</translation>
    </message>
    <message>
        <source>&amp;Go</source>
        <translation>&amp;Navigation</translation>
    </message>
    <message>
        <source>Transfer p&amp;lot</source>
        <translation>T&amp;ransferdiagramm</translation>
    </message>
    <message>
        <source>T&amp;heme</source>
        <translation>&amp;Design</translation>
    </message>
    <message>
        <source>&amp;Help</source>
        <translation>&amp;Hilfe</translation>
    </message>
    <message>
        <source>&amp;Manual</source>
        <translation>&amp;Handbuch</translation>
    </message>
    <message>
        <source>&amp;Keys…</source>
        <translation>&amp;Tastenkürzel&#xa0;…</translation>
    </message>
    <message>
        <source>&amp;About Tensor Workbench</source>
        <translation>&amp;Über Tensor Workbench</translation>
    </message>
    <message>
        <source>Cannot simplify the graph</source>
        <translation>Graph nicht vereinfacht</translation>
    </message>
    <message>
        <source>Nothing to simplify.</source>
        <translation>Nichts zu vereinfachen.</translation>
    </message>
    <message>
        <source>The manual cannot be opened</source>
        <translation>Handbuch nicht geöffnet</translation>
    </message>
    <message>
        <source>&amp;Edit note…</source>
        <translation>Notiz bearbei&amp;ten&#xa0;…</translation>
    </message>
    <message>
        <source>Transfers</source>
        <translation>Transfers</translation>
    </message>
    <message>
        <source>Timeline</source>
        <translation>Zeitachse</translation>
    </message>
    <message>
        <source>Memory</source>
        <translation>Speicher</translation>
    </message>
    <message>
        <source>Problems</source>
        <translation>Probleme</translation>
    </message>
    <message>
        <source>Log</source>
        <translation>Log</translation>
    </message>
    <message>
        <source>Nodes</source>
        <translation>Knoten</translation>
    </message>
    <message>
        <source>Undo history</source>
        <translation>Verlauf</translation>
    </message>
    <message>
        <source>As opened</source>
        <translation>Wie geöffnet</translation>
    </message>
    <message>
        <source>Lists all changes since the graph was opened. Click one to go back or forward to it.</source>
        <translation>Listet alle Änderungen seit dem Öffnen des Graphen. Ein Klick springt zu einer Änderung zurück oder vor.</translation>
    </message>
    <message>
        <source>History</source>
        <translation>Verlauf</translation>
    </message>
    <message>
        <source>Training</source>
        <translation>Training</translation>
    </message>
    <message>
        <source>Breakpoints</source>
        <translation>Haltepunkte</translation>
    </message>
    <message>
        <source>%1[*] — Tensor Workbench</source>
        <translation>%1[*] — Tensor Workbench</translation>
    </message>
    <message>
        <source>Problems (%1)</source>
        <translation>Probleme (%1)</translation>
    </message>
    <message>
        <source>Problems (1 note)</source>
        <translation>Probleme (1 Hinweis)</translation>
    </message>
    <message>
        <source>Problems (%1 notes)</source>
        <translation>Probleme (%1 Hinweise)</translation>
    </message>
    <message>
        <source>Show plot as table</source>
        <translation>Diagramm als Tabelle anzeigen</translation>
    </message>
    <message>
        <source>No plot here. Choose Transfers, Timeline, Memory or Training, and run the graph.</source>
        <translation>Hier ist kein Diagramm. Transfers, Zeitachse, Speicher oder Training wählen und den Graphen ausführen.</translation>
    </message>
    <message>
        <source>Help for the selected &amp;op</source>
        <translation>Hilfe zur ausgewählten &amp;Op</translation>
    </message>
    <message>
        <source>Training run %1 failed: %2</source>
        <translation>Training %1 fehlgeschlagen: %2</translation>
    </message>
    <message>
        <source>Plug-in %1 was not loaded: %2</source>
        <translation>Plug-in %1 wurde nicht geladen: %2</translation>
    </message>
    <message>
        <source>Ranks</source>
        <translation>Ränge</translation>
    </message>
    <message>
        <source>Simplifying the graph…</source>
        <translation>Graph wird vereinfacht&#xa0;…</translation>
    </message>
    <message>
        <source>Training run %1 is running</source>
        <translation>Training %1 läuft</translation>
    </message>
    <message>
        <source>Training run %1 is paused</source>
        <translation>Training %1 ist angehalten</translation>
    </message>
    <message>
        <source>Training ended: %1</source>
        <translation>Training beendet: %1</translation>
    </message>
    <message>
        <source>Training run %1 was stopped before its first step</source>
        <translation>Training %1 wurde vor dem ersten Schritt abgebrochen</translation>
    </message>
</context>
<context>
    <name>twb::ManualWindow</name>
    <message>
        <source>Manual — Tensor Workbench</source>
        <translation>Handbuch — Tensor Workbench</translation>
    </message>
    <message>
        <source>Search the manual</source>
        <translation>Handbuch durchsuchen</translation>
    </message>
    <message>
        <source>Contents</source>
        <translation>Inhalt</translation>
    </message>
    <message>
        <source>Page of the manual</source>
        <translation>Seite des Handbuchs</translation>
    </message>
    <message>
        <source>No page contains “%1”.</source>
        <translation>Keine Seite enthält „%1“.</translation>
    </message>
</context>
<context>
    <name>twb::MemoryBars</name>
    <message>
        <source>Memory of each device</source>
        <translation>Speicher jedes Geräts</translation>
    </message>
    <message>
        <source>%1: planned %2, peak %3</source>
        <translation>%1: geplant %2, Spitze %3</translation>
    </message>
    <message>
        <source>Bar: peak of the run. Mark: planned.</source>
        <translation>Balken: Spitze des Laufs. Marke: geplant.</translation>
    </message>
    <message>
        <source>planned %1</source>
        <translation>geplant %1</translation>
    </message>
    <message>
        <source>peak %1</source>
        <translation>Spitze %1</translation>
    </message>
    <message>
        <source>of %1</source>
        <translation>von %1</translation>
    </message>
    <message>
        <source>device</source>
        <translation>Gerät</translation>
    </message>
    <message>
        <source>hardware</source>
        <translation>Hardware</translation>
    </message>
    <message>
        <source>planned, bytes</source>
        <translation>geplant, Bytes</translation>
    </message>
    <message>
        <source>peak, bytes</source>
        <translation>Spitze, Bytes</translation>
    </message>
    <message>
        <source>capacity, bytes</source>
        <translation>Kapazität, Bytes</translation>
    </message>
</context>
<context>
    <name>twb::MemoryPanel</name>
    <message>
        <source>Run the graph to see its memory on each device.</source>
        <translation>Den Graphen ausführen, um seinen Speicher auf jedem Gerät zu sehen.</translation>
    </message>
    <message>
        <source>Memory of each device</source>
        <translation>Speicher jedes Geräts</translation>
    </message>
</context>
<context>
    <name>twb::MemoryStack</name>
    <message>
        <source>Memory over an iteration</source>
        <translation>Speicher über eine Iteration</translation>
    </message>
    <message>
        <source>scratch and rounding</source>
        <translation>Scratch und Rundung</translation>
    </message>
    <message>
        <source>Peak of the run</source>
        <translation>Spitze des Laufs</translation>
    </message>
    <message>
        <source>%1 others</source>
        <translation>%1 weitere</translation>
    </message>
    <message>
        <source>1 tensor alive</source>
        <translation>1 lebender Tensor</translation>
    </message>
    <message>
        <source>%1 tensors alive</source>
        <translation>%1 lebende Tensoren</translation>
    </message>
    <message>
        <source>At the peak: %1</source>
        <translation>An der Spitze: %1</translation>
    </message>
    <message>
        <source>%1, last iteration%2</source>
        <translation>%1, letzte Iteration%2</translation>
    </message>
    <message>
        <source> · modelled times</source>
        <translation> · modellierte Zeiten</translation>
    </message>
    <message>
        <source>planned %1</source>
        <translation>geplant %1</translation>
    </message>
    <message>
        <source>reserved, not live</source>
        <translation>reserviert, nicht belegt</translation>
    </message>
</context>
<context>
    <name>twb::Minimap</name>
    <message>
        <source>Overview of the graph</source>
        <translation>Übersicht über den Graphen</translation>
    </message>
    <message>
        <source>Click or drag to move the view.</source>
        <translation>Klicken oder Ziehen verschiebt die Ansicht.</translation>
    </message>
</context>
<context>
    <name>twb::ModuleActions</name>
    <message>
        <source>No colour</source>
        <translation>Keine Farbe</translation>
    </message>
    <message>
        <source>Blue</source>
        <translation>Blau</translation>
    </message>
    <message>
        <source>Teal</source>
        <translation>Petrol</translation>
    </message>
    <message>
        <source>Green</source>
        <translation>Grün</translation>
    </message>
    <message>
        <source>Yellow</source>
        <translation>Gelb</translation>
    </message>
    <message>
        <source>Orange</source>
        <translation>Orange</translation>
    </message>
    <message>
        <source>Pink</source>
        <translation>Rosa</translation>
    </message>
    <message>
        <source>Purple</source>
        <translation>Violett</translation>
    </message>
    <message>
        <source>Make &amp;module from selection</source>
        <translation>&amp;Modul aus Auswahl bilden</translation>
    </message>
    <message>
        <source>Re&amp;name module…</source>
        <translation>Modul um&amp;benennen&#xa0;…</translation>
    </message>
    <message>
        <source>&amp;Colour</source>
        <translation>&amp;Farbe</translation>
    </message>
    <message>
        <source>Open &amp;inside</source>
        <translation>&amp;Innen öffnen</translation>
    </message>
    <message>
        <source>Shows the module alone. You can also double-click a collapsed module.</source>
        <translation>Zeigt nur das Modul. Ein Doppelklick auf ein eingeklapptes Modul tut dasselbe.</translation>
    </message>
    <message>
        <source>&amp;Leave the module</source>
        <translation>Modul &amp;verlassen</translation>
    </message>
    <message>
        <source>C&amp;ollapse module</source>
        <translation>Modul einkla&amp;ppen</translation>
    </message>
    <message>
        <source>Draws the module as one card. Double-click the card to open the module.</source>
        <translation>Zeichnet das Modul als eine Karte. Ein Doppelklick auf die Karte öffnet das Modul.</translation>
    </message>
    <message>
        <source>&amp;Dissolve module</source>
        <translation>Modul auf&amp;lösen</translation>
    </message>
    <message>
        <source>This frame is the body of a node. Delete that node to remove the frame.</source>
        <translation>Dieser Rahmen ist der Rumpf eines Knotens. Zum Entfernen den Knoten löschen.</translation>
    </message>
    <message>
        <source>Removes the frame and keeps its nodes.</source>
        <translation>Entfernt den Rahmen und behält seine Knoten.</translation>
    </message>
    <message>
        <source>Save to &amp;palette…</source>
        <translation>In Palette &amp;sichern&#xa0;…</translation>
    </message>
    <message>
        <source>Saves the module with its nodes, to add it to any graph.</source>
        <translation>Sichert das Modul mit seinen Knoten, um es jedem Graphen hinzuzufügen.</translation>
    </message>
    <message>
        <source>E&amp;xpand one level</source>
        <translation>Eine Ebene &amp;ausklappen</translation>
    </message>
    <message>
        <source>Expands the outermost collapsed modules and arranges all cards.</source>
        <translation>Klappt die äußersten geschlossenen Module aus und ordnet alle Karten.</translation>
    </message>
    <message>
        <source>Co&amp;llapse one level</source>
        <translation>Eine Ebene &amp;einklappen</translation>
    </message>
    <message>
        <source>Collapses the innermost expanded modules and arranges all cards.</source>
        <translation>Klappt die innersten offenen Module ein und ordnet alle Karten.</translation>
    </message>
    <message>
        <source>&amp;Arrange all cards</source>
        <translation>Alle &amp;Karten anordnen</translation>
    </message>
    <message>
        <source>Places the cards from left to right along their wires. Nodes stay on their lanes.</source>
        <translation>Setzt die Karten von links nach rechts entlang ihrer Verbindungen. Knoten bleiben auf ihren Spuren.</translation>
    </message>
    <message>
        <source>Rename module</source>
        <translation>Modul umbenennen</translation>
    </message>
    <message>
        <source>Name of the module</source>
        <translation>Name des Moduls</translation>
    </message>
    <message>
        <source>Cannot save the module</source>
        <translation>Modul nicht gesichert</translation>
    </message>
    <message>
        <source>%1 is in the palette, under “Your modules”.</source>
        <translation>%1 ist in der Palette, unter „Eigene Module“.</translation>
    </message>
    <message>
        <source>Arranging modules…</source>
        <translation>Module werden angeordnet&#xa0;…</translation>
    </message>
    <message>
        <source>Arranging cards…</source>
        <translation>Karten werden angeordnet&#xa0;…</translation>
    </message>
    <message>
        <source>E&amp;xpand module</source>
        <translation>Modul ausklap&amp;pen</translation>
    </message>
    <message>
        <source>Replaced %1 in the palette. It has version %2.</source>
        <translation>%1 wurde in der Palette ersetzt. Es hat Version %2.</translation>
    </message>
    <message>
        <source>&amp;Update module</source>
        <translation>Modul akt&amp;ualisieren</translation>
    </message>
    <message>
        <source>Replaces the nodes of the module with those of the installed version of its op. Keeps wires and the values of attributes.</source>
        <translation>Ersetzt die Knoten des Moduls durch die der installierten Version seiner Op. Verbindungen und die Werte der Attribute bleiben erhalten.</translation>
    </message>
    <message>
        <source>Changed op: %1</source>
        <translation>Geänderte Op: %1</translation>
    </message>
    <message>
        <source>Module %1 was made from version %2 of %3. Version %4 is installed.</source>
        <translation>Modul %1 ist aus Version %2 von %3 entstanden. Installiert ist Version %4.</translation>
    </message>
    <message>
        <source>%1 modules were made from older versions of their ops.</source>
        <translation>%1 Module sind aus älteren Versionen ihrer Ops entstanden.</translation>
    </message>
    <message>
        <source>Update</source>
        <translation>Aktualisieren</translation>
    </message>
    <message>
        <source>Close</source>
        <translation>Schließen</translation>
    </message>
    <message>
        <source>Cannot update the module</source>
        <translation>Das Modul kann nicht aktualisiert werden</translation>
    </message>
    <message>
        <source>Module updated. All wires and values are kept.</source>
        <translation>Modul aktualisiert. Alle Verbindungen und Werte sind erhalten.</translation>
    </message>
    <message>
        <source>Modules updated. All wires and values are kept.</source>
        <translation>Module aktualisiert. Alle Verbindungen und Werte sind erhalten.</translation>
    </message>
    <message>
        <source>Module updated. Log lists what has changed.</source>
        <translation>Modul aktualisiert. Log nennt die Unterschiede.</translation>
    </message>
    <message>
        <source>Modules updated. Log lists what has changed.</source>
        <translation>Module aktualisiert. Log nennt die Unterschiede.</translation>
    </message>
</context>
<context>
    <name>twb::Navigation</name>
    <message>
        <source>To a &amp;node by name</source>
        <translation>Zu einem &amp;Knoten nach Namen</translation>
    </message>
    <message>
        <source>To the next &amp;pane</source>
        <translation>Zum &amp;nächsten Bereich</translation>
    </message>
    <message>
        <source>To the pre&amp;vious pane</source>
        <translation>Zum &amp;vorherigen Bereich</translation>
    </message>
    <message>
        <source>Selects this neighbour on the canvas. With Ctrl, an arrow key moves the selected nodes.</source>
        <translation>Wählt diesen Nachbarn auf der Zeichenfläche aus. Mit Strg verschiebt eine Pfeiltaste die ausgewählten Knoten.</translation>
    </message>
    <message>
        <source>To the &amp;producer</source>
        <translation>Zum &amp;Erzeuger</translation>
    </message>
    <message>
        <source>To the &amp;consumer</source>
        <translation>Zum Ver&amp;braucher</translation>
    </message>
    <message>
        <source>To the node &amp;above</source>
        <translation>Zum Knoten &amp;darüber</translation>
    </message>
    <message>
        <source>To the node &amp;below</source>
        <translation>Zum Knoten dar&amp;unter</translation>
    </message>
    <message>
        <source>To a &amp;bookmark</source>
        <translation>Zu einem &amp;Lesezeichen</translation>
    </message>
    <message>
        <source>Bookmark this &amp;view</source>
        <translation>&amp;Ansicht merken</translation>
    </message>
    <message>
        <source>To bookmark &amp;%1</source>
        <translation>Zu Lesezeichen &amp;%1</translation>
    </message>
    <message>
        <source>No bookmark %1 yet. Press Ctrl+Shift+B, then %1, to set it.</source>
        <translation>Noch kein Lesezeichen %1. Mit Strg+Umschalt+B, dann %1 setzen.</translation>
    </message>
    <message>
        <source>Set bookmark &amp;%1</source>
        <translation>Lesezeichen &amp;%1 setzen</translation>
    </message>
    <message>
        <source>Bookmark %1 set. Press Ctrl+B, then %1, to return to this view.</source>
        <translation>Lesezeichen %1 gesetzt. Strg+B, dann %1 führt zu dieser Ansicht zurück.</translation>
    </message>
</context>
<context>
    <name>twb::NodeActions</name>
    <message>
        <source>Insert &amp;To</source>
        <translation>To &amp;einfügen</translation>
    </message>
    <message>
        <source>Cannot insert a To</source>
        <translation>To nicht eingefügt</translation>
    </message>
    <message>
        <source>Select an edge between two lanes, or its consumer.</source>
        <translation>Eine Kante zwischen zwei Spuren oder ihren Verbraucher auswählen.</translation>
    </message>
    <message>
        <source>Add a d&amp;ot to the wire</source>
        <translation>Ver&amp;bindungspunkt hinzufügen</translation>
    </message>
    <message>
        <source>Select a wire or a dot, or point at a wire.</source>
        <translation>Eine Verbindung oder einen Punkt auswählen oder auf eine Verbindung zeigen.</translation>
    </message>
    <message>
        <source>A wire bends at its dots. Double-click a wire, or drag it with Shift, to add a dot.</source>
        <translation>Eine Verbindung knickt an ihren Punkten. Doppelklick auf eine Verbindung oder Ziehen mit Umschalt fügt einen Punkt hinzu.</translation>
    </message>
    <message>
        <source>Strai&amp;ghten wire</source>
        <translation>Verbindung begra&amp;digen</translation>
    </message>
    <message>
        <source>Select a wire with dots (bends), or one of its dots.</source>
        <translation>Eine Verbindung mit Punkten (Knicken) oder einen ihrer Punkte auswählen.</translation>
    </message>
    <message>
        <source>Removes all dots of the selected wire.</source>
        <translation>Entfernt alle Punkte der ausgewählten Verbindung.</translation>
    </message>
    <message>
        <source>F&amp;old parameters into cards</source>
        <translation>Parameter in Karten fa&amp;lten</translation>
    </message>
    <message>
        <source>&amp;Unfold parameters from cards</source>
        <translation>Parameter ent&amp;falten</translation>
    </message>
    <message>
        <source>Draws parameters as rows on the card of their consumer. The run stays the same.</source>
        <translation>Zeichnet Parameter als Zeilen auf der Karte ihres Verbrauchers. Der Lauf bleibt gleich.</translation>
    </message>
    <message>
        <source>Draws each parameter as a card of its own.</source>
        <translation>Zeichnet jeden Parameter als eigene Karte.</translation>
    </message>
    <message>
        <source>Disa&amp;ble</source>
        <translation>Dea&amp;ktivieren</translation>
    </message>
    <message>
        <source>The run skips the node. Its consumers read the first of the node&apos;s inputs that has the dtype and shape of the node&apos;s output. Without such an input, the consumers do not run.</source>
        <translation>Der Lauf überspringt den Knoten. Seine Verbraucher lesen den ersten seiner Eingänge mit dtype und Shape seiner Ausgabe. Ohne einen solchen Eingang laufen die Verbraucher nicht.</translation>
    </message>
    <message>
        <source>Ena&amp;ble</source>
        <translation>A&amp;ktivieren</translation>
    </message>
</context>
<context>
    <name>twb::NodeTable</name>
    <message>
        <source>Nodes of the graph</source>
        <translation>Knoten des Graphen</translation>
    </message>
    <message>
        <source>Edges of the graph</source>
        <translation>Kanten des Graphen</translation>
    </message>
</context>
<context>
    <name>twb::NodeTableModel</name>
    <message>
        <source>node</source>
        <translation>Knoten</translation>
    </message>
    <message>
        <source>op</source>
        <translation>Op</translation>
    </message>
    <message>
        <source>device</source>
        <translation>Gerät</translation>
    </message>
    <message>
        <source>time</source>
        <translation>Zeit</translation>
    </message>
    <message>
        <source>share</source>
        <translation>Anteil</translation>
    </message>
    <message>
        <source>timing</source>
        <translation>Zeitquelle</translation>
    </message>
    <message>
        <source>output</source>
        <translation>Ausgabe</translation>
    </message>
    <message>
        <source>inputs</source>
        <translation>Eingänge</translation>
    </message>
    <message>
        <source>modelled</source>
        <translation>modelliert</translation>
    </message>
    <message>
        <source>%1, once</source>
        <translation>%1, 1×</translation>
    </message>
</context>
<context>
    <name>twb::OpHelpView</name>
    <message>
        <source>Add example</source>
        <translation>Beispiel hinzufügen</translation>
    </message>
    <message>
        <source>Help</source>
        <translation>Hilfe</translation>
    </message>
    <message>
        <source>Shows the operands, attributes and names of the op, with an example.</source>
        <translation>Zeigt Operanden, Attribute und Namen der Op, mit einem Beispiel.</translation>
    </message>
    <message>
        <source>Adds the op with operands that fit. Drag it to put it on a lane.</source>
        <translation>Fügt die Op mit passenden Operanden hinzu. Zum Ablegen auf eine Spur ziehen.</translation>
    </message>
    <message>
        <source>Shapes</source>
        <translation>Shapes</translation>
    </message>
    <message>
        <source>Inputs</source>
        <translation>Eingänge</translation>
    </message>
    <message>
        <source>Outputs</source>
        <translation>Ausgänge</translation>
    </message>
    <message>
        <source>Attributes</source>
        <translation>Attribute</translation>
    </message>
    <message>
        <source>versions %1</source>
        <translation>Versionen %1</translation>
    </message>
    <message>
        <source>Gradient</source>
        <translation>Gradient</translation>
    </message>
    <message>
        <source>Example</source>
        <translation>Beispiel</translation>
    </message>
    <message>
        <source>Contents</source>
        <translation>Inhalt</translation>
    </message>
</context>
<context>
    <name>twb::OpListModel</name>
    <message>
        <source>any dtype</source>
        <translation>jeder dtype</translation>
    </message>
    <message>
        <source>Section %1</source>
        <translation>Abschnitt %1</translation>
    </message>
</context>
<context>
    <name>twb::OpPalette</name>
    <message>
        <source>Palette</source>
        <translation>Palette</translation>
    </message>
    <message>
        <source>Find an op</source>
        <translation>Op finden</translation>
    </message>
    <message>
        <source>Ops</source>
        <translation>Ops</translation>
    </message>
    <message>
        <source>Remove %1 from the palette</source>
        <translation>%1 aus der Palette entfernen</translation>
    </message>
</context>
<context>
    <name>twb::OpSearch</name>
    <message>
        <source>Add an op</source>
        <translation>Op hinzufügen</translation>
    </message>
    <message>
        <source>Search for an op to add</source>
        <translation>Nach einer Op suchen</translation>
    </message>
    <message>
        <source>Find an op to add</source>
        <translation>Op zum Hinzufügen finden</translation>
    </message>
    <message>
        <source>Matching ops</source>
        <translation>Passende Ops</translation>
    </message>
    <message>
        <source>No op matches “%1”.</source>
        <translation>Keine Op passt zu „%1“.</translation>
    </message>
    <message>
        <source>No op that fits here matches “%1”.</source>
        <translation>Keine hier mögliche Op passt zu „%1“.</translation>
    </message>
</context>
<context>
    <name>twb::OverlayActions</name>
    <message>
        <source>O&amp;verlay profile…</source>
        <translation>Profil als Overla&amp;y laden&#xa0;…</translation>
    </message>
    <message>
        <source>Shows the measured times of a PyTorch or ONNX Runtime profile on the graph.</source>
        <translation>Zeigt die gemessenen Zeiten eines Profils von PyTorch oder ONNX Runtime auf dem Graphen.</translation>
    </message>
    <message>
        <source>&amp;Unmatched in overlay…</source>
        <translation>Ni&amp;cht im Overlay zugeordnet&#xa0;…</translation>
    </message>
    <message>
        <source>Lists the steps without a measured time, and the ops of the profile that match no step.</source>
        <translation>Listet die Schritte ohne gemessene Zeit und die Ops des Profils, denen kein Schritt entspricht.</translation>
    </message>
    <message>
        <source>Re&amp;move overlay</source>
        <translation>&amp;Overlay entfernen</translation>
    </message>
    <message>
        <source>Shows modelled times again.</source>
        <translation>Zeigt wieder modellierte Zeiten.</translation>
    </message>
    <message>
        <source>Overlay profile</source>
        <translation>Profil als Overlay laden</translation>
    </message>
    <message>
        <source>Profiles of PyTorch and ONNX Runtime (*.json *.json.gz);;All files (*)</source>
        <translation>Profile von PyTorch und ONNX Runtime (*.json *.json.gz);;Alle Dateien (*)</translation>
    </message>
    <message>
        <source>Cannot overlay the profile</source>
        <translation>Overlay nicht geladen</translation>
    </message>
    <message>
        <source>The graph is empty. Open the graph that was profiled first.</source>
        <translation>Der Graph ist leer. Zuerst den profilierten Graphen öffnen.</translation>
    </message>
    <message>
        <source>Reading %1…</source>
        <translation>%1 wird gelesen&#xa0;…</translation>
    </message>
    <message>
        <source>The profile belongs to another graph</source>
        <translation>Das Profil gehört zu einem anderen Graphen</translation>
    </message>
    <message>
        <source>%1. No time is shown. Open the graph that was profiled, or choose another profile.</source>
        <translation>%1. Es wird keine Zeit gezeigt. Den profilierten Graphen öffnen oder ein anderes Profil wählen.</translation>
    </message>
    <message>
        <source>Unmatched…</source>
        <translation>Nicht zugeordnet&#xa0;…</translation>
    </message>
    <message>
        <source>Remove overlay</source>
        <translation>Overlay entfernen</translation>
    </message>
    <message>
        <source>Close</source>
        <translation>Schließen</translation>
    </message>
    <message>
        <source>Unmatched in overlay</source>
        <translation>Nicht im Overlay zugeordnet</translation>
    </message>
    <message>
        <source>name</source>
        <translation>Name</translation>
    </message>
    <message>
        <source>source</source>
        <translation>Quelle</translation>
    </message>
    <message>
        <source>count</source>
        <translation>Anzahl</translation>
    </message>
    <message>
        <source>measured time</source>
        <translation>gemessene Zeit</translation>
    </message>
    <message>
        <source>modelled time</source>
        <translation>modellierte Zeit</translation>
    </message>
    <message>
        <source>graph</source>
        <translation>Graph</translation>
    </message>
    <message>
        <source>profile</source>
        <translation>Profil</translation>
    </message>
    <message>
        <source>A step matches an op of the profile by name, or by op, shape, source line and order. The number of equal ops in the profile must be the number of equal steps in the graph, or a multiple of it.</source>
        <translation>Ein Schritt entspricht einer Op des Profils nach Namen oder nach Op, Shape, Quellzeile und Reihenfolge. Die Zahl gleicher Ops im Profil muss die Zahl gleicher Schritte im Graphen oder ein Vielfaches davon sein.</translation>
    </message>
</context>
<context>
    <name>twb::ParameterTable</name>
    <message>
        <source>%1, epoch %2
gradient norm %3
update norm %4
weight norm %5
update / weight %6</source>
        <translation>%1, Epoche %2
Gradientennorm %3
Update-Norm %4
Gewichtsnorm %5
Update / Gewicht %6</translation>
    </message>
    <message>
        <source>gradient</source>
        <translation>Gradient</translation>
    </message>
    <message>
        <source>update</source>
        <translation>Update</translation>
    </message>
    <message>
        <source>%1, gradient norm</source>
        <translation>%1, Gradientennorm</translation>
    </message>
    <message>
        <source>%1, update-to-weight ratio</source>
        <translation>%1, Verhältnis Update zu Gewicht</translation>
    </message>
</context>
<context>
    <name>twb::PictureDrag</name>
    <message>
        <source>Drag handle of the plot</source>
        <translation>Ziehgriff des Diagramms</translation>
    </message>
    <message>
        <source>Drags the plot as an image into another program. Alt and a drag of the plot do the same.</source>
        <translation>Zieht das Diagramm als Bild in ein anderes Programm. Alt und Ziehen am Diagramm tun dasselbe.</translation>
    </message>
</context>
<context>
    <name>twb::PlotTable</name>
    <message>
        <source>No values yet.</source>
        <translation>Noch keine Werte.</translation>
    </message>
    <message>
        <source>%1 rows of values. The context menu shows them as a table.</source>
        <translation>%1 Zeilen mit Werten. Das Kontextmenü zeigt sie als Tabelle.</translation>
    </message>
    <message>
        <source>&amp;Copy as CSV</source>
        <translation>Als CSV &amp;kopieren</translation>
    </message>
    <message>
        <source>Copies the selected rows, or all of them.</source>
        <translation>Kopiert die ausgewählten Zeilen oder alle.</translation>
    </message>
    <message>
        <source>&amp;Refresh</source>
        <translation>&amp;Aktualisieren</translation>
    </message>
    <message>
        <source>Reads the plot&apos;s values again.</source>
        <translation>Liest die Werte des Diagramms neu ein.</translation>
    </message>
    <message>
        <source>C&amp;lose</source>
        <translation>&amp;Schließen</translation>
    </message>
    <message>
        <source>%1 — table</source>
        <translation>%1 — Tabelle</translation>
    </message>
    <message>
        <source>Show as &amp;table</source>
        <translation>Als &amp;Tabelle anzeigen</translation>
    </message>
</context>
<context>
    <name>twb::PlotTableModel</name>
    <message>
        <source>yes</source>
        <translation>ja</translation>
    </message>
</context>
<context>
    <name>twb::ProblemCards</name>
    <message>
        <source>Problems</source>
        <translation>Probleme</translation>
    </message>
    <message>
        <source>Notes</source>
        <translation>Hinweise</translation>
    </message>
    <message>
        <source>%1 more with the same causes</source>
        <translation>%1 weitere mit denselben Ursachen</translation>
    </message>
    <message>
        <source>%1 more</source>
        <translation>%1 weitere</translation>
    </message>
    <message>
        <source>Opens %1 in your editor.</source>
        <translation>Öffnet %1 im Editor.</translation>
    </message>
    <message>
        <source>In Python: %1</source>
        <translation>In Python: %1</translation>
    </message>
</context>
<context>
    <name>twb::ProblemsModel</name>
    <message>
        <source>In Python: %1</source>
        <translation>In Python: %1</translation>
    </message>
    <message>
        <source>severity</source>
        <translation>Schwere</translation>
    </message>
    <message>
        <source>code</source>
        <translation>Code</translation>
    </message>
    <message>
        <source>node</source>
        <translation>Knoten</translation>
    </message>
    <message>
        <source>message</source>
        <translation>Meldung</translation>
    </message>
</context>
<context>
    <name>twb::ProblemsPanel</name>
    <message>
        <source>No problems: the graph can run.</source>
        <translation>Keine Probleme: Der Graph kann laufen.</translation>
    </message>
    <message>
        <source>Problems of the graph</source>
        <translation>Probleme des Graphen</translation>
    </message>
    <message>
        <source>Apply the first fix to all %1 problems of this kind</source>
        <translation>Die erste Korrektur auf alle %1 Probleme dieser Art anwenden</translation>
    </message>
</context>
<context>
    <name>twb::ProgramWatch</name>
    <message>
        <source>Cannot watch the program: %1</source>
        <translation>Programm nicht beobachtbar: %1</translation>
    </message>
    <message>
        <source>Stopped watching. The watched program keeps running.</source>
        <translation>Beobachtung beendet. Das beobachtete Programm läuft weiter.</translation>
    </message>
    <message>
        <source>The watched program sent a line of more than 1 MiB.</source>
        <translation>Das beobachtete Programm hat eine Zeile von mehr als 1 MiB gesendet.</translation>
    </message>
    <message>
        <source>1 step</source>
        <translation>1 Schritt</translation>
    </message>
    <message>
        <source>%1 steps</source>
        <translation>%1 Schritte</translation>
    </message>
    <message>
        <source>%1 ended after %2</source>
        <translation>%1 endete nach: %2</translation>
    </message>
    <message>
        <source>%1 closed its connection after %2</source>
        <translation>%1 schloss die Verbindung nach: %2</translation>
    </message>
    <message>
        <source>Watching %1 (process %2): step %3</source>
        <translation>%1 wird beobachtet (Prozess %2): Schritt %3</translation>
    </message>
    <message>
        <source>, %1 events lost</source>
        <translation>, %1 Ereignisse verloren</translation>
    </message>
    <message>
        <source>The graph was edited, or a run was started, before %1 answered. Choose Watch a process again.</source>
        <translation>Bevor %1 geantwortet hat, wurde der Graph bearbeitet oder ein Lauf gestartet. Noch einmal Prozess beobachten wählen.</translation>
    </message>
</context>
<context>
    <name>twb::QuantizeDialog</name>
    <message>
        <source>Keep the &amp;first and the last product or convolution in f32</source>
        <translation>&amp;Erstes und letztes Produkt (oder Faltung) in f32 belassen</translation>
    </message>
    <message>
        <source>Quantize to int8</source>
        <translation>Nach int8 quantisieren</translation>
    </message>
    <message>
        <source>Share of each activation&apos;s elements that its int8 range covers. The others are clipped, half of them on each side.</source>
        <translation>Anteil der Elemente jeder Aktivierung, den ihr int8-Bereich abdeckt. Die übrigen werden begrenzt, die Hälfte davon auf jeder Seite.</translation>
    </message>
    <message>
        <source>The first and the last layer often lose the most accuracy in int8.</source>
        <translation>Die erste und die letzte Schicht verlieren in int8 oft am meisten Genauigkeit.</translation>
    </message>
    <message>
        <source>Computes products and convolutions with fixed weights in int8. The ranges of activations are measured on samples; before the graph changes, the accuracy lost is shown.</source>
        <translation>Berechnet Produkte und Faltungen mit festen Gewichten in int8. Die Bereiche der Aktivierungen werden an Samples gemessen; bevor sich der Graph ändert, wird der Genauigkeitsverlust angezeigt.</translation>
    </message>
    <message>
        <source>&amp;Percentile of activations</source>
        <translation>&amp;Perzentil der Aktivierungen</translation>
    </message>
    <message>
        <source>Continue</source>
        <translation>Weiter</translation>
    </message>
</context>
<context>
    <name>twb::QuickFind</name>
    <message>
        <source>Search actions and nodes</source>
        <translation>Aktionen und Knoten suchen</translation>
    </message>
    <message>
        <source>Searches actions and nodes (Ctrl+Shift+P), or nodes alone (Ctrl+P).</source>
        <translation>Sucht Aktionen und Knoten (Strg+Umschalt+P) oder nur Knoten (Strg+P).</translation>
    </message>
    <message>
        <source>Matches</source>
        <translation>Treffer</translation>
    </message>
    <message>
        <source>Go to a node</source>
        <translation>Zu einem Knoten</translation>
    </message>
    <message>
        <source>Node</source>
        <translation>Knoten</translation>
    </message>
    <message>
        <source>Search</source>
        <translation>Suchen</translation>
    </message>
</context>
<context>
    <name>twb::RanksModel</name>
    <message>
        <source>rank %1</source>
        <translation>Rang %1</translation>
    </message>
    <message>
        <source>slowest</source>
        <translation>langsamster</translation>
    </message>
    <message>
        <source>modelled</source>
        <translation>modelliert</translation>
    </message>
    <message>
        <source>measured</source>
        <translation>gemessen</translation>
    </message>
    <message>
        <source>own time %1, waiting %2</source>
        <translation>eigene Zeit %1, Warten %2</translation>
    </message>
    <message>
        <source>rank</source>
        <translation>Rang</translation>
    </message>
    <message>
        <source>time per iteration</source>
        <translation>Zeit je Iteration</translation>
    </message>
    <message>
        <source>own time</source>
        <translation>eigene Zeit</translation>
    </message>
    <message>
        <source>waiting for others</source>
        <translation>Warten auf andere</translation>
    </message>
    <message>
        <source>samples/s</source>
        <translation>Samples/s</translation>
    </message>
    <message>
        <source>current step</source>
        <translation>aktueller Schritt</translation>
    </message>
    <message>
        <source>own time and waiting</source>
        <translation>eigene Zeit und Warten</translation>
    </message>
</context>
<context>
    <name>twb::RanksPanel</name>
    <message>
        <source>Copy</source>
        <translation>Kopieren</translation>
    </message>
    <message>
        <source>Copies the table as text.</source>
        <translation>Kopiert die Tabelle als Text.</translation>
    </message>
    <message>
        <source>Ranks</source>
        <translation>Ränge</translation>
    </message>
    <message>
        <source>Ranks with a simulated device have modelled times, which cannot be compared with measured ones. Samples/s counts only rows that this rank computes.</source>
        <translation>Ränge mit einem simulierten Gerät haben modellierte Zeiten, die mit gemessenen nicht vergleichbar sind. Samples/s zählt nur Zeilen, die dieser Rang berechnet.</translation>
    </message>
    <message>
        <source>Waiting: time per iteration that the rank waits in collective calls for the last rank to arrive. The slowest rank has the longest own time. Samples/s counts only rows that this rank computes.</source>
        <translation>Warten: Zeit je Iteration, die der Rang in kollektiven Aufrufen auf den letzten Rang wartet. Der langsamste Rang hat die längste eigene Zeit. Samples/s zählt nur Zeilen, die dieser Rang berechnet.</translation>
    </message>
    <message>
        <source>Open trace…</source>
        <translation>Trace öffnen&#xa0;…</translation>
    </message>
    <message>
        <source>No ranks. A run on several ranks lists the pace of each rank here.
Run ▸ Run on another machine… starts one. A trace of such a run has it, too.</source>
        <translation>Keine Ränge. Ein Lauf auf mehreren Rängen zeigt hier das Tempo jedes Rangs.
Lauf ▸ Auf anderem Rechner ausführen&#xa0;… startet einen. Auch der Trace eines solchen Laufs zeigt es.</translation>
    </message>
    <message>
        <source>Opens a trace written by “twb run --trace” or “twb train --trace”.</source>
        <translation>Öffnet einen Trace von „twb run --trace“ oder „twb train --trace“.</translation>
    </message>
</context>
<context>
    <name>twb::Recovery</name>
    <message>
        <source>Autosave failed: cannot write to %1. Save the graph yourself.</source>
        <translation>Autosicherung fehlgeschlagen: %1 kann nicht geschrieben werden. Den Graphen selbst speichern.</translation>
    </message>
    <message>
        <source>Autosave failed: %1</source>
        <translation>Autosicherung fehlgeschlagen: %1</translation>
    </message>
    <message>
        <source>Untitled</source>
        <translation>Unbenannt</translation>
    </message>
    <message>
        <source>Another window has restored these changes.</source>
        <translation>Ein anderes Fenster hat diese Änderungen wiederhergestellt.</translation>
    </message>
</context>
<context>
    <name>twb::ReviewDialog</name>
    <message>
        <source>Copy</source>
        <translation>Kopieren</translation>
    </message>
    <message>
        <source>Copies the table as text.</source>
        <translation>Kopiert die Tabelle als Text.</translation>
    </message>
</context>
<context>
    <name>twb::RunActions</name>
    <message>
        <source>&amp;Run</source>
        <translation>&amp;Ausführen</translation>
    </message>
    <message>
        <source>Run &amp;continuously</source>
        <translation>&amp;Dauerlauf</translation>
    </message>
    <message>
        <source>&amp;Stop</source>
        <translation>An&amp;halten</translation>
    </message>
    <message>
        <source>St&amp;ep</source>
        <translation>&amp;Schritt</translation>
    </message>
    <message>
        <source>&amp;Continue</source>
        <translation>&amp;Fortsetzen</translation>
    </message>
    <message>
        <source>&amp;Iterations</source>
        <translation>&amp;Iterationen</translation>
    </message>
    <message>
        <source>Allow &amp;TF32 on real GPUs</source>
        <translation>&amp;TF32 auf echten GPUs erlauben</translation>
    </message>
    <message>
        <source>Allows TF32 for f32 matmul and convolution, from the next run on.</source>
        <translation>Erlaubt TF32 für Matmul und Faltung in f32, ab dem nächsten Lauf.</translation>
    </message>
    <message>
        <source>Time each &amp;op</source>
        <translation>Zeit je &amp;Op messen</translation>
    </message>
    <message>
        <source>Runs every op as a step of its own, from the next run on. Otherwise neighbouring ops share a step and its time.</source>
        <translation>Führt ab dem nächsten Lauf jede Op als eigenen Schritt aus. Sonst teilen sich benachbarte Ops einen Schritt und seine Zeit.</translation>
    </message>
    <message>
        <source>&amp;Strict policy</source>
        <translation>Policy St&amp;rict</translation>
    </message>
    <message>
        <source>I&amp;mplicit policy</source>
        <translation>Policy I&amp;mplicit</translation>
    </message>
    <message>
        <source>&amp;Guard policy</source>
        <translation>Policy &amp;Guard</translation>
    </message>
    <message>
        <source>&amp;Host to device</source>
        <translation>&amp;Host zu Gerät</translation>
    </message>
    <message>
        <source>&amp;Device to host</source>
        <translation>G&amp;erät zu Host</translation>
    </message>
    <message>
        <source>Device to device</source>
        <translation>Gerät zu Gerät</translation>
    </message>
    <message>
        <source>&amp;Allow</source>
        <translation>&amp;Erlauben</translation>
    </message>
    <message>
        <source>&amp;Log copy</source>
        <translation>Kopie &amp;protokollieren</translation>
    </message>
    <message>
        <source>D&amp;isallow</source>
        <translation>&amp;Verbieten</translation>
    </message>
    <message>
        <source>Device not available</source>
        <translation>Gerät nicht verfügbar</translation>
    </message>
</context>
<context>
    <name>twb::RunBar</name>
    <message>
        <source>· edited</source>
        <translation>· geändert</translation>
    </message>
    <message>
        <source>Run</source>
        <translation>Ausführen</translation>
    </message>
    <message>
        <source>Run continuously</source>
        <translation>Dauerlauf</translation>
    </message>
    <message>
        <source>Step</source>
        <translation>Schritt</translation>
    </message>
    <message>
        <source>Iterations</source>
        <translation>Iterationen</translation>
    </message>
    <message>
        <source>Policy</source>
        <translation>Policy</translation>
    </message>
    <message>
        <source>Run bar</source>
        <translation>Laufleiste</translation>
    </message>
    <message>
        <source>Runs the graph until you stop it (Ctrl+F5).</source>
        <translation>Führt den Graphen aus, bis er angehalten wird (Strg+F5).</translation>
    </message>
    <message>
        <source>Runs the next step, then pauses the run (F10).</source>
        <translation>Führt den nächsten Schritt aus und pausiert dann (F10).</translation>
    </message>
    <message>
        <source>Stop</source>
        <translation>Anhalten</translation>
    </message>
    <message>
        <source>Stops the run (Shift+F5).</source>
        <translation>Hält den Lauf an (Umschalt+F5).</translation>
    </message>
    <message>
        <source>Sets the number of iterations per run.</source>
        <translation>Legt die Zahl der Iterationen pro Lauf fest.</translation>
    </message>
    <message>
        <source>Treats an operand on another device as an error (strict), copies it (implicit), or allows, logs or disallows the copy by its direction (guard).</source>
        <translation>Behandelt einen Operanden auf einem anderen Gerät als Fehler (Strict), kopiert ihn (Implicit) oder erlaubt, protokolliert oder verbietet die Kopie nach ihrer Richtung (Guard).</translation>
    </message>
    <message>
        <source>Strict</source>
        <translation>Strict</translation>
    </message>
    <message>
        <source>Implicit</source>
        <translation>Implicit</translation>
    </message>
    <message>
        <source>Guard</source>
        <translation>Guard</translation>
    </message>
    <message>
        <source>%1 GPUs</source>
        <translation>%1 GPUs</translation>
    </message>
    <message>
        <source>Chooses the hardware for each GPU.</source>
        <translation>Wählt die Hardware für jede GPU.</translation>
    </message>
    <message>
        <source>Chooses the hardware for %1.</source>
        <translation>Wählt die Hardware für %1.</translation>
    </message>
    <message>
        <source>Hardware for %1</source>
        <translation>Hardware für %1</translation>
    </message>
    <message>
        <source>Continue</source>
        <translation>Fortsetzen</translation>
    </message>
    <message>
        <source>Continues to the next breakpoint (F5).</source>
        <translation>Läuft bis zum nächsten Haltepunkt weiter (F5).</translation>
    </message>
    <message>
        <source>Runs the graph (F5).</source>
        <translation>Führt den Graphen aus (F5).</translation>
    </message>
    <message>
        <source>Run on another machine…</source>
        <translation>Auf anderem Rechner ausführen&#xa0;…</translation>
    </message>
    <message>
        <source>Predict on several ranks…</source>
        <translation>Vorhersage für mehrere Ränge&#xa0;…</translation>
    </message>
</context>
<context>
    <name>twb::RunController</name>
    <message>
        <source>1 iteration</source>
        <translation>1 Iteration</translation>
    </message>
    <message>
        <source>%1 iterations</source>
        <translation>%1 Iterationen</translation>
    </message>
    <message>
        <source>Run %1 cancelled before it started</source>
        <translation>Lauf %1 vor dem Start abgebrochen</translation>
    </message>
    <message>
        <source>The graph has 1 problem. Fix it to run the graph.</source>
        <translation>Der Graph hat 1 Problem. Zum Ausführen das Problem beheben.</translation>
    </message>
    <message>
        <source>The graph has %1 problems. Fix them to run the graph.</source>
        <translation>Der Graph hat %1 Probleme. Zum Ausführen die Probleme beheben.</translation>
    </message>
    <message>
        <source>The graph is empty. Drag an op from the palette to a lane.</source>
        <translation>Der Graph ist leer. Eine Op aus der Palette auf eine Spur ziehen.</translation>
    </message>
    <message>
        <source>Run %1 is being prepared</source>
        <translation>Lauf %1 wird vorbereitet</translation>
    </message>
    <message>
        <source>Nodes with unknown ops (placeholders) and their consumers do not run.</source>
        <translation>Knoten mit unbekannten Ops (Platzhalter) und ihre Verbraucher laufen nicht.</translation>
    </message>
    <message>
        <source>Run %1: running until you stop it</source>
        <translation>Lauf %1: läuft bis zum Anhalten</translation>
    </message>
    <message>
        <source>Run %1: running</source>
        <translation>Lauf %1: läuft</translation>
    </message>
    <message>
        <source>1 step</source>
        <translation>1 Schritt</translation>
    </message>
    <message>
        <source>%1 steps</source>
        <translation>%1 Schritte</translation>
    </message>
    <message>
        <source>Run %1 started: %2, until you stop it</source>
        <translation>Lauf %1 gestartet: %2, bis zum Anhalten</translation>
    </message>
    <message>
        <source>Run %1 started: %2, %3</source>
        <translation>Lauf %1 gestartet: %2, %3</translation>
    </message>
    <message>
        <source>TF32 allowed: real GPUs may round the inputs of f32 matmul and convolution.</source>
        <translation>TF32 erlaubt: Echte GPUs dürfen die Eingaben von Matmul und Faltung in f32 runden.</translation>
    </message>
    <message>
        <source>Run %1 could not start: %2</source>
        <translation>Lauf %1 konnte nicht starten: %2</translation>
    </message>
    <message>
        <source>After run %1, a tensor that the run did not keep could not be computed: %2</source>
        <translation>Nach Lauf %1 konnte ein nicht behaltener Tensor nicht berechnet werden: %2</translation>
    </message>
    <message>
        <source>%1 modelled, %2 wall time</source>
        <translation>%1 modelliert, %2 Echtzeit</translation>
    </message>
    <message>
        <source>unknown reason</source>
        <translation>Ursache unbekannt</translation>
    </message>
    <message>
        <source>Overlay of %1</source>
        <translation>Overlay von %1</translation>
    </message>
    <message>
        <source>%1 removed</source>
        <translation>%1 entfernt</translation>
    </message>
    <message>
        <source>After run %1, the tensors that the run did not keep could not be computed: %2</source>
        <translation>Nach Lauf %1 konnten die nicht behaltenen Tensoren nicht berechnet werden: %2</translation>
    </message>
    <message>
        <source> (gradient of %1)</source>
        <translation> (Gradient von %1)</translation>
    </message>
    <message>
        <source> (update of %1)</source>
        <translation> (Update von %1)</translation>
    </message>
    <message>
        <source>after %1</source>
        <translation>nach %1</translation>
    </message>
    <message>
        <source>before %1</source>
        <translation>vor %1</translation>
    </message>
    <message>
        <source>before the iterations</source>
        <translation>vor den Iterationen</translation>
    </message>
    <message>
        <source>iteration %1</source>
        <translation>Iteration %1</translation>
    </message>
    <message>
        <source>Run %1 paused %2</source>
        <translation>Lauf %1 pausiert %2</translation>
    </message>
    <message>
        <source>Run %1</source>
        <translation>Lauf %1</translation>
    </message>
    <message>
        <source>Run %1 on %2</source>
        <translation>Lauf %1 auf %2</translation>
    </message>
    <message>
        <source>%1 finished: %2 in %3</source>
        <translation>%1 beendet: %2 in %3</translation>
    </message>
    <message>
        <source>%1 cancelled after %2, %3</source>
        <translation>%1 abgebrochen nach: %2, %3</translation>
    </message>
    <message>
        <source>%1 failed: %2</source>
        <translation>%1 fehlgeschlagen: %2</translation>
    </message>
    <message>
        <source>Trace %1: %2</source>
        <translation>Trace %1: %2</translation>
    </message>
    <message>
        <source>Trace %1: %2 ranks, %3</source>
        <translation>Trace %1: %2 Ränge, %3</translation>
    </message>
    <message>
        <source>Trace %1</source>
        <translation>Trace %1</translation>
    </message>
    <message>
        <source>%1 was recorded from another graph. Open that project first, then the trace.</source>
        <translation>%1 wurde mit einem anderen Graphen aufgezeichnet. Zuerst jenes Projekt öffnen, dann den Trace.</translation>
    </message>
</context>
<context>
    <name>twb::RunThere</name>
    <message>
        <source>Copying %1 to %2</source>
        <translation>%1 wird auf %2 kopiert</translation>
    </message>
    <message>
        <source>Run %1 on %2: %3 of %4 iterations</source>
        <translation>Lauf %1 auf %2: %3 von %4 Iterationen</translation>
    </message>
    <message>
        <source>Cannot run on %1</source>
        <translation>Lauf auf %1 nicht möglich</translation>
    </message>
    <message>
        <source>Connection to %1 lost</source>
        <translation>Verbindung zu %1 verloren</translation>
    </message>
    <message>
        <source>The run continues on %1. To see its results, run the unchanged graph there again with the same number of iterations.</source>
        <translation>Der Lauf geht auf %1 weiter. Um seine Ergebnisse zu sehen, den unveränderten Graphen dort noch einmal mit gleich vielen Iterationen ausführen.</translation>
    </message>
    <message>
        <source>Cannot create a temporary folder for the project: %1. Free some disk space, or make the folder writable.</source>
        <translation>Für das Projekt kann kein temporärer Ordner angelegt werden: %1. Speicherplatz freigeben oder den Ordner beschreibbar machen.</translation>
    </message>
    <message>
        <source>the connection was lost</source>
        <translation>die Verbindung ist abgebrochen</translation>
    </message>
    <message>
        <source>Run %1 continues on %2</source>
        <translation>Lauf %1 läuft auf %2 weiter</translation>
    </message>
    <message>
        <source>The run was long: %1 step times are missing.</source>
        <translation>Der Lauf war lang: %1 Zeiten von Schritten fehlen.</translation>
    </message>
    <message>
        <source>Run %1 has ended, but its files on %2 may not have been deleted: %3</source>
        <translation>Lauf %1 ist beendet, aber seine Dateien auf %2 sind vielleicht nicht gelöscht: %3</translation>
    </message>
    <message>
        <source>The run on %1 ended without a result. Run the graph there again.</source>
        <translation>Der Lauf auf %1 endete ohne Ergebnis. Den Graphen dort noch einmal ausführen.</translation>
    </message>
    <message>
        <source>Run %1 on %2 cancelled after %3 of %4 iterations</source>
        <translation>Lauf %1 auf %2 nach %3 von %4 Iterationen abgebrochen</translation>
    </message>
</context>
<context>
    <name>twb::RunThereActions</name>
    <message>
        <source>Run on &amp;another machine…</source>
        <translation>A&amp;uf anderem Rechner ausführen&#xa0;…</translation>
    </message>
    <message>
        <source>Run in progress</source>
        <translation>Lauf aktiv</translation>
    </message>
    <message>
        <source>Stop run %1 before you run the graph on another machine.</source>
        <translation>Lauf %1 anhalten, bevor der Graph auf einem anderen Rechner ausgeführt wird.</translation>
    </message>
    <message>
        <source>Cannot run on %1</source>
        <translation>Ausführen auf %1 nicht möglich</translation>
    </message>
    <message>
        <source>Cannot calibrate the machine</source>
        <translation>Rechner kann nicht kalibriert werden</translation>
    </message>
    <message>
        <source>Measuring %1…</source>
        <translation>%1 wird gemessen&#xa0;…</translation>
    </message>
    <message>
        <source>Calibration of %1 cancelled</source>
        <translation>Kalibrierung von %1 abgebrochen</translation>
    </message>
    <message>
        <source>Profile kept: %1. The hardware menus of GPUs offer it.</source>
        <translation>Profil gespeichert: %1. Die Hardware-Menüs der GPUs bieten es an.</translation>
    </message>
</context>
<context>
    <name>twb::RunThereDialog</name>
    <message>
        <source>Run on another machine</source>
        <translation>Auf anderem Rechner ausführen</translation>
    </message>
    <message>
        <source>Machine</source>
        <translation>Rechner</translation>
    </message>
    <message>
        <source>Run</source>
        <translation>Ausführen</translation>
    </message>
    <message>
        <source>Calibrate</source>
        <translation>Kalibrieren</translation>
    </message>
    <message>
        <source>Ranks</source>
        <translation>Ränge</translation>
    </message>
    <message>
        <source>Sets the number of processes that mpirun starts on that machine. Each runs the graph.</source>
        <translation>Legt fest, wie viele Prozesse mpirun auf diesem Rechner startet. Jeder führt den Graphen aus.</translation>
    </message>
    <message>
        <source>Measures the first GPU of that machine, or its CPU if it has none, and keeps its profile for simulated GPUs.</source>
        <translation>Misst die erste GPU dieses Rechners, oder ohne GPU seine CPU, und speichert ihr Profil für simulierte GPUs.</translation>
    </message>
    <message>
        <source>user@host or host:folder</source>
        <translation>benutzer@rechner oder rechner:ordner</translation>
    </message>
    <message>
        <source>Path of twb there</source>
        <translation>Pfad von twb dort</translation>
    </message>
    <message>
        <source>Empty: found through PATH</source>
        <translation>Leer: über PATH gefunden</translation>
    </message>
    <message>
        <source>Copies the project and its data files to the machine by ssh, runs the graph there, and shows the times measured there. The machine needs the command-line program twb in the same version. ssh cannot ask for a password: use a key or an agent.</source>
        <translation>Kopiert das Projekt und seine Datendateien mit ssh auf den Rechner, führt den Graphen dort aus und zeigt die dort gemessenen Zeiten. Der Rechner braucht das Kommandozeilenprogramm twb in der gleichen Version. ssh kann kein Passwort abfragen: einen Schlüssel oder einen Agenten verwenden.</translation>
    </message>
</context>
<context>
    <name>twb::SaveModuleDialog</name>
    <message>
        <source>Save to palette</source>
        <translation>In Palette sichern</translation>
    </message>
    <message>
        <source>one line, for the palette</source>
        <translation>eine Zeile, für die Palette</translation>
    </message>
    <message>
        <source>Attributes of the nodes</source>
        <translation>Attribute der Knoten</translation>
    </message>
    <message>
        <source>Attribute of a node</source>
        <translation>Attribut eines Knotens</translation>
    </message>
    <message>
        <source>Name</source>
        <translation>Name</translation>
    </message>
    <message>
        <source>Default</source>
        <translation>Standard</translation>
    </message>
    <message>
        <source>&amp;Name</source>
        <translation>&amp;Name</translation>
    </message>
    <message>
        <source>&amp;Description</source>
        <translation>&amp;Beschreibung</translation>
    </message>
    <message>
        <source>Tick the attributes that can be set wherever the module is used. Space ticks a row, F2 changes its name; rows with one name are set together.</source>
        <translation>Die Attribute ankreuzen, die überall gesetzt werden können, wo das Modul verwendet wird. Die Leertaste kreuzt eine Zeile an, F2 ändert ihren Namen; Zeilen mit demselben Namen werden gemeinsam gesetzt.</translation>
    </message>
    <message>
        <source>A ticked attribute has no name.</source>
        <translation>Ein angekreuztes Attribut hat keinen Namen.</translation>
    </message>
    <message>
        <source>%1 has values of different kinds. Give its rows different names.</source>
        <translation>%1 hat Werte verschiedener Art. Den Zeilen verschiedene Namen geben.</translation>
    </message>
</context>
<context>
    <name>twb::ShortcutTable</name>
    <message>
        <source>Reset</source>
        <translation>Zurücksetzen</translation>
    </message>
    <message>
        <source>Search actions</source>
        <translation>Aktionen suchen</translation>
    </message>
    <message>
        <source>Actions and their shortcuts</source>
        <translation>Aktionen und ihre Tastenkürzel</translation>
    </message>
    <message>
        <source>action</source>
        <translation>Aktion</translation>
    </message>
    <message>
        <source>shortcut</source>
        <translation>Tastenkürzel</translation>
    </message>
    <message>
        <source>Shortcut of the action</source>
        <translation>Tastenkürzel der Aktion</translation>
    </message>
    <message>
        <source>Keys</source>
        <translation>Tasten</translation>
    </message>
    <message>
        <source>%1 is the shortcut of &quot;%2&quot;. Change that shortcut first.</source>
        <translation>%1 ist das Tastenkürzel von „%2“. Zuerst dieses Tastenkürzel ändern.</translation>
    </message>
    <message>
        <source>%1 is a fixed shortcut of &quot;%2&quot;. Choose other keys.</source>
        <translation>%1 ist ein festes Tastenkürzel von „%2“. Andere Tasten wählen.</translation>
    </message>
</context>
<context>
    <name>twb::StartPage</name>
    <message>
        <source>Start page</source>
        <translation>Startseite</translation>
    </message>
    <message>
        <source>New graph</source>
        <translation>Neuer Graph</translation>
    </message>
    <message>
        <source>Open…</source>
        <translation>Öffnen&#xa0;…</translation>
    </message>
    <message>
        <source>Tensor Workbench</source>
        <translation>Tensor Workbench</translation>
    </message>
    <message>
        <source>Which device holds each tensor, and what does each transfer cost?</source>
        <translation>Welches Gerät hält welchen Tensor, und was kostet jeder Transfer?</translation>
    </message>
    <message>
        <source>Recent</source>
        <translation>Zuletzt geöffnet</translation>
    </message>
    <message>
        <source>Examples and lessons</source>
        <translation>Beispiele und Lektionen</translation>
    </message>
</context>
<context>
    <name>twb::StatusLine</name>
    <message>
        <source>Progress of the run</source>
        <translation>Fortschritt des Laufs</translation>
    </message>
    <message>
        <source>%1 of %2</source>
        <translation>%1 von %2</translation>
    </message>
    <message>
        <source>Run %1: %2 iteration</source>
        <translation>Lauf %1: %2 Iteration</translation>
    </message>
    <message>
        <source>Run %1: %2 iterations</source>
        <translation>Lauf %1: %2 Iterationen</translation>
    </message>
    <message>
        <source>Run %1 paused %2</source>
        <translation>Lauf %1 pausiert %2</translation>
    </message>
    <message>
        <source>edited since the run started ·</source>
        <translation>seit dem Start des Laufs geändert ·</translation>
    </message>
    <message>
        <source>Not run yet</source>
        <translation>Noch kein Lauf</translation>
    </message>
    <message>
        <source>results out of date ·</source>
        <translation>Ergebnisse veraltet ·</translation>
    </message>
    <message>
        <source>results up to date ·</source>
        <translation>Ergebnisse aktuell ·</translation>
    </message>
    <message>
        <source>1 node</source>
        <translation>1 Knoten</translation>
    </message>
    <message>
        <source>%1 nodes</source>
        <translation>%1 Knoten</translation>
    </message>
    <message>
        <source>1 edge</source>
        <translation>1 Kante</translation>
    </message>
    <message>
        <source>%1 edges</source>
        <translation>%1 Kanten</translation>
    </message>
    <message>
        <source>1 problem</source>
        <translation>1 Problem</translation>
    </message>
    <message>
        <source>%1 problems</source>
        <translation>%1 Probleme</translation>
    </message>
    <message>
        <source>1 note</source>
        <translation>1 Hinweis</translation>
    </message>
    <message>
        <source>%1 notes</source>
        <translation>%1 Hinweise</translation>
    </message>
    <message>
        <source>revision %1</source>
        <translation>Revision %1</translation>
    </message>
</context>
<context>
    <name>twb::TensorImage</name>
    <message>
        <source>Image</source>
        <translation>Bild</translation>
    </message>
    <message>
        <source>Channel axis</source>
        <translation>Kanalachse</translation>
    </message>
    <message>
        <source>Channel</source>
        <translation>Kanal</translation>
    </message>
    <message>
        <source>Image index</source>
        <translation>Bildindex</translation>
    </message>
    <message>
        <source>RGB</source>
        <translation>RGB</translation>
    </message>
    <message>
        <source>ch. %1</source>
        <translation>Kanal %1</translation>
    </message>
</context>
<context>
    <name>twb::TensorPanel</name>
    <message>
        <source>Table</source>
        <translation>Tabelle</translation>
    </message>
    <message>
        <source>Heat map</source>
        <translation>Heatmap</translation>
    </message>
    <message>
        <source>Image</source>
        <translation>Bild</translation>
    </message>
    <message>
        <source>Line</source>
        <translation>Linie</translation>
    </message>
    <message>
        <source>Histogram</source>
        <translation>Histogramm</translation>
    </message>
    <message>
        <source>Difference</source>
        <translation>Differenz</translation>
    </message>
    <message>
        <source>Relative</source>
        <translation>Relativ</translation>
    </message>
    <message>
        <source>The difference divided by the magnitude of the reference value</source>
        <translation>Die Differenz geteilt durch den Betrag des Referenzwerts</translation>
    </message>
    <message>
        <source>View of the tensor</source>
        <translation>Ansicht des Tensors</translation>
    </message>
    <message>
        <source>Tensor actions</source>
        <translation>Tensor-Aktionen</translation>
    </message>
    <message>
        <source>Slice of the tensor</source>
        <translation>Slice des Tensors</translation>
    </message>
    <message>
        <source>Page of the table</source>
        <translation>Seite der Tabelle</translation>
    </message>
    <message>
        <source>Elements of the tensor</source>
        <translation>Elemente des Tensors</translation>
    </message>
    <message>
        <source>Copy as &amp;NumPy text</source>
        <translation>Als &amp;NumPy-Text kopieren</translation>
    </message>
    <message>
        <source>&amp;Save as .npy…</source>
        <translation>Als .npy &amp;speichern&#xa0;…</translation>
    </message>
    <message>
        <source>Use as &amp;reference</source>
        <translation>Als &amp;Referenz verwenden</translation>
    </message>
    <message>
        <source>Keeps this tensor as the reference; the panel compares it with each tensor of the same shape that you select.</source>
        <translation>Behält diesen Tensor als Referenz; der Bereich vergleicht ihn mit jedem ausgewählten Tensor derselben Shape.</translation>
    </message>
    <message>
        <source>An image needs two to four axes; this tensor is %1.</source>
        <translation>Ein Bild braucht zwei bis vier Achsen; dieser Tensor ist %1.</translation>
    </message>
    <message>
        <source>slice, of %1</source>
        <translation>Slice, von %1</translation>
    </message>
    <message>
        <source>page of the table, of %1</source>
        <translation>Tabellenseite, von %1</translation>
    </message>
    <message>
        <source>statistics</source>
        <translation>Statistik</translation>
    </message>
    <message>
        <source>computing…</source>
        <translation>wird berechnet&#xa0;…</translation>
    </message>
    <message>
        <source>min</source>
        <translation>min</translation>
    </message>
    <message>
        <source>max</source>
        <translation>max</translation>
    </message>
    <message>
        <source>mean</source>
        <translation>Mittelwert</translation>
    </message>
    <message>
        <source>std</source>
        <translation>std</translation>
    </message>
    <message>
        <source>NaN · inf · zero</source>
        <translation>NaN · inf · null</translation>
    </message>
    <message>
        <source>first NaN at</source>
        <translation>erstes NaN bei</translation>
    </message>
    <message>
        <source>first inf at</source>
        <translation>erstes inf bei</translation>
    </message>
    <message>
        <source>Choose “Use as reference” in the menu beside the view, then select another tensor.</source>
        <translation>Im Menü neben der Ansicht „Als Referenz verwenden“ wählen und dann einen anderen Tensor auswählen.</translation>
    </message>
    <message>
        <source>The reference %1 is %2, this tensor is %3. Select a tensor of the same shape.</source>
        <translation>Die Referenz %1 ist %2, dieser Tensor ist %3. Einen Tensor derselben Shape auswählen.</translation>
    </message>
    <message>
        <source>Not enough memory to compare tensors of this size.</source>
        <translation>Zu wenig Arbeitsspeicher, um Tensoren dieser Größe zu vergleichen.</translation>
    </message>
    <message>
        <source>reference</source>
        <translation>Referenz</translation>
    </message>
    <message>
        <source>differences</source>
        <translation>Unterschiede</translation>
    </message>
    <message>
        <source>differ</source>
        <translation>verschieden</translation>
    </message>
    <message>
        <source>%1 of %2</source>
        <translation>%1 von %2</translation>
    </message>
    <message>
        <source>max abs</source>
        <translation>max. absolut</translation>
    </message>
    <message>
        <source>max rel</source>
        <translation>max. relativ</translation>
    </message>
    <message>
        <source>mean abs</source>
        <translation>mittl. absolut</translation>
    </message>
    <message>
        <source>worst at</source>
        <translation>größter bei</translation>
    </message>
    <message>
        <source>this tensor</source>
        <translation>dieser Tensor</translation>
    </message>
    <message>
        <source>reference value</source>
        <translation>Referenzwert</translation>
    </message>
    <message>
        <source>Too large to copy as text</source>
        <translation>Zu groß zum Kopieren als Text</translation>
    </message>
    <message>
        <source>%1 has more than %2 elements.</source>
        <translation>%1 hat mehr als %2 Elemente.</translation>
    </message>
    <message>
        <source>Save it as .npy and read it with np.load().</source>
        <translation>Als .npy speichern und mit np.load() lesen.</translation>
    </message>
    <message>
        <source>Save the tensor</source>
        <translation>Tensor speichern</translation>
    </message>
    <message>
        <source>NumPy arrays (*.npy)</source>
        <translation>NumPy-Arrays (*.npy)</translation>
    </message>
    <message>
        <source>Cannot save the tensor</source>
        <translation>Tensor nicht gespeichert</translation>
    </message>
</context>
<context>
    <name>twb::TimelinePanel</name>
    <message>
        <source>µs</source>
        <translation>µs</translation>
    </message>
    <message>
        <source>ms</source>
        <translation>ms</translation>
    </message>
    <message>
        <source>, modelled times</source>
        <translation>, modellierte Zeiten</translation>
    </message>
    <message>
        <source>modelled</source>
        <translation>modelliert</translation>
    </message>
    <message>
        <source>Timeline of the last iterations</source>
        <translation>Zeitachse der letzten Iterationen</translation>
    </message>
    <message>
        <source>Critical path of the last iteration, underlined: %1%2, of which compute %3 %, transfers %4 %, launches %5 %, waiting %6 %</source>
        <translation>Kritischer Pfad der letzten Iteration, unterstrichen: %1%2, davon Rechnen %3 %, Transfers %4 %, Launches %5 %, Warten %6 %</translation>
    </message>
    <message>
        <source> modelled</source>
        <translation> modelliert</translation>
    </message>
    <message>
        <source>Run the graph to see its steps over time.</source>
        <translation>Den Graphen ausführen, um seine Schritte im Zeitverlauf zu sehen.</translation>
    </message>
    <message>
        <source>%1 on %2: %3 %4</source>
        <translation>%1 auf %2: %3 %4</translation>
    </message>
    <message>
        <source>, on the critical path</source>
        <translation>, auf dem kritischen Pfad</translation>
    </message>
    <message>
        <source>started after %1</source>
        <translation>gestartet nach %1</translation>
    </message>
    <message>
        <source>Ranks with a simulated device have a clock of their own: the times of each rank start at 0 and cannot be compared with those of others.</source>
        <translation>Ränge mit einem simulierten Gerät haben eine eigene Uhr: Die Zeiten jedes Rangs beginnen bei 0 und sind nicht mit denen anderer vergleichbar.</translation>
    </message>
</context>
<context>
    <name>twb::TraceActions</name>
    <message>
        <source>Ope&amp;n trace…</source>
        <translation>Trac&amp;e öffnen&#xa0;…</translation>
    </message>
    <message>
        <source>Open trace</source>
        <translation>Trace öffnen</translation>
    </message>
    <message>
        <source>Traces of twb run (*.json);;All files (*)</source>
        <translation>Traces von twb run (*.json);;Alle Dateien (*)</translation>
    </message>
    <message>
        <source>Cannot open the trace</source>
        <translation>Der Trace kann nicht geöffnet werden</translation>
    </message>
    <message>
        <source>Reading %1…</source>
        <translation>%1 wird gelesen&#xa0;…</translation>
    </message>
    <message>
        <source>Shows a trace written by “twb run --trace” in the timeline, one track per rank and stream.</source>
        <translation>Zeigt einen von „twb run --trace“ geschriebenen Trace in der Zeitachse, mit einer Zeile je Rang und Stream.</translation>
    </message>
    <message>
        <source>This trace has only one rank, so there is nothing to compare.</source>
        <translation>Dieser Trace hat nur einen Rang; es gibt also nichts zu vergleichen.</translation>
    </message>
    <message>
        <source>Ran&amp;ks</source>
        <translation>Rä&amp;nge</translation>
    </message>
    <message>
        <source>Lists the time per iteration of each rank in a run on another machine, also while it goes on, or in a trace, and marks the slowest rank.</source>
        <translation>Listet die Zeit je Iteration jedes Rangs eines Laufs auf einem anderen Rechner, auch während er läuft, oder eines Traces, und markiert den langsamsten Rang.</translation>
    </message>
</context>
<context>
    <name>twb::TrainingPanel</name>
    <message>
        <source>Loss over the steps</source>
        <translation>Loss über die Schritte</translation>
    </message>
    <message>
        <source>step</source>
        <translation>Schritt</translation>
    </message>
    <message>
        <source>Loss</source>
        <translation>Loss</translation>
    </message>
    <message>
        <source>Validation loss</source>
        <translation>Validierungs-Loss</translation>
    </message>
    <message>
        <source>Loss of each step</source>
        <translation>Loss jedes Schritts</translation>
    </message>
    <message>
        <source>Moving average of %1 steps</source>
        <translation>Gleitendes Mittel über %1 Schritte</translation>
    </message>
    <message>
        <source>Add training…</source>
        <translation>Training hinzufügen&#xa0;…</translation>
    </message>
    <message>
        <source>Gradients and updates of the parameters over the epochs</source>
        <translation>Gradienten und Updates der Parameter über die Epochen</translation>
    </message>
    <message>
        <source>Runs in the plot</source>
        <translation>Läufe im Diagramm</translation>
    </message>
    <message>
        <source>Smoothing of the loss</source>
        <translation>Glättung des Loss</translation>
    </message>
    <message>
        <source>Draws a centred moving average on top of the loss.</source>
        <translation>Zeichnet ein zentriertes gleitendes Mittel über den Loss.</translation>
    </message>
    <message>
        <source>Smoothing: off</source>
        <translation>Glättung: aus</translation>
    </message>
    <message>
        <source>Smoothing: %1 steps</source>
        <translation>Glättung: %1 Schritte</translation>
    </message>
    <message>
        <source>Epochs: </source>
        <translation>Epochen: </translation>
    </message>
    <message>
        <source>Epochs</source>
        <translation>Epochen</translation>
    </message>
    <message>
        <source>Sets the number of passes over the data.</source>
        <translation>Legt die Zahl der Durchgänge durch die Daten fest.</translation>
    </message>
    <message>
        <source>Train</source>
        <translation>Trainieren</translation>
    </message>
    <message>
        <source>Stop</source>
        <translation>Anhalten</translation>
    </message>
    <message>
        <source>View of the training run</source>
        <translation>Ansicht des Trainings</translation>
    </message>
    <message>
        <source>Plots the loss of each step.</source>
        <translation>Zeichnet den Loss jedes Schritts.</translation>
    </message>
    <message>
        <source>Parameters</source>
        <translation>Parameter</translation>
    </message>
    <message>
        <source>Lists the gradient norm and the update-to-weight ratio of each parameter.</source>
        <translation>Listet Gradientennorm und Verhältnis Update zu Gewicht jedes Parameters.</translation>
    </message>
    <message>
        <source>Confusion</source>
        <translation>Konfusion</translation>
    </message>
    <message>
        <source>Counts the validation rows by label and prediction.</source>
        <translation>Zählt die Validierungszeilen nach Label und Vorhersage.</translation>
    </message>
    <message>
        <source>Log axis</source>
        <translation>Log-Achse</translation>
    </message>
    <message>
        <source>Plots the loss on a logarithmic axis.</source>
        <translation>Zeichnet den Loss auf einer logarithmischen Achse.</translation>
    </message>
    <message>
        <source>Opens the export and history menu.</source>
        <translation>Öffnet das Menü für Export und Verlauf.</translation>
    </message>
    <message>
        <source>Export weights…</source>
        <translation>Gewichte exportieren&#xa0;…</translation>
    </message>
    <message>
        <source>Export CSV…</source>
        <translation>CSV exportieren&#xa0;…</translation>
    </message>
    <message>
        <source>Export plot…</source>
        <translation>Diagramm exportieren&#xa0;…</translation>
    </message>
    <message>
        <source>Clear earlier runs</source>
        <translation>Frühere Läufe löschen</translation>
    </message>
    <message>
        <source>Cannot train the graph</source>
        <translation>Training nicht möglich</translation>
    </message>
    <message>
        <source>The table is shown after the first epoch.</source>
        <translation>Die Tabelle wird nach der ersten Epoche gezeigt.</translation>
    </message>
    <message>
        <source>No parameter is trained.</source>
        <translation>Kein Parameter wird trainiert.</translation>
    </message>
    <message>
        <source>A confusion matrix needs validation rows and a cross-entropy loss with at most %1 classes.</source>
        <translation>Eine Konfusionsmatrix braucht Validierungszeilen und einen Cross-Entropy-Loss mit höchstens %1 Klassen.</translation>
    </message>
    <message>
        <source>Gradient norm, logarithmic</source>
        <translation>Gradientennorm, logarithmisch</translation>
    </message>
    <message>
        <source>Update-to-weight ratio, logarithmic</source>
        <translation>Verhältnis Update zu Gewicht, logarithmisch</translation>
    </message>
    <message>
        <source>Validation after epoch %1. Each row is a label, each column a prediction.</source>
        <translation>Validierung nach Epoche %1. Jede Zeile ist ein Label, jede Spalte eine Vorhersage.</translation>
    </message>
    <message>
        <source>Pause</source>
        <translation>Pause</translation>
    </message>
    <message>
        <source>Resume</source>
        <translation>Fortsetzen</translation>
    </message>
    <message>
        <source>Pauses the training run.</source>
        <translation>Pausiert das Training.</translation>
    </message>
    <message>
        <source>Resumes the training run.</source>
        <translation>Setzt das Training fort.</translation>
    </message>
    <message>
        <source>Epoch</source>
        <translation>Epoche</translation>
    </message>
    <message>
        <source>%1 of %2</source>
        <translation>%1 von %2</translation>
    </message>
    <message>
        <source>Step</source>
        <translation>Schritt</translation>
    </message>
    <message>
        <source>Validation accuracy</source>
        <translation>Validierungsgenauigkeit</translation>
    </message>
    <message>
        <source>Learning rate</source>
        <translation>Lernrate</translation>
    </message>
    <message>
        <source>Samples/s, modelled</source>
        <translation>Samples/s, modelliert</translation>
    </message>
    <message>
        <source>Samples/s</source>
        <translation>Samples/s</translation>
    </message>
    <message>
        <source>Waiting for data</source>
        <translation>Warten auf Daten</translation>
    </message>
    <message>
        <source>%1 % of the time</source>
        <translation>%1 % der Zeit</translation>
    </message>
    <message>
        <source>Best epoch</source>
        <translation>Beste Epoche</translation>
    </message>
    <message>
        <source>Best %1</source>
        <translation>Bestwert %1</translation>
    </message>
    <message>
        <source>Error</source>
        <translation>Fehler</translation>
    </message>
    <message>
        <source>Export weights</source>
        <translation>Gewichte exportieren</translation>
    </message>
    <message>
        <source>Safetensors (*.safetensors)</source>
        <translation>Safetensors (*.safetensors)</translation>
    </message>
    <message>
        <source>Export the training history</source>
        <translation>Trainingsverlauf exportieren</translation>
    </message>
    <message>
        <source>CSV (*.csv)</source>
        <translation>CSV (*.csv)</translation>
    </message>
    <message>
        <source>Export the plot</source>
        <translation>Diagramm exportieren</translation>
    </message>
    <message>
        <source>PNG image (*.png)</source>
        <translation>PNG-Bild (*.png)</translation>
    </message>
    <message>
        <source>SVG drawing (*.svg)</source>
        <translation>SVG-Zeichnung (*.svg)</translation>
    </message>
    <message>
        <source>Cannot write %1. Choose a writable folder and a name that ends in .png or .svg.</source>
        <translation>%1 kann nicht geschrieben werden. Einen beschreibbaren Ordner und einen Namen mit der Endung .png oder .svg wählen.</translation>
    </message>
    <message>
        <source>Training of %1</source>
        <translation>Training von %1</translation>
    </message>
    <message>
        <source>Confusion matrix: validation rows by label and prediction</source>
        <translation>Konfusionsmatrix: Validierungszeilen nach Label und Vorhersage</translation>
    </message>
    <message>
        <source>Starts a training run from the initial parameter values.</source>
        <translation>Startet ein Training ab den Anfangswerten der Parameter.</translation>
    </message>
    <message>
        <source>Stops the training run. You can export the weights until the next run starts.</source>
        <translation>Hält das Training an. Die Gewichte lassen sich exportieren, bis das nächste beginnt.</translation>
    </message>
    <message>
        <source>Share of rows with this label</source>
        <translation>Anteil an den Zeilen mit diesem Label</translation>
    </message>
    <message>
        <source>Choose Train to start training.</source>
        <translation>Trainieren wählen, um das Training zu starten.</translation>
    </message>
    <message>
        <source>Add a training module to train this graph.</source>
        <translation>Ein Trainingsmodul hinzufügen, um diesen Graphen zu trainieren.</translation>
    </message>
</context>
<context>
    <name>twb::TrainingRun</name>
    <message>
        <source>run %1 · %2</source>
        <translation>Lauf %1 · %2</translation>
    </message>
    <message>
        <source> · best %1 in epoch %2</source>
        <translation> · Bestwert %1 in Epoche %2</translation>
    </message>
</context>
<context>
    <name>twb::TransferPlot</name>
    <message>
        <source>modelled</source>
        <translation>modelliert</translation>
    </message>
    <message>
        <source>Each transfer over the iterations</source>
        <translation>Jeder Transfer über die Iterationen</translation>
    </message>
    <message>
        <source>iteration</source>
        <translation>Iteration</translation>
    </message>
    <message>
        <source>ms</source>
        <translation>ms</translation>
    </message>
    <message>
        <source>GB/s</source>
        <translation>GB/s</translation>
    </message>
    <message>
        <source>bytes/s over whole iterations</source>
        <translation>Bytes/s über ganze Iterationen</translation>
    </message>
    <message>
        <source>% of the iterations&apos; time</source>
        <translation>% der Iterationszeit</translation>
    </message>
    <message>
        <source>ms, cumulative</source>
        <translation>ms, kumuliert</translation>
    </message>
    <message>
        <source>slowest of each %1 iterations</source>
        <translation>langsamste von je %1 Iterationen</translation>
    </message>
    <message>
        <source>partly modelled</source>
        <translation>teils modelliert</translation>
    </message>
    <message>
        <source>dashed: predicted</source>
        <translation>gestrichelt: vorhergesagt</translation>
    </message>
    <message>
        <source>band: median to p95 over %1 iterations</source>
        <translation>Band: Median bis p95 über %1 Iterationen</translation>
    </message>
    <message>
        <source>paused</source>
        <translation>pausiert</translation>
    </message>
    <message>
        <source>iteration %1</source>
        <translation>Iteration %1</translation>
    </message>
    <message>
        <source>slowest of iterations %1 to %2</source>
        <translation>langsamste der Iterationen %1 bis %2</translation>
    </message>
</context>
<context>
    <name>twb::TransfersPanel</name>
    <message>
        <source>Time of each transfer</source>
        <translation>Zeit jedes Transfers</translation>
    </message>
    <message>
        <source>Rate of each transfer</source>
        <translation>Rate jedes Transfers</translation>
    </message>
    <message>
        <source>Average bytes per second</source>
        <translation>Mittlere Bytes pro Sekunde</translation>
    </message>
    <message>
        <source>Share of the iteration</source>
        <translation>Anteil an der Iteration</translation>
    </message>
    <message>
        <source>Cumulative time</source>
        <translation>Kumulierte Zeit</translation>
    </message>
    <message>
        <source>&amp;Logarithmic scale</source>
        <translation>&amp;Logarithmische Skala</translation>
    </message>
    <message>
        <source>&amp;Pause the plot</source>
        <translation>&amp;Diagramm pausieren</translation>
    </message>
    <message>
        <source>&amp;Follow the run</source>
        <translation>Lauf &amp;folgen</translation>
    </message>
    <message>
        <source>&amp;Curves</source>
        <translation>&amp;Kurven</translation>
    </message>
    <message>
        <source>&amp;Whole ledger</source>
        <translation>&amp;Gesamte Bilanz</translation>
    </message>
    <message>
        <source>Fi&amp;lter the ledger</source>
        <translation>B&amp;ilanz filtern</translation>
    </message>
    <message>
        <source>Export pict&amp;ure…</source>
        <translation>&amp;Bild exportieren&#xa0;…</translation>
    </message>
    <message>
        <source>Export C&amp;SV…</source>
        <translation>C&amp;SV exportieren&#xa0;…</translation>
    </message>
    <message>
        <source>E&amp;xport ledger as CSV…</source>
        <translation>Bilan&amp;z als CSV exportieren&#xa0;…</translation>
    </message>
    <message>
        <source>The 3 most expensive</source>
        <translation>Die 3 teuersten</translation>
    </message>
    <message>
        <source>The 10 most expensive</source>
        <translation>Die 10 teuersten</translation>
    </message>
    <message>
        <source>The 30 most expensive</source>
        <translation>Die 30 teuersten</translation>
    </message>
    <message>
        <source>All, up to %1</source>
        <translation>Alle, bis zu %1</translation>
    </message>
    <message>
        <source>Selected transfers</source>
        <translation>Ausgewählte Transfers</translation>
    </message>
    <message>
        <source>Show or hide the curve</source>
        <translation>Kurve zeigen oder verbergen</translation>
    </message>
    <message>
        <source>Nothing to export yet. Run the graph first.</source>
        <translation>Noch nichts zu exportieren. Zuerst den Graphen ausführen.</translation>
    </message>
    <message>
        <source>Export the transfer plot</source>
        <translation>Transferdiagramm exportieren</translation>
    </message>
    <message>
        <source>transfers</source>
        <translation>Transfers</translation>
    </message>
    <message>
        <source>PNG image (*.png)</source>
        <translation>PNG-Bild (*.png)</translation>
    </message>
    <message>
        <source>SVG drawing (*.svg)</source>
        <translation>SVG-Zeichnung (*.svg)</translation>
    </message>
    <message>
        <source>Transfers of %1</source>
        <translation>Transfers von %1</translation>
    </message>
    <message>
        <source>Cannot write the picture</source>
        <translation>Bild nicht geschrieben</translation>
    </message>
    <message>
        <source>Cannot write %1. Choose a writable folder and a name that ends in .png or .svg.</source>
        <translation>%1 kann nicht geschrieben werden. Einen beschreibbaren Ordner und einen Namen mit der Endung .png oder .svg wählen.</translation>
    </message>
    <message>
        <source>Export the transfers</source>
        <translation>Transfers exportieren</translation>
    </message>
    <message>
        <source>Export the ledger</source>
        <translation>Bilanz exportieren</translation>
    </message>
    <message>
        <source>ledger</source>
        <translation>bilanz</translation>
    </message>
    <message>
        <source>Table (*.csv)</source>
        <translation>Tabelle (*.csv)</translation>
    </message>
    <message>
        <source>Cannot write the table</source>
        <translation>Tabelle nicht geschrieben</translation>
    </message>
    <message>
        <source>MODELLED</source>
        <translation>MODELLIERT</translation>
    </message>
    <message>
        <source>ms</source>
        <translation>ms</translation>
    </message>
    <message>
        <source>Plots the time of each transfer.</source>
        <translation>Zeichnet die Zeit jedes Transfers.</translation>
    </message>
    <message>
        <source>GB/s</source>
        <translation>GB/s</translation>
    </message>
    <message>
        <source>Plots the rate of each transfer while it copies.</source>
        <translation>Zeichnet die Rate jedes Transfers während der Kopie.</translation>
    </message>
    <message>
        <source>bytes/s</source>
        <translation>Bytes/s</translation>
    </message>
    <message>
        <source>Plots each transfer&apos;s bytes per second, averaged over whole iterations.</source>
        <translation>Zeichnet die Bytes pro Sekunde jedes Transfers, gemittelt über ganze Iterationen.</translation>
    </message>
    <message>
        <source>share</source>
        <translation>Anteil</translation>
    </message>
    <message>
        <source>Plots each transfer&apos;s share of the iterations&apos; time.</source>
        <translation>Zeichnet den Anteil jedes Transfers an der Iterationszeit.</translation>
    </message>
    <message>
        <source>sum</source>
        <translation>Summe</translation>
    </message>
    <message>
        <source>Plots the cumulative time of each transfer&apos;s copies.</source>
        <translation>Zeichnet die kumulierte Zeit der Kopien jedes Transfers.</translation>
    </message>
    <message>
        <source>Ledger</source>
        <translation>Bilanz</translation>
    </message>
    <message>
        <source>Shows the whole ledger, with all its columns and a filter.</source>
        <translation>Zeigt die gesamte Bilanz mit allen Spalten und einem Filter.</translation>
    </message>
    <message>
        <source>Opens the plot options and the export.</source>
        <translation>Öffnet die Optionen des Diagramms und den Export.</translation>
    </message>
    <message>
        <source>Filter the ledger</source>
        <translation>Bilanz filtern</translation>
    </message>
    <message>
        <source>Filter by edge, kind, memory or timing…</source>
        <translation>Nach Kante, Art, Speicher oder Zeitquelle filtern&#xa0;…</translation>
    </message>
    <message>
        <source>No transfers: no tensor moves to another device.</source>
        <translation>Keine Transfers: Kein Tensor wechselt das Gerät.</translation>
    </message>
    <message>
        <source>Run the graph to plot its transfers.</source>
        <translation>Ausführen, um Transfers zu zeichnen.</translation>
    </message>
    <message>
        <source>per iteration</source>
        <translation>pro Iteration</translation>
    </message>
    <message>
        <source>share of the iteration</source>
        <translation>Anteil an der Iteration</translation>
    </message>
    <message>
        <source>vs. prediction</source>
        <translation>gegenüber Vorhersage</translation>
    </message>
    <message>
        <source>Most expensive &amp;transfers first</source>
        <translation>&amp;Teuerste Transfers zuerst</translation>
    </message>
</context>
<context>
    <name>twb::TrustTable</name>
    <message>
        <source>&amp;Forget the answer</source>
        <translation>Antwort &amp;vergessen</translation>
    </message>
    <message>
        <source>Asks again when a project of this folder is opened.</source>
        <translation>Fragt erneut, wenn ein Projekt dieses Ordners geöffnet wird.</translation>
    </message>
    <message>
        <source>A project can bring plug-ins in the folder ops beside it. The plug-ins of ticked folders are used. A plug-in that is in use stays so until the program ends.</source>
        <translation>Ein Projekt kann Plug-ins im Ordner ops neben seiner Datei mitbringen. Die Plug-ins angekreuzter Ordner werden verwendet. Ein Plug-in, das verwendet wird, bleibt bis zum Ende des Programms in Verwendung.</translation>
    </message>
    <message>
        <source>Plug-in folders</source>
        <translation>Plug-in-Ordner</translation>
    </message>
    <message>
        <source>plug-in folder</source>
        <translation>Plug-in-Ordner</translation>
    </message>
</context>
<context>
    <name>twb::WatchActions</name>
    <message>
        <source>Cannot watch the program</source>
        <translation>Programm nicht beobachtbar</translation>
    </message>
    <message>
        <source>&amp;Watch a process…</source>
        <translation>Prozess &amp;beobachten&#xa0;…</translation>
    </message>
</context>
<context>
    <name>twb::WatchDialog</name>
    <message>
        <source>Watch a process</source>
        <translation>Prozess beobachten</translation>
    </message>
    <message>
        <source>Programs that can be watched</source>
        <translation>Beobachtbare Programme</translation>
    </message>
    <message>
        <source>No program can be watched now. Start a PyTorch script with these lines at its beginning. It appears here as soon as it runs.</source>
        <translation>Derzeit ist kein Programm beobachtbar. Ein PyTorch-Skript mit diesen Zeilen am Anfang starten. Es erscheint hier, sobald es läuft.</translation>
    </message>
    <message>
        <source>Watch</source>
        <translation>Beobachten</translation>
    </message>
    <message>
        <source>Shows the transfers, waits and steps of a running PyTorch program as they happen.</source>
        <translation>Zeigt Transfers, Wartezeiten und Schritte eines laufenden PyTorch-Programms, sobald sie auftreten.</translation>
    </message>
</context>
</TS>
