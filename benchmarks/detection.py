"""Detection of languages in short text: how often it is right, and how sure it is of text in other languages.

    python -m benchmarks.detection --data DATA [--model RUN]

Text in the languages of the model consists of parts of test text (Tatoeba, LibreOffice help, Home Assistant), drawn
with a seed; text in ten other languages is ours. A text in another language that is said to be in one of the model's
with a confidence of 0.8 or more is a false claim.
"""

from pathlib import Path
from random import Random
from typing import Annotated, Any

import typer

from benchmarks.output import table
from limelight.formats import read_pairs
from limelight.storage.layout import DEFAULT, DETECTOR, find_model
from limelight.storage.tables import read_detector
from limelight.text.foreign import foreign_evidence

CLAIM, UNSURE = 0.8, 0.5
EACH = 200
"""Texts of each language of the model and each length."""
SIZES = {"1 word": (1,), "2 words": (2,), "3 to 5 words": (3, 4, 5), "sentences": ()}
CORPORA = ("tatoeba", "libreoffice-help", "home-assistant")

WORDS = """
es: casa perro mañana gracias ventana cuchara noche hermano zapato lluvia mesa queso árbol guardar cancelar abrir
es: cerrar buscar ayuda ajustes
it: casa cane domani grazie finestra cucchiaio notte fratello scarpa pioggia tavolo formaggio albero salva annulla
it: aprire chiudi cerca aiuto impostazioni
nl: huis hond morgen bedankt venster lepel nacht broer schoen regen tafel kaas boom opslaan annuleren openen sluiten
nl: zoeken hulp instellingen
pt: casa cão amanhã obrigado janela colher noite irmão sapato chuva mesa queijo árvore salvar cancelar abrir fechar
pt: buscar ajuda configurações
pl: dom pies jutro dziękuję okno łyżka noc brat but deszcz stół ser drzewo zapisz anuluj otwórz zamknij szukaj pomoc
pl: ustawienia
sv: hus hund imorgon tack fönster sked natt bror sko regn bord ost träd spara avbryt öppna stäng sök hjälp
sv: inställningar
cs: dům pes zítra děkuji okno lžíce noc bratr bota déšť stůl sýr strom uložit zrušit otevřít zavřít hledat pomoc
cs: nastavení
tr: ev köpek yarın teşekkürler pencere kaşık gece kardeş ayakkabı yağmur masa peynir ağaç kaydet iptal aç kapat ara
tr: yardım ayarlar
fi: talo koira huomenna kiitos ikkuna lusikka yö veli kenkä sade pöytä juusto puu tallenna peruuta avaa sulje etsi
fi: apua asetukset
da: hus hund imorgen tak vindue ske nat bror sko regn bord ost træ gem annuller åbn luk søg hjælp indstillinger
"""
PAIRS = """
es: buenos días | casa grande | perro negro | muchas gracias | hasta mañana | guardar archivo | abrir ventana |
es: hermano pequeño | mucha lluvia | queso fresco
it: buon giorno | casa grande | cane nero | grazie mille | ciao bella | salva file | apri finestra | fratello piccolo
it: | molta pioggia | formaggio fresco
nl: goede morgen | groot huis | zwarte hond | dank je | tot morgen | bestand opslaan | venster openen | kleine broer |
nl: veel regen | verse kaas
pt: bom dia | casa grande | cão preto | muito obrigado | até amanhã | salvar arquivo | abrir janela | irmão pequeno |
pt: muita chuva | queijo fresco
pl: dzień dobry | duży dom | czarny pies | dziękuję bardzo | do jutra | zapisz plik | otwórz okno | mały brat | dużo
pl: deszczu | świeży ser
sv: god morgon | stort hus | svart hund | tack så | vi ses | spara fil | öppna fönster | lilla bror | mycket regn |
sv: färsk ost
cs: dobrý den | velký dům | černý pes | děkuji moc | na shledanou | uložit soubor | otevřít okno | malý bratr | hodně
cs: deště | čerstvý sýr
tr: iyi günler | büyük ev | siyah köpek | çok teşekkürler | yarın görüşürüz | dosyayı kaydet | pencereyi aç | küçük
tr: kardeş | çok yağmur | taze peynir
fi: hyvää päivää | iso talo | musta koira | paljon kiitoksia | huomiseen asti | tallenna tiedosto | avaa ikkuna |
fi: pieni veli | paljon sadetta | tuore juusto
da: god morgen | stort hus | sort hund | mange tak | vi ses | gem fil | åbn vindue | lille bror | meget regn | frisk
da: ost
"""
PHRASES = """
es: el perro come carne | abre la puerta ahora | mi hermano vive en Madrid | no puedo dormir hoy | guardar todos los
es: cambios | la casa está vacía | tenemos mucha hambre | llueve desde ayer
it: il cane mangia carne | apri la porta adesso | mio fratello vive a Roma | non posso dormire oggi | salva tutte le
it: modifiche | la casa è vuota | abbiamo molta fame | piove da ieri
nl: de hond eet vlees | open nu de deur | mijn broer woont in Utrecht | ik kan niet slapen | alle wijzigingen opslaan
nl: | het huis is leeg | wij hebben veel honger | het regent sinds gisteren
pt: o cão come carne | abre a porta agora | meu irmão vive em Lisboa | não consigo dormir hoje | salvar todas as
pt: alterações | a casa está vazia | temos muita fome | chove desde ontem
pl: pies je mięso | otwórz teraz drzwi | mój brat mieszka w Krakowie | nie mogę dziś spać | zapisz wszystkie zmiany |
pl: dom jest pusty | jesteśmy bardzo głodni | pada od wczoraj
sv: hunden äter kött | öppna dörren nu | min bror bor i Lund | jag kan inte sova | spara alla ändringar | huset är
sv: tomt | vi är mycket hungriga | det regnar sedan igår
cs: pes žere maso | otevři teď dveře | můj bratr bydlí v Brně | nemůžu dnes spát | uložit všechny změny | dům je
cs: prázdný | máme velký hlad | prší od včerejška
tr: köpek et yiyor | şimdi kapıyı aç | kardeşim Ankara'da yaşıyor | bugün uyuyamıyorum ben | tüm değişiklikleri kaydet
tr: | ev bomboş duruyor | biz çok açız | dünden beri yağıyor
fi: koira syö lihaa | avaa ovi nyt | veljeni asuu Turussa | en voi nukkua tänään | tallenna kaikki muutokset | talo on
fi: tyhjä | meillä on kova nälkä | on satanut eilisestä
da: hunden spiser kød | luk døren op nu | min bror bor i Odense | jeg kan ikke sove | gem alle ændringer | huset er
da: tomt | vi er meget sultne | det har regnet siden i går
"""
SENTENCES = """
es: El tren sale a las ocho de la mañana desde la estación central. | Mi abuela preparaba una sopa deliciosa todos los
es: domingos. | No se pudo guardar el documento porque el disco está lleno.
it: Il treno parte alle otto di mattina dalla stazione centrale. | Mia nonna preparava una zuppa deliziosa ogni
it: domenica. | Impossibile salvare il documento perché il disco è pieno.
nl: De trein vertrekt om acht uur van het centraal station. | Mijn oma maakte elke zondag een heerlijke soep. | Het
nl: document kon niet worden opgeslagen omdat de schijf vol is.
pt: O comboio parte às oito da manhã da estação central. | A minha avó preparava uma sopa deliciosa todos os domingos.
pt: | Não foi possível salvar o documento porque o disco está cheio.
pl: Pociąg odjeżdża o ósmej rano z dworca głównego. | Moja babcia w każdą niedzielę gotowała pyszną zupę. | Nie można
pl: zapisać dokumentu, ponieważ dysk jest pełny.
sv: Tåget avgår klockan åtta från centralstationen. | Min mormor lagade en god soppa varje söndag. | Dokumentet kunde
sv: inte sparas eftersom disken är full.
cs: Vlak odjíždí v osm hodin ráno z hlavního nádraží. | Moje babička vařila každou neděli výbornou polévku. | Dokument
cs: nelze uložit, protože disk je plný.
tr: Tren sabah saat sekizde merkez istasyonundan kalkıyor. | Büyükannem her pazar lezzetli bir çorba yapardı. | Disk
tr: dolu olduğu için belge kaydedilemedi.
fi: Juna lähtee kahdeksalta päärautatieasemalta. | Isoäitini keitti joka sunnuntai herkullista keittoa. | Asiakirjaa
fi: ei voitu tallentaa, koska levy on täynnä.
da: Toget afgår klokken otte fra hovedbanegården. | Min bedstemor lavede en lækker suppe hver søndag. | Dokumentet
da: kunne ikke gemmes, fordi disken er fuld.
"""


