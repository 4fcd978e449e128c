"""The reference tokeniser: Stanford's, in Java, as pycocoevalcap runs it."""

import shutil

import pytest


def java_tokens(captions: list[str]) -> list[str]:
    """Tokens by pycocoevalcap; skips the test where that or Java is missing."""
    need_java()
    from pycocoevalcap.tokenizer.ptbtokenizer import PTBTokenizer

    found = PTBTokenizer().tokenize({index: [{"caption": caption}] for index, caption in enumerate(captions)})
    return [found[index][0] for index in range(len(captions))]


def need_java() -> None:
    pytest.importorskip("pycocoevalcap", reason="pycocoevalcap is not installed")
    if shutil.which("java") is None:
        pytest.skip("no Java runtime on this machine")
