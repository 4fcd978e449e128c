"""SPICE (Anderson et al. 2016), computed by its reference jar: its scene graphs need the jar's parser.

It needs a Java runtime; the package pycocoevalcap, which contains spice-1.0.jar; and the CoreNLP 3.6.0 jars
stanford-corenlp-3.6.0.jar and stanford-corenlp-3.6.0-models.jar, in the folder TELLAPART_CORENLP or in pycocoevalcap's
spice/lib.
"""

import importlib.util
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from tellapart.core.errors import InputError
from tellapart.metrics.captions.encoded import check
from tellapart.metrics.captions.values import Score

CORENLP = ("stanford-corenlp-3.6.0.jar", "stanford-corenlp-3.6.0-models.jar")
ARCHIVE = "http://nlp.stanford.edu/software/stanford-corenlp-full-2015-12-09.zip"


def locate() -> tuple[str, Path, Path]:
    """The path of Java, the folder of the SPICE jar, and the folder of the CoreNLP jars; an error if one is missing."""
    java = shutil.which("java")
    if java is None:
        raise InputError("SPICE needs Java, and no `java` was found: install a Java runtime, or do not compute SPICE.")
    found = importlib.util.find_spec("pycocoevalcap")
    places = [Path(root) / "spice" for root in (found.submodule_search_locations or [])] if found else []
    spice = next((place for place in places if (place / "spice-1.0.jar").is_file()), None)
    if spice is None:
        raise InputError(
            "SPICE's jar is part of pycocoevalcap, which is not installed: run `pip install pycocoevalcap`."
        )
    named = os.environ.get("TELLAPART_CORENLP")
    folders = [*([Path(named)] if named else []), spice / "lib"]
    for folder in folders:
        if all((folder / jar).is_file() for jar in CORENLP):
            return java, spice, folder
    raise InputError(
        f"SPICE needs {CORENLP[0]} and {CORENLP[1]}, which are not in {' and '.join(map(str, folders))}. "
        f"Download {ARCHIVE}, unpack it, and set TELLAPART_CORENLP to its folder; or do not compute SPICE."
    )


def spice(candidates: Sequence[str], references: Sequence[Sequence[str]]) -> Score:
    """SPICE of tokenised captions: F-score of scene graph tuples; the corpus value is the mean."""
    check(candidates, references)
    java, folder, corenlp = locate()
    rows = [
        {"image_id": index, "test": candidate, "refs": list(group)}
        for index, (candidate, group) in enumerate(zip(candidates, references))
    ]
    jars = os.pathsep.join(
        map(str, [folder / "spice-1.0.jar", *(corenlp / jar for jar in CORENLP), folder / "lib" / "*"])
    )
    with tempfile.TemporaryDirectory() as scratch:
        given, made = Path(scratch) / "input.json", Path(scratch) / "output.json"
        given.write_text(json.dumps(rows), "utf-8")
        command = [java, "-Xmx8G", "-cp", jars, "edu.anu.spice.SpiceScorer", str(given), "-out", str(made), "-silent"]
        ran = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        if ran.returncode != 0 or not made.is_file():
            last = (ran.stderr.strip().splitlines() or ["no message"])[-1]
            raise InputError(f"SPICE's jar ended with code {ran.returncode}: {last}.")
        results = json.loads(made.read_text("utf-8"))
    values = {int(row["image_id"]): float(row["scores"]["All"]["f"]) for row in results}
    each = np.array([values[index] for index in range(len(rows))])
    return Score(float(np.mean(each)), each)