def foreign_texts() -> dict[str, dict[str, list[str]]]:
    """Texts by length and language."""
    found: dict[str, dict[str, list[str]]] = {}
    for size, block in zip(SIZES, (WORDS, PAIRS, PHRASES, SENTENCES), strict=True):
        by_language: dict[str, str] = {}
        for line in block.strip().splitlines():
            code, _, texts = line.partition(":")
            by_language[code] = f"{by_language.get(code, '')} {texts}"
        divider = None if size == "1 word" else "|"
        found[size] = {code: [text.strip() for text in each.split(divider)] for code, each in by_language.items()}
    return found


def own_texts(data: Path, language: str, seed: int = 1) -> dict[str, list[str]]:
    """Parts of test text in a language by length."""
    lines = list[str]()
    for other in ("de", "fr"):
        for path in (data / corpus / f"en-{other}.test.tsv.gz" for corpus in CORPORA):
            if language in ("en", other) and path.exists():
                lines += [pair.source if language == "en" else pair.target for pair in read_pairs([path])]
    draw, found = Random(seed), dict[str, list[str]]()
    for size, counts in SIZES.items():
        texts = found.setdefault(size, [])
        while len(texts) < EACH:
            words = draw.choice(lines).split()
            count = draw.choice(counts) if counts else max(6, len(words))
            first = draw.randrange(max(1, len(words) - count + 1))
            text = " ".join(words[first : first + count]).strip(".,;:!?()")
            if len(words) >= count and sum(map(str.isalpha, text)) >= 3 * count and not {*"{}<>%$_="} & {*text}:
                texts.append(text)
    return found


