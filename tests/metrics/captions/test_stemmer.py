"""The stemmer on words that take each of its paths; expected stems are those of the METEOR release's own stemmer."""

import subprocess
import zipfile
from pathlib import Path

import pytest

from reference_tokens import need_java
from tellapart.metrics.captions.meteor import tables as meteor_tables
from tellapart.metrics.captions.meteor.stemmer import stem

STEMS = """running run|dogs dog|ponies poni|ties tie|caresses caress|gas gas|this this|kiwis kiwi
agreed agre|bleed bleed
hoped hope|hopped hop|luxuriated luxuri|sized size|falling fall|fizzed fizz|happy happi|say say|by by|boys boy
yellow yellow|generation generat|communism communism|arsenal arsenal|relational relat|conditional condit
vietnamization vietnam|decisiveness decis|hopefulness hope|sensibiliti sensibl|apologi apolog|carefully care
quickly quick|fly fli|triplicate triplic|electriciti electr|goodness good|formative format|adoption adopt
revival reviv|replacement replac|adjustment adjust|rate rate|cease ceas|controll control|roll roll|skies sky
dying die|news news|inning inning|proceed proceed|early earli|o'clock o'clock|dog's dog|dogs' dog|'tis tis
being be|skiing ski|is is|as as|bus bus|us us|bed bed|beds bed|cry cri|crying cri|using use
cries cri|died die|by's by"""


def test_each_path() -> None:
    pairs = [pair.split() for line in STEMS.split("\n") for pair in line.split("|")]
    assert [stem(word) for word, _ in pairs] == [expected for _, expected in pairs]


@pytest.mark.slow
@pytest.mark.java
def test_every_word_of_wordnet(tmp_path: Path) -> None:
    """All words of the release's synonym table, by the release's stemmer."""
    need_java()
    jar = meteor_tables.release() / "meteor-1.5.jar"
    with zipfile.ZipFile(jar) as release:
        words = release.read("synonym/english.synsets").decode().split("\n")[::2]
    (tmp_path / "Stems.java").write_text(
        "import java.io.*; public class Stems { public static void main(String[] a) throws Exception {"
        " var stemmer = new org.tartarus.snowball.ext.englishStemmer();"
        ' var in = new BufferedReader(new InputStreamReader(System.in, "UTF-8"));'
        ' var out = new PrintStream(System.out, false, "UTF-8"); String line;'
        " while ((line = in.readLine()) != null) { stemmer.setCurrent(line); stemmer.stem();"
        " out.println(stemmer.getCurrent()); } out.flush(); } }"
    )
    ran = subprocess.run(
        ["java", "-cp", str(jar), str(tmp_path / "Stems.java")], input="\n".join(words), capture_output=True, text=True
    )
    if ran.returncode != 0:
        pytest.skip(f"this Java cannot run a source file: {ran.stderr.strip()[:100]}")
    assert [stem(word) for word in words] == ran.stdout.split("\n")[: len(words)]
