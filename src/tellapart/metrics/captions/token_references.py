"""Reference captions as token ids, and n-gram counts between captions, for the rewards of `token_reward.py`."""

from collections.abc import Iterator

import torch
from torch import Tensor, nn

from tellapart.core.errors import InputError

PAD, END = 0, 2
SAMPLE_FILLER, REFERENCE_FILLER = -1, -2  # unequal, so that padding never matches
LONGEST = 255
BLOCK = 128


def clean(tokens: Tensor, filler: int) -> tuple[Tensor, Tensor]:
    """Caption tokens [N,T] with `filler` after the first END (or PAD), and each caption's length [N] with END."""
    if tokens.shape[1] > LONGEST:
        raise InputError(f"Rewards are for captions of at most {LONGEST} tokens, not {tokens.shape[1]}.")
    ended = ((tokens == END).cumsum(1) - (tokens == END).long()) > 0  # after the first END
    inside = (~ended & (tokens != PAD)).long().cumprod(1).bool()
    return torch.where(inside, tokens, filler).int(), inside.sum(1)


def occurrences(first: Tensor, second: Tensor, order: int, only_before: bool = False) -> Iterator[Tensor]:
    """For n = 1 to `order`: how often second [R,...] contains the n-gram at each position of first: [T-n+1, ...].

    With `only_before`, at an earlier position. Bytes are summed, which is many times faster than wider counts, so
    captions must have fewer than 256 words.
    """
    words = first[:, None] == second[None]  # [T,R,...]
    same = words
    for n in range(order):
        if n:
            same = same[:-1, :-1] & words[n:, n:]
        if only_before:
            place, other = (torch.arange(size, device=first.device) for size in same.shape[:2])
            before = (other < place[:, None]).view(*same.shape[:2], *(1,) * (same.ndim - 2))
            yield (same & before).view(torch.uint8).sum(1, dtype=torch.uint8)
        else:
            yield same.view(torch.uint8).sum(1, dtype=torch.uint8)


class TokenReferences(nn.Module):
    """The reference captions of each image, as padded tokens."""

    tokens: Tensor
    lengths: Tensor
    captions: Tensor

    def __init__(self, tokens: Tensor, owner: Tensor) -> None:
        super().__init__()
        if tokens.ndim != 2 or owner.shape != tokens.shape[:1] or len(tokens) == 0:
            raise InputError(
                "references must be token ids [captions, words] with one owner per caption; "
                f"got shapes {tuple(tokens.shape)} and {tuple(owner.shape)}."
            )
        cleaned, lengths = clean(tokens, REFERENCE_FILLER)
        owner = owner.long()
        order = torch.argsort(owner, stable=True)
        counts = torch.bincount(owner)
        place = torch.arange(len(owner), device=owner.device) - (counts.cumsum(0) - counts)[owner[order]]
        captions = owner.new_full((len(counts), int(counts.max())), -1)
        captions[owner[order], place] = order
        self.register_buffer("tokens", cleaned, persistent=False)
        self.register_buffer("lengths", lengths, persistent=False)
        self.register_buffer("captions", captions, persistent=False)  # [images, R], -1 for none
        self.words = int(cleaned.max()) + 1

    def of(self, images: Tensor) -> tuple[Tensor, Tensor]:
        """The rows of the references of images [N]: [N,R], and which of them exist [N,R]."""
        captions = self.captions[images.clamp(max=len(self.captions) - 1)]
        present = (captions >= 0) & (images < len(self.captions))[:, None]  # the last images may have no references
        if not bool(present.any(1).all()):
            missing = int(images[~present.any(1)][0])
            raise InputError(f"Image {missing} has no reference caption, so its sample cannot be scored.")
        return captions.clamp(min=0), present

    def blocks(self, lengths: Tensor, captions: Tensor) -> tuple[Tensor, ...]:
        """The rows of a batch in blocks of similar length: on a CPU, a block costs as much as its longest row."""
        rows = torch.arange(len(lengths), device=lengths.device)
        if lengths.device.type != "cpu" or len(lengths) < 2 * BLOCK:
            return (rows,) if len(rows) else ()
        width = lengths * self.lengths[captions].amax(1)
        result: tuple[Tensor, ...] = torch.split(torch.argsort(width), BLOCK)
        return result

    def columns(self, samples: Tensor, captions: Tensor) -> tuple[Tensor, Tensor]:
        """Samples [N,T] as [T,N,R] and their references as [S,N,R], as small integers."""
        longest = max(int(self.lengths[captions].max()), 1)
        others = self.tokens[:, :longest][captions].permute(2, 0, 1)
        kind = torch.int16 if int(samples.max()) < 1 << 15 and self.words < 1 << 15 else torch.int32
        mine = samples.T.to(kind)[:, :, None].expand(-1, -1, captions.shape[1])
        return mine.contiguous(), others.to(kind).contiguous()