def main(
    data: Annotated[Path, typer.Option(help="Folder with the test text.")],
    model: Annotated[str, typer.Option(help="A model of English, German and French.")] = DEFAULT,
) -> None:
    """Detect, and print a table."""
    detector = read_detector(find_model(model) / DETECTOR)
    if detector is None:
        raise typer.BadParameter(f"{model}: it has no detector of languages")

    def detected(text: str) -> tuple[str, float]:
        other, sure = foreign_evidence(text, detector.languages)
        return (other, sure) if other else detector.detect(text)

    rows = list[dict[str, Any]]()
    own = {code: own_texts(data, code) for code in detector.languages}
    for size, foreign in foreign_texts().items():
        ours = [(code, *detected(text)) for code, texts in own.items() for text in texts[size]]
        theirs = [(code, *detected(text)) for code, texts in foreign.items() for text in texts]
        claims = [each for each in theirs if each[1] in own and each[2] >= CLAIM]
        rows.append(
            {
                "length": size,
                "right": f"{sum(code == found for code, found, _ in ours)} of {len(ours)}",
                "unsure of these": sum(sure < UNSURE for *_, sure in ours),
                "other languages": len(theirs),
                "named as other": sum(found not in own for _, found, _ in theirs),
                "unsure": sum(found in own and sure < UNSURE for _, found, sure in theirs),
                "false claims": len(claims),
            }
        )
    print(table(list(rows[0]), [list(row.values()) for row in rows]))


if __name__ == "__main__":
    typer.run(main)
