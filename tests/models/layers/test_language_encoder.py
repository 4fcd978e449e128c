"""Word pieces by table equal the tokeniser's own, and encoders read our sentences. Models are tiny and made here."""

from pathlib import Path

import pytest
import torch

from tellapart.core.errors import InputError
from tellapart.core.types import Texts
from tellapart.models.inputs import ModelInputs
from tellapart.models.layers.language_encoder import LanguageEncoder, WordPieces
from tellapart.text.vocabulary import END, PAD, START, UNK, Vocabulary

transformers = pytest.importorskip("transformers")
VOCABULARY = Vocabulary.from_words(["dog", "runs", "playing", "a"])
PIECES = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "dog", "run", "##s", "play", "##ing"]


@pytest.fixture
def bert(tmp_path: Path) -> Path:
    """A BERT of two layers with a vocabulary of eleven pieces."""
    folder = tmp_path / "bert"
    folder.mkdir()
    (folder / "vocab.txt").write_text("\n".join(PIECES))
    transformers.BertTokenizer(str(folder / "vocab.txt")).save_pretrained(folder)
    torch.manual_seed(0)
    config = transformers.BertConfig(
        vocab_size=len(PIECES), hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=16
    )
    transformers.BertModel(config).save_pretrained(folder)
    return folder


def texts() -> Texts:
    tokens = torch.tensor([[START, 7, 4, 5, END], [START, 6, END, PAD, PAD], [START, UNK, 4, END, PAD]])
    return Texts(tokens, torch.tensor([5, 3, 4]))


def test_pieces_equal_the_tokenisers(bert: Path) -> None:
    tokeniser = transformers.AutoTokenizer.from_pretrained(bert)
    found, mask = WordPieces.of_tokeniser(tokeniser, VOCABULARY)(texts().tokens)
    expected = tokeniser(["a dog runs", "playing", "[UNK] dog"], padding=True, return_tensors="pt")
    assert torch.equal(found * mask, expected["input_ids"] * expected["attention_mask"])
    assert torch.equal(mask.long(), expected["attention_mask"])


def test_states_do_not_depend_on_padding(bert: Path) -> None:
    encoder = LanguageEncoder(str(bert), ModelInputs(VOCABULARY, 1)).eval()
    together, mask = encoder(texts())
    alone, _ = encoder(texts().select(torch.tensor([1])))
    assert torch.allclose(together[1, : alone.shape[1]], alone[0], atol=1e-5)
    assert mask.sum(1).tolist() == [6, 4, 4] and encoder.width == 16


def test_layers_can_be_left_out_and_weights_left_unread(bert: Path) -> None:
    encoder = LanguageEncoder(str(bert), ModelInputs(VOCABULARY, 1, load_pretrained=False), layers=1)
    assert len(encoder.model.encoder.layer) == 1
    trained = LanguageEncoder(str(bert), ModelInputs(VOCABULARY, 1), layers=1)
    encoder.load_state_dict(trained.state_dict())
    assert torch.equal(encoder.eval()(texts())[0], trained.eval()(texts())[0])


def test_a_folder_without_a_model_is_rejected(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be opened"):
        LanguageEncoder(str(tmp_path), ModelInputs(VOCABULARY, 1))


def test_a_model_that_is_not_built_like_bert_is_read_whole_or_rejected(bert: Path, tmp_path: Path) -> None:
    folder = tmp_path / "distilled"
    transformers.AutoTokenizer.from_pretrained(bert).save_pretrained(folder)
    config = transformers.DistilBertConfig(vocab_size=len(PIECES), dim=16, n_layers=2, n_heads=2, hidden_dim=16)
    transformers.DistilBertModel(config).save_pretrained(folder)
    with pytest.raises(InputError, match="keep them all with text_layers=0"):
        LanguageEncoder(str(folder), ModelInputs(VOCABULARY, 1), layers=1)
    assert LanguageEncoder(str(folder), ModelInputs(VOCABULARY, 1))(texts())[0].shape[2] == 16


def test_an_unknown_word_does_not_end_the_text(tmp_path: Path) -> None:
    """CLIP's unknown piece is its end piece: a text ended at the first word outside the vocabulary."""
    import tiny_hub

    tiny_hub.save_clip_tokenizer(tmp_path / "clip")
    tokeniser = transformers.AutoTokenizer.from_pretrained(tmp_path / "clip")
    vocabulary = Vocabulary.from_words(["a", "red", "ball"])
    tokens = torch.tensor([[1, *vocabulary.encode(["a", "red", "tabby", "ball"]), 2]])
    pieces, mask = WordPieces.of_tokeniser(tokeniser, vocabulary)(tokens)
    assert mask.all() and pieces[0].tolist().count(tokeniser.eos_token_id) == 1
    assert pieces[0, -1] == tokeniser.eos_token_id
