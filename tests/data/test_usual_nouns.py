from pathlib import Path

import numpy as np

from tellapart.data.pack_types import Caption, PackImage
from tellapart.data.usual_nouns import usual_nouns
from tellapart.data.write_pack import write_pack
from tellapart.text.vocabulary import Vocabulary


def test_the_more_frequent_tag_wins(tmp_path: Path) -> None:
    """`run` is a noun once of three times, `dog` always, `it` never, and an unknown word is none."""
    words = ("dog", "run", "it", "run", "run", "dog", "zebra")
    captions = [Caption(0, " ".join(words), words, "train")]
    vocabulary = Vocabulary.from_words(["dog", "run", "it"])
    pack = write_pack(tmp_path / "pack", "p", "", [PackImage("0", "", "train")], captions, vocabulary, {})
    pack.save_column("nouns", np.asarray([True, True, False, False, False, True, True]), "token")
    assert usual_nouns(pack).tolist() == [False] * 4 + [True, False, False]
